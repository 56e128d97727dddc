import { and, asc, eq, ne, sql } from 'drizzle-orm'
import { fullPathOf, type ProjectSubject } from '../../../access/rules.js'
import type { Context } from '../../../context.js'
import type { Transaction } from '../../../db/client.js'
import { onlyRow } from '../../../db/only-row.js'
import { type HookEvent, type IntegrationValue, integrations, projects, webHooks } from '../../../db/schema/index.js'
import { statement } from '../../../db/statement.js'
import { invalidInput, invalidRecord, notFound, refused } from '../../../failures.js'
import { BadTarget, checkTarget } from '../../../lib/ssrf-guard.js'
import { isUrl, parseUrl } from '../../../lib/url.js'
import type { IntegrationEvent } from '../../../rules/integrations/events.js'
import { lengthOf, tooLong } from '../../../rules/path.js'
import { type AuditAction, audit } from '../../core/audit.js'
import { lockName } from '../../core/lock-name.js'
import { unsealed } from '../../core/unsealed.js'
import { SERVICES } from '../../integrations/catalogue.js'
import type { Property, Service, Settings } from '../../integrations/service.js'
import { type Hook, hookPurpose, targetRules } from '../hooks.js'

export type { IntegrationValue }

type Row = typeof integrations.$inferSelect

/** An integration of a project with its properties; secret ones only where they are sent. */
export interface Integration extends Row {
  service: Service
  settings: Settings
  /** Whether a sealed property cannot be decrypted any more. */
  unreadable: boolean
}

/** What a call gives: properties and events by name, and null for a property to clear. */
export interface IntegrationAttributes {
  properties: Readonly<Record<string, IntegrationValue | null | undefined>>
  events: { readonly [event in IntegrationEvent]?: boolean | undefined }
}

const MAX_TEXT = 2_048
/** Of lists of addresses. */
const MAX_LINES = 25_600

export const integrationPurpose = ({ project_id, slug }: Pick<Row, 'project_id' | 'slug'>) => `project ${project_id} integration ${slug}`

const isSealed = ({ sealed, secret }: Property) => sealed === true || secret === true

/** A row with what is encrypted in it; null for a service that this version does not have. */
export function integrationOf(ctx: Pick<Context, 'encryption' | 'log'>, row: Row): Integration | null {
  const service = SERVICES.get(row.slug)
  if (!service) return null
  const opened = row.sealed_properties === null ? '{}' : unsealed(ctx, row.sealed_properties, integrationPurpose(row))
  const settings = { ...row.properties, ...(JSON.parse(opened ?? '{}') as Settings) }
  return { ...row, service, settings, unreadable: opened === null }
}

/** The service with a slug; 404 for one that there is not (SV-2). */
export function serviceOf(slug: string, noun: string): Service {
  const service = SERVICES.get(slug)
  if (!service) throw notFound(noun)
  return service
}

const selectActive = statement('active integrations', (db) =>
  db
    .select()
    .from(integrations)
    .where(and(eq(integrations.project_id, sql.placeholder('project')), integrations.active))
    .orderBy(asc(integrations.id)),
)

/** The active integrations of a project, the oldest first (SV-1). */
export async function listIntegrations(ctx: Context, { project }: ProjectSubject): Promise<Integration[]> {
  const rows = await selectActive(ctx.db, null).execute({ project: project.id })
  return rows.flatMap((row) => integrationOf(ctx, row) ?? [])
}

const selectIntegration = statement('integration', (db) =>
  db
    .select()
    .from(integrations)
    .where(and(eq(integrations.project_id, sql.placeholder('project')), eq(integrations.slug, sql.placeholder('slug')))),
)

/** An integration that is or was set up; null if it never was (SV-1). */
export async function findIntegration(ctx: Context, { project }: Pick<ProjectSubject, 'project'>, slug: string): Promise<Integration | null> {
  const [row] = await selectIntegration(ctx.db, null).execute({ project: project.id, slug })
  return row ? integrationOf(ctx, row) : null
}

/** The hook that an active integration sends by; null if it has none. */
export async function hookOf(ctx: Context, { project_id, slug }: Pick<Row, 'project_id' | 'slug'>): Promise<Hook | null> {
  const [hook] = await ctx.db.write
    .select()
    .from(webHooks)
    .where(and(eq(webHooks.project_id, project_id), eq(webHooks.integration, slug)))
  return hook ?? null
}

