import { asc, eq } from 'drizzle-orm'
import type { Caller } from '../../access/actor.js'
import { getGroupFor } from '../../access/rules.js'
import type { Context } from '../../context.js'
import { applicationSettings, users } from '../../db/schema/index.js'
import { invalidRecord, nullOnFailure } from '../../failures.js'
import { isDsn, isUrl } from '../../lib/url.js'
import { parseDuration } from '../../rules/duration.js'
import { emailFault } from '../../rules/email.js'
import { VISIBILITY_LEVEL } from '../../rules/visibility.js'
import { audit } from './audit.js'
import { selectSettings } from './settings-cache.js'
import { DEPENDENTS, SECRETS, SETTING_NAMES, SETTINGS, type SettingName, type Settings, withDefaults } from './settings-table.js'
import { unsealed } from './unsealed.js'

export type { Settings } from './settings-table.js'

/** The current settings, with secrets still encrypted; cached for a second. */
export const readSettings = (ctx: Pick<Context, 'caches'>): Promise<Settings> => ctx.caches.settings.read()

/** Whether only administrators may use a visibility level. */
export const isRestricted = (settings: Settings, level: number) =>
  settings.restricted_visibility_levels?.some((name) => VISIBILITY_LEVEL[name] === level) ?? false

/** The settings row with its secrets decrypted. */
export interface SettingsRecord {
  created_at: Date
  updated_at: Date
  values: Settings
}

type Stored = Partial<Record<SettingName, unknown>>

export const settingPurpose = (name: SettingName) => `setting ${name}`

/** All settings as an administrator sees them; creates the row on first use (AS-2). */
export async function showSettings(ctx: Context): Promise<SettingsRecord> {
  const row = (await readRow(ctx)) ?? (await createRow(ctx))
  return { ...row, values: decrypted(ctx, row.values as Stored) }
}

const readRow = async (ctx: Context) => (await selectSettings(ctx.db, null).execute())[0]

/** The settings are as old as the installation, whose first user is created at the first start (AS-2). */
async function createRow(ctx: Context) {
  const [first] = await ctx.db.write.select({ created_at: users.created_at }).from(users).orderBy(asc(users.id)).limit(1)
  const created_at = first?.created_at ?? ctx.now()
  await ctx.db.write.insert(applicationSettings).values({ id: 1, values: {}, created_at, updated_at: created_at }).onConflictDoNothing()
  const row = await readRow(ctx)
  if (!row) throw new Error('the settings have no row')
  return row
}

function decrypted(ctx: Context, stored: Stored): Settings {
  const values: Record<SettingName, unknown> = withDefaults(stored)
  for (const name of SECRETS) if (typeof values[name] === 'string') values[name] = unsealed(ctx, values[name], settingPurpose(name))
  return values as Settings
}

export type SettingsInput = { [Name in SettingName]?: Settings[Name] | null | undefined }

/** Changes all given settings, or none and throws with the faults of all fields (AS-3 to AS-13, AS-20 to AS-70). */
export async function updateSettings(ctx: Context, caller: Pick<Caller, 'user'>, given: SettingsInput): Promise<SettingsRecord> {
  const group =
    given.performance_bar_allowed_group_id === undefined ? undefined : await groupNamed(ctx, caller, given.performance_bar_allowed_group_id)
  await showSettings(ctx)
  const record = await ctx.db.transaction(async (tx) => {
    const [row] = await tx.select().from(applicationSettings).where(eq(applicationSettings.id, 1)).for('update')
    if (!row) throw new Error('the settings have no row')
    const before = decrypted(ctx, row.values as Stored)
    const next = { ...before, ...definedOnly(given) }
    if (group !== undefined) next.performance_bar_allowed_group_id = group
    if (given.asset_proxy_allowlist) next.asset_proxy_allowlist = withOwnHost(ctx, given.asset_proxy_allowlist)
    const faults = faultsOf(ctx, next, given)
    if (Object.keys(faults).length > 0) throw invalidRecord(faults)
    const changed = SETTING_NAMES.filter((name) => JSON.stringify(before[name]) !== JSON.stringify(next[name]))
    if (changed.length === 0) return { ...row, values: next }
    const values: Stored = { ...(row.values as Stored) }
    for (const name of changed) {
      const value = next[name]
      values[name] = SECRETS.has(name) && typeof value === 'string' ? ctx.encryption.seal(value, settingPurpose(name)) : value
    }
    const updated_at = ctx.now()
    await tx.update(applicationSettings).set({ values, updated_at }).where(eq(applicationSettings.id, 1))
    await audit(ctx, tx, {
      action: 'settings_changed',
      target: { type: 'settings', id: 1, name: 'settings' },
      changes: Object.fromEntries(changed.map((name) => [name, SECRETS.has(name) ? 'changed' : [before[name], next[name]]])),
    })
    return { ...row, updated_at, values: next }
  })
  ctx.caches.settings.invalidate()
  return record
}

/** Pictures of this service are never fetched for a reader (RX-31). */
const withOwnHost = ({ links }: Context, hosts: string[]) => [...new Set([...hosts, new URL(links.base).hostname])]

const definedOnly = (given: SettingsInput) =>
  Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as Partial<Settings>

/** The id of a group given by full path or id; an unknown group clears the setting (AS-48). */
async function groupNamed(ctx: Context, caller: Pick<Caller, 'user'>, named: string | null): Promise<string | null> {
  if (named === null || named.trim() === '') return null
  const found = await nullOnFailure(getGroupFor(ctx, caller, named))
  return found && String(found.group.id)
}

