import { eq } from 'drizzle-orm'
import type { Context } from '../../context.js'
import { sshKeys } from '../../db/schema/index.js'
import { parseSshKey, type SshKey as ReadKey, type SshKeyType } from '../../lib/crypto/ssh-key.js'
import { lengthOf, tooLong } from '../../lib/path.js'
import { readSettings, type Settings } from '../core/settings.js'
import { accountItems, type Owner } from './account-items.js'

export type SshKey = typeof sshKeys.$inferSelect

const own = accountItems(sshKeys, 'Key', 'key')
export const { list: listKeys, find: findKey, remove: removeKey } = own

const MAX_KEY = 5_000

const NAMES: Record<SshKeyType, string> = { rsa: 'RSA', dsa: 'DSA', ecdsa: 'ECDSA', ed25519: 'ED25519' }
const TYPES = Object.keys(NAMES) as SshKeyType[]

/** The minimum bits of a key type by the settings: 0 allows all, -1 none (K-7). */
const leastBits = (settings: Settings, type: SshKeyType) => settings[`${type}_key_restriction`]

/** A key as somebody gives it. */
export interface GivenKey {
  title: string
  key: string
  expires_at?: Date | undefined
}

/** The columns of a given key, and what is wrong with it, while the same key is stored already or not. */
export async function readKey(ctx: Context, { title, key, expires_at }: GivenKey) {
  const line = key.replace(/[\r\n]+/g, '').trim()
  const read = line.length > MAX_KEY ? null : parseSshKey(line)
  const settings = await readSettings(ctx)
  return {
    values: { title, key: line, fingerprint: read?.fingerprint ?? '', fingerprint_sha256: read?.sha256 ?? '', expires_at: expires_at ?? null },
    faults: (taken: boolean) => keyFaults(title, line, read, taken, settings),
  }
}

/** Adds an SSH key (K-5 to K-10); 400 with all faults. */
export async function addKey(ctx: Context, owner: Owner, given: GivenKey): Promise<SshKey> {
  const { values, faults } = await readKey(ctx, given)
  return own.add(ctx, owner, values, async (tx) => {
    const known = values.fingerprint_sha256 !== ''
    return faults(known && (await tx.$count(sshKeys, eq(sshKeys.fingerprint_sha256, values.fingerprint_sha256))) > 0)
  })
}

function keyFaults(title: string, line: string, read: ReadKey | null, taken: boolean, settings: Settings): Record<string, string[]> {
  const TAKEN = { fingerprint: ['has already been taken'], key: ['has already been taken'] }
  const names: string[] = []
  if (title.trim() === '') names.push("can't be blank")
  else if (lengthOf(title) > 255) names.push(tooLong(255))
  const texts: string[] = []
  if (line === '') texts.push("can't be blank")
  if (line.length > MAX_KEY) texts.push(tooLong(MAX_KEY))
  // the rule names the first two prefixes; the third is that of keys on security tokens
  if (!/^(?:ssh-|ecdsa-|sk-)/.test(line)) texts.push('is invalid')
  const restriction = restrictionText(read, settings)
  if (restriction) texts.push(restriction)
  return {
    ...(names.length > 0 && { title: names }),
    ...(texts.length > 0 && { key: texts }),
    ...(!read && { fingerprint: ['cannot be generated'] }),
    ...(taken && TAKEN),
  }
}

/** Why a stored key may not be used by the settings of now (GS-2); null: it may. */
export async function restrictionOf(ctx: Context, { key }: Pick<SshKey, 'key'>): Promise<string | null> {
  return restrictionText(parseSshKey(key), await readSettings(ctx))
}

function restrictionText(read: ReadKey | null, settings: Settings): string | null {
  if (!read || leastBits(settings, read.type) === -1) {
    const allowed = TYPES.filter((type) => leastBits(settings, type) !== -1).map((type) => NAMES[type])
    return allowed.length > 0 ? `type is forbidden. Must be ${enumerated(allowed)}` : 'type is forbidden'
  }
  const least = leastBits(settings, read.type)
  return read.bits < least ? `must be at least ${least} bits` : null
}

function enumerated(words: string[]): string {
  return words.length > 2 ? `${words.slice(0, -1).join(', ')}, or ${words.at(-1)}` : words.join(' or ')
}