/** Sets up an integration and switches it on (SV-3). Properties that are not given stay; those on the page are all given. */
export async function setIntegration(ctx: Context, subject: ProjectSubject, slug: string, given: IntegrationAttributes): Promise<Integration> {
  const service = serviceOf(slug, 'Integration')
  const before = await findIntegration(ctx, subject, slug)
  const settings = merged(service, before, given)
  const events = service.events.filter((event) => given.events[event] ?? before?.events.includes(event) ?? !service.off?.includes(event))
  const row = { project_id: subject.project.id, slug }
  const hook = await hookColumns(ctx, service, row, { settings, events })
  const { open, sealed } = parted(service, settings)
  const now = ctx.now()
  const values = {
    active: true,
    events,
    properties: open,
    sealed_properties: Object.keys(sealed).length > 0 ? ctx.encryption.seal(JSON.stringify(sealed), integrationPurpose(row)) : null,
    updated_at: now,
  }
  const saved = await ctx.db.transaction(async (tx) => {
    await lockName(tx, `integrations of project ${row.project_id}`)
    if (service.tracker) await requireOneTracker(tx, row)
    const [made] = await tx
      .insert(integrations)
      .values({ ...row, ...values, created_at: now })
      .onConflictDoUpdate({ target: [integrations.project_id, integrations.slug], set: values })
      .returning()
    await saveHook(tx, row, hook, now)
    await saveLinks(tx, row.project_id)
    await recordAudit(ctx, tx, subject, before?.active ? 'integration_updated' : 'integration_added', slug)
    return onlyRow([made as Row])
  })
  return integrationOf(ctx, saved) as Integration
}

/** Switches an integration off and forgets its properties; one that was never set up stays so (SV-5). */
export async function disableIntegration(ctx: Context, subject: ProjectSubject, slug: string): Promise<void> {
  const row = { project_id: subject.project.id, slug }
  await ctx.db.transaction(async (tx) => {
    await lockName(tx, `integrations of project ${row.project_id}`)
    const [gone] = await tx
      .update(integrations)
      .set({ active: false, properties: {}, sealed_properties: null, updated_at: ctx.now() })
      .where(and(ofRow(row), integrations.active))
      .returning({ id: integrations.id })
    if (!gone) return
    await saveHook(tx, row, null, ctx.now())
    await saveLinks(tx, row.project_id)
    await recordAudit(ctx, tx, subject, 'integration_removed', slug)
  })
}

const ofRow = ({ project_id, slug }: Pick<Row, 'project_id' | 'slug'>) => and(eq(integrations.project_id, project_id), eq(integrations.slug, slug))

const recordAudit = (
  ctx: Context,
  tx: Transaction,
  { project }: ProjectSubject,
  action: Extract<AuditAction, `integration_${string}`>,
  integration: string,
) => audit(ctx, tx, { action, target: { type: 'project', id: project.id, name: fullPathOf(project) }, changes: { integration } })

/**
 * The settings after a call; throws what is wrong with them. A secret goes to no other address than it was given for
 * (SV-4).
 */
function merged(service: Service, before: Integration | null, { properties: given }: IntegrationAttributes): Settings {
  const settings: Record<string, IntegrationValue> = {}
  const faults: Record<string, string[]> = {}
  const all = Object.entries(service.properties)
  const isMoved = all.some(
    ([name, { kind }]) => ['url', 'address'].includes(kind) && given[name] !== undefined && given[name] !== before?.settings[name],
  )
  for (const [name, property] of all) {
    const known = property.secret && isMoved ? undefined : before?.settings[name]
    const value = given[name] === undefined ? known : given[name]
    const chosen = value ?? (value === null ? undefined : property.fallback)
    const trimmed = typeof chosen === 'string' ? chosen.trim() : chosen
    const isBlank = trimmed === undefined || trimmed === ''
    if (property.required && value === undefined) throw invalidInput(`${name} is missing`)
    const fault = isBlank ? (property.required ? "can't be blank" : null) : faultOf(property, trimmed)
    if (fault) faults[name] = [fault]
    if (trimmed !== undefined) settings[name] = trimmed
  }
  const wrong = Object.keys(faults).length > 0 ? faults : (service.faults?.(settings) ?? {})
  if (Object.keys(wrong).length > 0) throw invalidRecord(wrong)
  return settings
}

function faultOf({ kind, choices }: Property, value: IntegrationValue): string | null {
  if (choices && !choices.includes(String(value))) return 'is not included in the list'
  if (typeof value !== 'string') return null
  const most = kind === 'lines' ? MAX_LINES : MAX_TEXT
  if (lengthOf(value) > most) return tooLong(most)
  if (kind !== 'lines' && /\p{Cc}/u.test(value)) return 'is invalid'
  if (kind === 'url' && !isUrl(value, ['http', 'https'])) return 'must be a valid URL'
  const address = kind === 'address' ? parseUrl(value) : null
  // they would be shown
  if (address && (address.username !== '' || address.password !== '')) return 'must not have a user or a password'
  return null
}

