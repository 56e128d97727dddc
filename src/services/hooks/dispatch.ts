import { and, arrayContains, asc, eq, inArray, isNull, lte, notInArray, or, type SQL, sql } from 'drizzle-orm'
import type { Context } from '../../context.js'
import type { Transaction } from '../../db/client.js'
import { hookAttempts, hookDeliveries, webHooks } from '../../db/schema/index.js'
import { currentHookChain } from '../../lib/async/hook-chain.js'
import type { ServiceRequest } from '../integrations/service.js'
import { changesFor, claimChanges, type HookChange } from '../outbox/changes.js'
import { matchesPattern } from '../repository/protection.js'
import { triggerOf, type WebhookEvent } from './event.js'
import type { DueMail } from './integrations/mail.js'
import { type Planned, planFor } from './integrations/plan.js'
import { loadPayloadData, type PayloadData } from './payload-data.js'
import { deploymentsOf } from './payloads/deployments.js'
import { featureFlagsOf } from './payloads/feature-flags.js'
import { issuablesOf } from './payloads/issuables.js'
import { jobsOf } from './payloads/jobs.js'
import { noteOf } from './payloads/notes.js'
import { pipelinesOf } from './payloads/pipelines.js'
import { pushesOf } from './payloads/push.js'
import { releaseOf } from './payloads/releases.js'
import { failedLoginOf, groupOf, keyOf, memberOf, projectOf, userOf } from './payloads/system.js'
import { wikiPagesOf } from './payloads/wikis.js'

/** Builds the events of one outbox row. Rows of issues and merge requests are handled together instead. */
const EVENTS_OF_SOURCE: Record<string, (data: PayloadData, change: HookChange) => Promise<WebhookEvent[]>> = {
  pushes: pushesOf,
  notes: noteOf,
  pipelines: pipelinesOf,
  deployments: deploymentsOf,
  feature_flags: featureFlagsOf,
  commit_statuses: jobsOf,
  releases: releaseOf,
  wikis: wikiPagesOf,
  wiki_intents: wikiPagesOf,
  members: memberOf,
  users: userOf,
  failed_logins: failedLoginOf,
  namespaces: groupOf,
  projects: projectOf,
  ssh_keys: keyOf,
}

/** Builds the events of the changes of one transaction. */
export async function eventsOf(ctx: Context, changes: readonly HookChange[]): Promise<WebhookEvent[]> {
  const data = await loadPayloadData(ctx, changes)
  const events = [...(await issuablesOf(data, 'issues', changes)), ...(await issuablesOf(data, 'merge_requests', changes))]
  for (const change of changes) events.push(...((await EVENTS_OF_SOURCE[change.source]?.(data, change)) ?? []))
  return events
}

/** A delivery to make. */
interface DueDelivery {
  delivery: number
  /** The host and port that it goes to. */
  receiver: string
}

/** What is to be sent of one transaction. */
export interface Due {
  deliveries: DueDelivery[]
  mails: DueMail[]
}

/**
 * Turns the changes of one transaction into deliveries, and removes them from the outbox in the same transaction, so
 * that repeated runs deliver each change once. `onDue` gets the deliveries within that transaction.
 */
export async function dispatch(ctx: Context, transaction: bigint, onDue: (tx: Transaction, due: Due) => Promise<void>): Promise<void> {
  const changes = await changesFor(ctx, 'hooks', transaction)
  const [first] = changes
  if (!first) return
  const found = await eventsOf(ctx, changes)
  const planned = await planFor(ctx, found)
  await ctx.db.transaction(async (tx) => {
    if (!(await claimChanges(tx, 'hooks', transaction))) return
    const due: Due = { deliveries: [], mails: planned.flatMap(({ mails }) => mails) }
    for (const [i, one] of found.entries()) due.deliveries.push(...(await insertDeliveries(ctx, tx, { ...one, ...planned[i] }, first.created_at)))
    if (due.deliveries.length + due.mails.length > 0) await onDue(tx, due)
  })
}

const isSystem = and(isNull(webHooks.project_id), isNull(webHooks.group_id)) as SQL

/** Hooks of the group and of the groups above it. */
const ofGroups = (group: SQL) => sql`${webHooks.group_id} in (select a.ancestor_id from namespace_ancestry a where a.descendant_id = ${group})`

