import { eq, sql } from 'drizzle-orm'
import type { Context } from '../../context.js'
import type { Transaction } from '../../db/client.js'
import { sshKeys, users } from '../../db/schema/index.js'
import { statement } from '../../db/statement.js'
import { type SshKey as ParsedKey, parseSshKey, type SshKeyType } from '../../lib/crypto/ssh-key.js'
import { lengthOf, tooLong } from '../../rules/path.js'
import { readSettings, type Settings } from '../core/settings.js'
import { accountItems, type Owner } from './account-items.js'
import { mailCredential } from './credential-mail.js'

export type SshKey = typeof sshKeys.$inferSelect

const items = accountItems(sshKeys, 'Key', 'key')
export const { list: listKeys, find: findKey, remove: removeKey } = items

const MAX_KEY_LENGTH = 5_000

const NAMES: Record<SshKeyType, string> = { rsa: 'RSA', dsa: 'DSA', ecdsa: 'ECDSA', ed25519: 'ED25519' }
const TYPES = Object.keys(NAMES) as SshKeyType[]

/** The minimum length of a key type in bits, from the settings: 0 allows any, -1 none (K-7). */
const minBits = (settings: Settings, type: SshKeyType) => settings[`${type}_key_restriction`]

export interface NewKey {
  title: string
  key: string
  expires_at?: Date | undefined
}

/** The columns of a new key, and its faults, given whether the same key is already stored. */
export async function prepareKey(ctx: Context, { title, key, expires_at }: NewKey) {
  // only that it is too long matters of a text of megabytes
  const line = key
    .trim()
    .slice(0, 2 * MAX_KEY_LENGTH)
    .replace(/[\r\n]+/g, '')
    .trim()
  const parsed = line.length > MAX_KEY_LENGTH ? null : parseSshKey(line)
  const settings = await readSettings(ctx)
  return {
    values: { title, key: line, fingerprint: parsed?.fingerprint ?? '', fingerprint_sha256: parsed?.sha256 ?? '', expires_at: expires_at ?? null },
    faults: (taken: boolean) => keyFaults(title, line, parsed, taken, settings),
  }
}

const publicKeys = statement('public keys of a user', (db) =>
  db
    .select({ key: sshKeys.key, name: users.name })
    .from(users)
    .leftJoin(sshKeys, eq(sshKeys.user_id, users.id))
    .where(sql`lower(${users.username}) = lower(${sql.placeholder('username')}) and ${users.kind} = 'human' and ${users.state} = 'active'`)
    .orderBy(sshKeys.id),
)

/** The SSH keys of an active user, as lines of an authorized_keys file with their name; null if there is no such user. */
export async function authorizedKeys(ctx: Context, username: string): Promise<string[] | null> {
  const rows = await publicKeys(ctx.db, null).execute({ username })
  if (rows.length === 0) return null
  const host = new URL(ctx.links.base).hostname
  return rows.flatMap(({ key, name }) => (key === null ? [] : [`${key.split(/\s+/, 2).join(' ')} ${name.replace(/\s+/g, ' ')} (${host})`]))
}

/** Adds an SSH key (K-5 to K-10); 400 with all faults. */
export async function addKey(ctx: Context, owner: Owner, given: NewKey): Promise<SshKey> {
  const { values, faults } = await prepareKey(ctx, given)
  const check = async (tx: Transaction) => {
    const known = values.fingerprint_sha256 !== ''
    return faults(known && (await tx.$count(sshKeys, eq(sshKeys.fingerprint_sha256, values.fingerprint_sha256))) > 0)
  }
  const notice = { user: owner.id, kind: 'An SSH key' as const, name: values.title, detail: `SHA256:${values.fingerprint_sha256}` }
  return items.add(ctx, owner, values, check, (tx) => mailCredential(ctx, tx, notice))
}

function keyFaults(title: string, line: string, parsed: ParsedKey | null, taken: boolean, settings: Settings): Record<string, string[]> {
  const TAKEN = { fingerprint: ['has already been taken'], key: ['has already been taken'] }
  const names: string[] = []
  if (title.trim() === '') names.push("can't be blank")
  else if (lengthOf(title) > 255) names.push(tooLong(255))
  const texts: string[] = []
  if (line === '') texts.push("can't be blank")
  if (line.length > MAX_KEY_LENGTH) texts.push(tooLong(MAX_KEY_LENGTH))
  // K-7 names the first two prefixes; `sk-` is that of keys on security tokens
  if (!/^(?:ssh-|ecdsa-|sk-)/.test(line)) texts.push('is invalid')
  const restriction = restrictionText(parsed, settings)
  if (restriction) texts.push(restriction)
  return {
    ...(names.length > 0 && { title: names }),
    ...(texts.length > 0 && { key: texts }),
    ...(!parsed && { fingerprint: ['cannot be generated'] }),
    ...(taken && TAKEN),
  }
}

/** Why the current settings do not allow a stored key (GS-2); null when they do. */
export async function restrictionOf(ctx: Context, { key }: Pick<SshKey, 'key'>): Promise<string | null> {
  return restrictionText(parseSshKey(key), await readSettings(ctx))
}

function restrictionText(parsed: ParsedKey | null, settings: Settings): string | null {
  if (!parsed || minBits(settings, parsed.type) === -1) {
    const allowed = TYPES.filter((type) => minBits(settings, type) !== -1).map((type) => NAMES[type])
    return allowed.length > 0 ? `type is forbidden. Must be ${joinedWithOr(allowed)}` : 'type is forbidden'
  }
  const minimum = minBits(settings, parsed.type)
  return parsed.bits < minimum ? `must be at least ${minimum} bits` : null
}

function joinedWithOr(words: string[]): string {
  return words.length > 2 ? `${words.slice(0, -1).join(', ')}, or ${words.at(-1)}` : words.join(' or ')
}