/** The properties that are stored as they are, and those that are encrypted. */
function parted({ properties }: Service, settings: Settings): Record<'open' | 'sealed', Record<string, IntegrationValue>> {
  const both = { open: {}, sealed: {} } as Record<'open' | 'sealed', Record<string, IntegrationValue>>
  for (const [name, value] of Object.entries(settings))
    if (value !== undefined) both[isSealed(properties[name] as Property) ? 'sealed' : 'open'][name] = value
  return both
}

/** What the row of its hook has; null for an integration without events. */
async function hookColumns(
  ctx: Context,
  { sender, mail, properties }: Service,
  { project_id }: Pick<Row, 'project_id'>,
  { settings, events }: { settings: Settings; events: IntegrationEvent[] },
) {
  // commits come with pushes
  const listened = [...new Set(events.map((event): HookEvent => (event === 'commit' ? 'push' : event)))]
  const owner = { project_id, group_id: null }
  if (mail) return { url: MAIL_URL, sealed_url: null, sealed_token: null, enable_ssl_verification: true, events: listened }
  if (!sender) return null
  const address = sender.address(settings)
  const named = Object.entries(properties).find(([, { kind }]) => kind === 'address')?.[0] ?? 'base'
  try {
    await checkTarget(address, { ...targetRules(ctx, owner), allowUnknownHosts: true })
  } catch (error) {
    if (error instanceof BadTarget) throw invalidRecord({ [named]: [error.message] })
    throw error
  }
  const bearer = sender.bearer?.(settings)
  if (bearer !== undefined && !/^[\x21-\x7e]+$/.test(bearer)) throw invalidRecord({ base: ['The token is invalid'] })
  return {
    // the path may be a credential
    url: `${new URL(address).origin}/…`,
    sealed_url: ctx.encryption.seal(address, hookPurpose(owner, 'url')),
    sealed_token: bearer === undefined ? null : ctx.encryption.seal(bearer, hookPurpose(owner, 'token')),
    enable_ssl_verification: settings['enable_ssl_verification'] !== false,
    events: listened,
  }
}

/** In place of the address of a hook whose events are mailed. */
const MAIL_URL = 'mailto:'

async function saveHook(
  tx: Transaction,
  { project_id, slug }: Pick<Row, 'project_id' | 'slug'>,
  hook: Awaited<ReturnType<typeof hookColumns>>,
  now: Date,
) {
  const own = and(eq(webHooks.project_id, project_id), eq(webHooks.integration, slug))
  if (!hook) return void (await tx.delete(webHooks).where(own))
  const columns = { ...hook, recent_failures: 0, disabled_until: null, updated_at: now }
  const changed = await tx.update(webHooks).set(columns).where(own).returning({ id: webHooks.id })
  if (changed.length === 0) await tx.insert(webHooks).values({ ...columns, project_id, integration: slug, created_at: now })
}

/** A second tracker would make the same keys two links (SV-20). */
async function requireOneTracker(tx: Transaction, { project_id, slug }: Pick<Row, 'project_id' | 'slug'>): Promise<void> {
  const others = await tx
    .select({ slug: integrations.slug })
    .from(integrations)
    .where(and(eq(integrations.project_id, project_id), ne(integrations.slug, slug), integrations.active))
  if (others.some((other) => SERVICES.get(other.slug)?.tracker))
    throw refused('Another issue tracker is already in use. Only one issue tracker service can be active at a time')
}

/** What pages and texts read with the project: its wiki and its tracker elsewhere. */
async function saveLinks(tx: Transaction, project_id: number): Promise<void> {
  const rows = await tx
    .select({ slug: integrations.slug, properties: integrations.properties })
    .from(integrations)
    .where(and(eq(integrations.project_id, project_id), integrations.active))
  const wiki = rows.find(({ slug }) => slug === 'external-wiki')?.properties['external_wiki_url']
  const [tracker] = rows.flatMap(({ slug, properties }) => {
    const service = SERVICES.get(slug)
    return service?.tracker ? [{ title: service.title, keys: service.tracker.keys, ...service.tracker.links(properties) }] : []
  })
  const links = { ...(wiki !== undefined && { wiki: String(wiki) }), ...(tracker && { tracker }) }
  await tx
    .update(projects)
    .set({ external_services: Object.keys(links).length > 0 ? (links as (typeof projects.$inferSelect)['external_services']) : null })
    .where(eq(projects.id, project_id))
}
