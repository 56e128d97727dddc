import { and, asc, eq, isNull, type Placeholder, type SQL, sql } from 'drizzle-orm'
import type { Context } from '../../context.js'
import type { Transaction } from '../../db/client.js'
import { count } from '../../db/decoded.js'
import { onlyRow } from '../../db/only-row.js'
import { HOOK_EVENTS, type HookEvent, webHooks } from '../../db/schema/index.js'
import { statement } from '../../db/statement.js'
import { Failure, invalidRecord, notFound, refused } from '../../failures.js'
import type { Keyset } from '../../lib/keyset.js'
import { checkRefName } from '../../lib/ref-name.js'
import { BadTarget, checkTarget } from '../../lib/ssrf-guard.js'
import { maskCredentials } from '../../lib/url.js'
import { lengthOf, tooLong } from '../../rules/path.js'
import { type AuditAction, audit } from '../core/audit.js'
import { lockName } from '../core/lock-name.js'
import { afterRow, type Page, type Paging, pageAndTotal } from '../core/page.js'
import { unsealed } from '../core/unsealed.js'

/** The owner of hooks: a project, a group, or the system. */
export interface HookSource {
  kind: 'project' | 'group' | 'system'
  /** 0 for the system. */
  id: number
  name: string
}

export { HOOK_EVENTS, type HookEvent }
export type Hook = typeof webHooks.$inferSelect

/** Attributes of a hook in a call. */
export interface HookAttributes {
  url?: string | undefined
  token?: string | null | undefined
  name?: string | null | undefined
  description?: string | null | undefined
  push_events_branch_filter?: string | null | undefined
  enable_ssl_verification?: boolean | undefined
  /** Events to switch on or off. */
  events: { [event in HookEvent]?: boolean | undefined }
}

const PROTOCOLS = ['http:', 'https:']
/** The most hooks of one source (HK-25). */
const MAX_HOOKS = 100
const MAX_URL = 2_048
const MAX_TOKEN = 255
const MAX_NAME = 255
const MAX_DESCRIPTION = 2_048
const MAX_FILTER = 1_000
/** What each kind of hook listens to by default (chapter 25). */
const DEFAULTS: Record<HookSource['kind'], HookEvent[]> = { project: ['push'], group: ['push'], system: ['repository_update', 'system'] }

const of = ({ kind, id }: { kind: HookSource['kind']; id: number | Placeholder }): SQL | undefined =>
  kind === 'system'
    ? and(isNull(webHooks.project_id), isNull(webHooks.group_id))
    : and(eq(kind === 'project' ? webHooks.project_id : webHooks.group_id, id), isNull(webHooks.integration))

const byId = (source: HookSource, id: number) => and(of(source), eq(webHooks.id, id))
const missing = ({ kind }: HookSource) => notFound(kind === 'system' ? 'System hook' : undefined)

export const hookPurpose = ({ project_id, group_id }: Pick<Hook, 'project_id' | 'group_id'>, what: 'url' | 'token') =>
  `${project_id !== null ? `project ${project_id}` : group_id !== null ? `group ${group_id}` : 'system'} hook ${what}`

/**
 * The URL that a hook sends to, with user and password, and the token that it sends, which are never shown; null if one
 * of them cannot be decrypted (SEC-257).
 */
export function secretsOf(ctx: Context, hook: Hook): { address: string; token: string | null } | null {
  const address = hook.sealed_url === null ? hook.url : unsealed(ctx, hook.sealed_url, hookPurpose(hook, 'url'))
  const token = hook.sealed_token === null ? null : unsealed(ctx, hook.sealed_token, hookPurpose(hook, 'token'))
  return address === null || (token === null && hook.sealed_token !== null) ? null : { address, token }
}

/** Rules for the targets of a hook; only system hooks may reach the local network and this service by default (HK-13). */
export const targetRules = ({ config, links }: Context, hook: Pick<Hook, 'project_id' | 'group_id'>) => ({
  protocols: PROTOCOLS,
  allowLocal: config.allowLocalRequests || (hook.project_id === null && hook.group_id === null),
  self: { url: links.base, port: config.port },
})

const columnsOf = ({ kind, id }: HookSource) => ({ project_id: kind === 'project' ? id : null, group_id: kind === 'group' ? id : null })

/** Records an audit event with the masked URL and without the token (SEC-168). */
const recordAudit = (
  ctx: Context,
  tx: Transaction,
  { kind, id, name }: HookSource,
  action: AuditAction,
  { id: hook, url }: Pick<Hook, 'id' | 'url'>,
) => audit(ctx, tx, { action, target: { type: kind === 'system' ? 'settings' : kind, id, name }, changes: { hook, url } })

const ofKind = (kind: HookSource['kind']) => of({ kind, id: sql.placeholder('source') })

const selectHooks = statement('hooks', (db, kind: HookSource['kind']) =>
  db
    .select()
    .from(webHooks)
    .where(and(ofKind(kind), afterRow(webHooks.id)))
    .orderBy(asc(webHooks.id))
    .limit(sql.placeholder('limit'))
    .offset(sql.placeholder('offset')),
)

const selectTotal = statement('number of hooks', (db, kind: HookSource['kind']) =>
  db
    .select({ total: count() })
    .from(webHooks)
    .where(and(ofKind(kind), afterRow(webHooks.id))),
)

const selectHook = statement('hook', (db, kind: HookSource['kind']) =>
  db
    .select()
    .from(webHooks)
    .where(and(ofKind(kind), eq(webHooks.id, sql.placeholder('id')))),
)

/** The hooks of a source by id (HK-1, HK-8). */
export function listHooks(ctx: Context, source: HookSource, paging: Paging & Keyset): Promise<Page<Hook>> {
  return pageAndTotal(selectHooks(ctx.db, source.kind), selectTotal(ctx.db, source.kind), { source: source.id }, paging)
}

