import { eq, sql } from 'drizzle-orm'
import type { Context } from '../../context.js'
import type { Transaction } from '../../db/client.js'
import { gpgKeys, users } from '../../db/schema/index.js'
import { statement } from '../../db/statement.js'
import { type GpgKey as ParsedKey, parseGpgKey } from '../../lib/crypto/gpg-key.js'
import { lengthOf, tooLong } from '../../rules/path.js'
import { accountItems, type Owner } from './account-items.js'

export type GpgKey = typeof gpgKeys.$inferSelect

const items = accountItems(gpgKeys, 'GPG Key', 'gpg_key')
export const { list: listGpgKeys, find: findGpgKey, remove: removeGpgKey } = items

/** Maximum length of a key in characters (SEC-63). */
const MAX_KEY_LENGTH = 100_000
const BEGIN = '-----BEGIN PGP PUBLIC KEY BLOCK-----'
const END = '-----END PGP PUBLIC KEY BLOCK-----'
const TAKEN = ['has already been taken']
const BLANK = ["can't be blank"]

const publicKeys = statement('public GPG keys of a user', (db) =>
  db
    .select({ key: gpgKeys.key })
    .from(users)
    .leftJoin(gpgKeys, eq(gpgKeys.user_id, users.id))
    .where(sql`lower(${users.username}) = lower(${sql.placeholder('username')}) and ${users.kind} = 'human' and ${users.state} = 'active'`)
    .orderBy(gpgKeys.id),
)

/** The armored GPG keys of an active user; null if there is no such user. */
export async function armoredKeys(ctx: Context, username: string): Promise<string[] | null> {
  const rows = await publicKeys(ctx.db, null).execute({ username })
  return rows.length === 0 ? null : rows.flatMap(({ key }) => key ?? [])
}

/** Adds a GPG key (K-12 to K-14); 400 with all faults. */
export async function addGpgKey(ctx: Context, owner: Owner, given: string): Promise<GpgKey> {
  const key = given.trim()
  const isArmored = lengthOf(key) <= MAX_KEY_LENGTH && isOneBlock(key)
  const parsed = isArmored ? await parseGpgKey(key) : null
  const found = parsed ?? { fingerprint: '', primary_keyid: '', subkey_ids: [] }
  return items.add(ctx, owner, { key, ...found }, async (tx) => (isArmored ? takenFaults(tx, key, parsed) : { key: armorFaults(key) }))
}

/** Whether the text is exactly one armored block with content. */
const isOneBlock = (key: string) =>
  key.startsWith(BEGIN) &&
  key.endsWith(END) &&
  key.slice(BEGIN.length, -END.length).trim() !== '' &&
  key.lastIndexOf(BEGIN) === 0 &&
  key.indexOf(END) === key.length - END.length

function armorFaults(key: string): string[] {
  if (lengthOf(key) > MAX_KEY_LENGTH) return [tooLong(MAX_KEY_LENGTH)]
  return [...(key === '' ? BLANK : []), `is invalid. A valid public GPG key begins with '${BEGIN}' and ends with '${END}'`]
}

async function takenFaults(tx: Transaction, key: string, parsed: ParsedKey | null): Promise<Record<string, string[]>> {
  if (!parsed) return { fingerprint: BLANK, primary_keyid: BLANK }
  const known = await tx
    .select({ key: gpgKeys.key })
    .from(gpgKeys)
    .where(sql`${eq(gpgKeys.fingerprint, parsed.fingerprint)} or ${eq(gpgKeys.primary_keyid, parsed.primary_keyid)}`)
  if (known.some((other) => other.key === key)) return { key: TAKEN }
  return known.length > 0 ? { fingerprint: TAKEN, primary_keyid: TAKEN } : {}
}