const BLANK = "can't be blank"
/** Messages for missing settings that differ from the usual one (AS-10). */
const MISSING_TEXTS: Partial<Record<SettingName, string>> = {
  domain_blacklist: 'Domain blacklist cannot be empty if Blacklist is enabled.',
  jobqueue_throttling_factor: 'Throttling factor cannot be empty if throttling is enabled.',
  jobqueue_throttling_queues: 'Queues to throttle cannot be empty if throttling is enabled.',
}

const isBlank = (value: unknown) =>
  value === null || (typeof value === 'string' && value.trim() === '') || (Array.isArray(value) && value.length === 0)

/**
 * Field → messages, in the order of `SETTINGS`: validates the given attributes and those required by a switch that is
 * on (AS-13).
 */
function faultsOf(ctx: Context, next: Settings, given: SettingsInput): Record<string, string[]> {
  const faults: Record<string, string[]> = {}
  const required = new Set(Object.entries(DEPENDENTS).flatMap(([name, dependents]) => (next[name as SettingName] === true ? dependents : [])))
  for (const name of SETTING_NAMES) {
    if (given[name] === undefined && !required.has(name)) continue
    const texts = required.has(name) && isBlank(next[name]) ? missingTexts(name) : textsOf(ctx, name, next)
    if (texts.length > 0) faults[name] = texts
  }
  const keys = ['rsa_key_restriction', 'dsa_key_restriction', 'ecdsa_key_restriction', 'ed25519_key_restriction'] as const
  if (keys.some((name) => given[name] !== undefined) && keys.every((name) => next[name] === -1)) faults['allowed_key_types'] = [BLANK]
  return faults
}

/** The messages for a missing setting that a switch requires (AS-10, AS-11). */
const missingTexts = (name: SettingName) => (SETTINGS[name].kind === 'int' ? [BLANK, 'is not a number'] : [MISSING_TEXTS[name] ?? BLANK])

function textsOf(ctx: Context, name: SettingName, next: Settings): string[] {
  const attribute = SETTINGS[name]
  const value = next[name]
  switch (attribute.kind) {
    case 'text':
      if (isBlank(value) || attribute.check === 'any') return []
      if (attribute.check === 'email') return emailFault(String(value)) ? ['is invalid'] : []
      return isUrl(String(value), ['http', 'https']) ? [] : ['must be a valid URL']
    case 'secret':
      return attribute.check === 'any' || isBlank(value) || isDsn(String(value)) ? [] : ['must be a valid URL']
    case 'duration':
      if (isBlank(value)) return [BLANK]
      return String(value).trim() === '0' || (parseDuration(String(value)) ?? 0) > 0 ? [] : ['is not a correct duration']
    case 'int':
    case 'decimal':
      return value === null ? (attribute.present ? [BLANK] : []) : numberTexts(name, value as number, next)
    case 'bits':
      return value === null ? [BLANK] : []
    case 'list':
      return listTexts(ctx, name, (value ?? []) as string[])
    default:
      return []
  }
}

function numberTexts(name: SettingName, value: number, next: Settings): string[] {
  const bounds = { ...(SETTINGS[name] as { least?: number; most?: number; above?: number; below?: number }) }
  if (name === 'housekeeping_full_repack_period') bounds.least = next.housekeeping_incremental_repack_period
  if (name === 'housekeeping_gc_period') bounds.least = next.housekeeping_full_repack_period
  if (next.unique_ips_limit_enabled && name === 'unique_ips_limit_per_user') bounds.least = 1
  const texts: string[] = []
  if (bounds.above !== undefined && value <= bounds.above) texts.push(`must be greater than ${bounds.above}`)
  if (bounds.least !== undefined && value < bounds.least) texts.push(`must be greater than or equal to ${bounds.least}`)
  if (bounds.most !== undefined && value > bounds.most) texts.push(`must be less than or equal to ${bounds.most}`)
  if (bounds.below !== undefined && value >= bounds.below) texts.push(`must be less than ${bounds.below}`)
  return texts
}

/** Hosts are in a header of each page. */
const MAX_HOSTS = 30
const HOST = /^(?:\*\.)?[a-z0-9.-]{1,253}(?::\d{1,5})?$/i

function listTexts(ctx: Pick<Context, 'config'>, name: SettingName, items: string[]): string[] {
  switch (name) {
    case 'repository_storages': {
      if (items.length === 0) return [BLANK]
      const unknown = items.filter((item) => !Object.hasOwn(ctx.config.storages, item))
      return unknown.length > 0 ? [`can't include: ${unknown.join(', ')}`] : []
    }
    case 'restricted_visibility_levels':
      return items.filter((item) => !Object.hasOwn(VISIBILITY_LEVEL, item)).map((item) => `'${item}' is not a valid visibility level`)
    case 'external_image_hosts':
    case 'asset_proxy_allowlist':
      return items.length > MAX_HOSTS || !items.every((item) => HOST.test(item)) ? ['is invalid'] : []
    case 'disabled_oauth_sign_in_sources': {
      const { openid_connect, ldap, header } = ctx.config.signOn
      const known = [...openid_connect, ...ldap, ...(header ? [header] : [])].map((provider) => provider.name)
      return items.filter((item) => !known.includes(item)).map((item) => `'${item}' is not an OAuth sign-in source`)
    }
    default:
      return []
  }
}