/** One hook (HK-1, HK-8). */
export async function getHook(ctx: Context, source: HookSource, id: number): Promise<Hook> {
  const [hook] = await selectHook(ctx.db, source.kind).execute({ source: source.id, id })
  if (!hook) throw missing(source)
  return hook
}

/**
 * The error for a refused URL: 422 for hooks of projects and groups, 400 with the faults for system hooks (HK-2, HK-8).
 */
const badUrl = ({ kind }: HookSource, reason: string) =>
  kind === 'system' ? invalidRecord({ url: [reason] }) : new Failure('unprocessable', { error: 'Invalid url given' }, {}, { url: [reason] })

async function urlColumns(ctx: Context, source: HookSource, given: string): Promise<Pick<Hook, 'url' | 'sealed_url'>> {
  const text = given.trim()
  const columns = columnsOf(source)
  if (text.length > MAX_URL) throw badUrl(source, tooLong(MAX_URL))
  try {
    // a host that does not resolve now may do so later; it is checked again before each attempt
    const { credentials } = await checkTarget(text, { ...targetRules(ctx, columns), allowUnknownHosts: true })
    if (!credentials) return { url: text, sealed_url: null }
  } catch (error) {
    if (error instanceof BadTarget) throw badUrl(source, error.message)
    throw error
  }
  return { url: maskCredentials(text), sealed_url: ctx.encryption.seal(text, hookPurpose(columns, 'url')) }
}

/** Validates the other attributes and returns their columns (HK-2, SEC-141). */
function otherColumns(ctx: Pick<Context, 'encryption'>, source: HookSource, given: HookAttributes) {
  const { token, name, description, push_events_branch_filter: filter, enable_ssl_verification } = given
  const faults: Record<string, string[]> = {}
  const limit = (field: string, text: string | null | undefined, most: number) => {
    if (text && lengthOf(text) > most) faults[field] = [tooLong(most)]
  }
  limit('name', name, MAX_NAME)
  limit('description', description, MAX_DESCRIPTION)
  limit('token', token, MAX_TOKEN)
  // the token is sent in a header
  if (token && !/^[\x20-\x7e]*$/.test(token)) faults['token'] = ['is invalid']
  if (Object.keys(faults).length > 0) throw invalidRecord(faults)
  if (filter && !isPattern(filter))
    throw new Failure('unprocessable', { error: 'Invalid branch filter given' }, {}, { push_events_branch_filter: ['is invalid'] })
  return {
    ...(name !== undefined && { name: name || null }),
    ...(description !== undefined && { description: description || null }),
    ...(filter !== undefined && { push_events_branch_filter: filter }),
    ...(enable_ssl_verification !== undefined && { enable_ssl_verification }),
    ...(token !== undefined && { sealed_token: token ? ctx.encryption.seal(token, hookPurpose(columnsOf(source), 'token')) : null }),
  }
}

/** A branch name in which `*` stands for any text. */
const isPattern = (text: string) => text.length <= MAX_FILTER && checkRefName(`refs/heads/${text.replaceAll('*', 'x')}`)

const switchEvents = (now: readonly HookEvent[], wanted: HookAttributes['events']): HookEvent[] =>
  HOOK_EVENTS.filter((event) => wanted[event] ?? now.includes(event))

/** Creates a hook (HK-2, HK-8, HK-24). */
export async function createHook(ctx: Context, source: HookSource, given: HookAttributes & { url: string }): Promise<Hook> {
  const values = {
    ...columnsOf(source),
    ...(await urlColumns(ctx, source, given.url)),
    ...otherColumns(ctx, source, given),
    events: switchEvents(DEFAULTS[source.kind], given.events),
  }
  return ctx.db.transaction(async (tx) => {
    await lockName(tx, `hooks of ${source.kind} ${source.id}`)
    const existing = await tx.$count(webHooks, of(source))
    if (existing >= MAX_HOOKS) throw refused(`Maximum number of webhooks (${MAX_HOOKS}) exceeded`)
    const hook = onlyRow(await tx.insert(webHooks).values(values).returning())
    await recordAudit(ctx, tx, source, 'hook_added', hook)
    return hook
  })
}

/**
 * Changes a hook and resets its failures (HK-3, HK-8). A new URL clears the token unless one is given, so that a token
 * is never sent to another receiver (HK-27).
 */
export async function updateHook(ctx: Context, source: HookSource, id: number, given: HookAttributes): Promise<Hook> {
  const before = await getHook(ctx, source, id)
  const url = given.url === undefined || given.url === before.url ? null : await urlColumns(ctx, source, given.url)
  const others = otherColumns(ctx, source, given)
  return ctx.db.transaction(async (tx) => {
    const [hook] = await tx
      .update(webHooks)
      .set({
        ...(url && { ...url, sealed_token: null }),
        ...others,
        events: switchEvents(before.events, given.events),
        recent_failures: 0,
        disabled_until: null,
        updated_at: ctx.now(),
      })
      .where(byId(source, id))
      .returning()
    if (!hook) throw missing(source)
    await recordAudit(ctx, tx, source, 'hook_updated', hook)
    return hook
  })
}

/** Deletes a hook with its deliveries (HK-4, HK-8). */
export async function deleteHook(ctx: Context, source: HookSource, id: number): Promise<Hook> {
  return ctx.db.transaction(async (tx) => {
    const [hook] = await tx.delete(webHooks).where(byId(source, id)).returning()
    if (!hook) throw missing(source)
    await recordAudit(ctx, tx, source, 'hook_removed', hook)
    return hook
  })
}