/** The condition for hooks that an event concerns, regardless of what they listen to. */
function concernedHooks({ project, group, listens }: WebhookEvent): SQL | undefined {
  if (group !== undefined) return ofGroups(sql`${group}`)
  if (project === null || listens === 'repository_update') return isSystem
  return or(isSystem, eq(webHooks.project_id, project), ofGroups(sql`(select p.namespace_id from projects p where p.id = ${project})`))
}

/** The most deliveries of one hook that wait (HK-32). */
const MAX_PENDING = 1_000

const pendingOf = sql<number>`(select count(*)::int from (select from hook_deliveries d
  where d.hook_id = web_hooks.id and d.state = 'pending' limit ${MAX_PENDING}) waiting)`

/**
 * Inserts deliveries for all hooks that listen and that existed at the time of the change, except those whose own
 * deliveries led to it (HK-30). A delivery to a hook for which too many wait fails at once (HK-32).
 */
async function insertDeliveries(
  ctx: Pick<Context, 'random'>,
  tx: Transaction,
  event: WebhookEvent & Partial<Planned>,
  at: Date,
): Promise<DueDelivery[]> {
  const hooks = await tx
    .select({
      id: webHooks.id,
      url: webHooks.url,
      project_id: webHooks.project_id,
      group_id: webHooks.group_id,
      integration: webHooks.integration,
      filter: webHooks.push_events_branch_filter,
      pending: pendingOf,
    })
    .from(webHooks)
    .where(
      and(
        concernedHooks(event),
        arrayContains(webHooks.events, [event.listens]),
        lte(webHooks.created_at, at),
        notInArray(webHooks.id, [...currentHookChain()]),
      ),
    )
    .orderBy(asc(webHooks.id))
    // keeps hooks from being deleted concurrently, which would make the whole insert fail
    .for('key share')
  const listening = hooks.filter(({ filter }) => !filter || event.branch === undefined || matchesPattern(filter, event.branch))
  if (listening.length === 0) return []
  const body = JSON.stringify(event.body)
  const shared = { uuid: ctx.random.uuid(), trigger: triggerOf(event.listens) }
  const rows = listening.flatMap(({ id, project_id, group_id, integration, pending }) => {
    const requests = integration === null ? [{ body }] : (event.requests?.get(integration) ?? [])
    return requests.map(({ body, to }: ServiceRequest) => ({
      ...shared,
      body,
      request: to ?? null,
      hook_id: id,
      key: ctx.random.uuid(),
      state: pending < MAX_PENDING ? ('pending' as const) : ('failed' as const),
      event: project_id === null && group_id === null ? 'System Hook' : event.event,
    }))
  })
  if (rows.length === 0) return []
  const made = await tx
    .insert(hookDeliveries)
    .values(rows)
    .returning({ id: hookDeliveries.id, hook: hookDeliveries.hook_id, state: hookDeliveries.state })
  const urls = new Map(listening.map(({ id, url }) => [id, url]))
  const dropped = made.filter(({ state }) => state === 'failed')
  if (dropped.length > 0) await tx.insert(hookAttempts).values(dropped.map(({ id, hook }) => droppedAttempt(id, hook, urls.get(hook) as string)))
  await prune(
    tx,
    listening.map(({ id }) => id),
  )
  return made.filter(({ state }) => state === 'pending').map(({ id, hook }) => ({ delivery: id, receiver: new URL(urls.get(hook) as string).host }))
}

/** What the list of deliveries shows of one that was not attempted (HK-32). */
const droppedAttempt = (delivery: number, hook: number, url: string) => ({
  delivery_id: delivery,
  hook_id: hook,
  url,
  request_headers: {},
  response_headers: {},
  response_body: '',
  duration: 0,
  fault: `Not sent: ${MAX_PENDING} deliveries to this webhook were waiting`,
})

/** The number of deliveries kept for each hook (HK-6). */
const MAX_DELIVERIES = 100

/** Deletes finished deliveries that are not among the newest `MAX_DELIVERIES`. */
async function prune(tx: Transaction, hooks: number[]): Promise<void> {
  const newest = sql`(select d.id from ${hookDeliveries} d where d.hook_id = ${hookDeliveries.hook_id} order by d.id desc offset ${MAX_DELIVERIES - 1} limit 1)`
  await tx
    .delete(hookDeliveries)
    .where(and(inArray(hookDeliveries.hook_id, hooks), sql`${hookDeliveries.state} <> 'pending'`, sql`${hookDeliveries.id} < ${newest}`))
}
