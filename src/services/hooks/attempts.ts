import { and, desc, eq, gt, gte, inArray, lt, sql } from 'drizzle-orm'
import { CHAIN_HEADER, sealChain } from '../../access/hook-chain.js'
import type { Context } from '../../context.js'
import type { ReadDatabase } from '../../db/client.js'
import { count } from '../../db/decoded.js'
import { onlyRow } from '../../db/only-row.js'
import { hookAttempts, hookDeliveries, webHooks } from '../../db/schema/index.js'
import { statement } from '../../db/statement.js'
import { Failure, notFound } from '../../failures.js'
import { currentHookChain } from '../../lib/async/hook-chain.js'
import { NoAnswer, type PostAnswer, post } from '../../lib/outgoing-post.js'
import { BadTarget, checkTarget } from '../../lib/ssrf-guard.js'
import { parseUrl } from '../../lib/url.js'
import { type Page, type Paging, pageAndTotal } from '../core/page.js'
import { SERVICES } from '../integrations/catalogue.js'
import { triggerOf, type WebhookEvent } from './event.js'
import { type Hook, secretsOf, targetRules } from './hooks.js'

type Attempt = typeof hookAttempts.$inferSelect
export type Delivery = typeof hookDeliveries.$inferSelect

/** An attempt with the delivery it was made for. */
export interface HookAttempt {
  attempt: Attempt
  delivery: Pick<Delivery, 'trigger' | 'body'>
}

/** The prefix of headers whose names carry a product name, which receivers match literally. */
const PREFIX = 'X-Gitlab-'
const SECRET_HEADERS = new Set([`${PREFIX}Token`, 'Authorization'])
const MASK = '[REDACTED]'
const UNDECIPHERABLE = 'The URL or the token of the hook cannot be decrypted: set both again'

/** The headers of a delivery (HK-10); most integrations get none that only programs for webhooks read (SV-6). */
function headersOf(ctx: Context, hook: Hook, { event, uuid, key, hook_chain }: Delivery, token: string | null): Record<string, string> {
  const sender = hook.integration === null ? undefined : SERVICES.get(hook.integration)?.sender
  if (sender && !sender.asWebhook)
    return {
      'Content-Type': sender.contentType ?? 'application/json',
      'User-Agent': 'Roost',
      'Idempotency-Key': key,
      ...(token !== null && { Authorization: `Bearer ${token}` }),
    }
  // a delivery that a call sends again belongs to the chain of that call too
  const chain = new Set([...(hook_chain ?? []), ...currentHookChain(), hook.id])
  return {
    'Content-Type': 'application/json',
    'User-Agent': 'Roost',
    'Idempotency-Key': key,
    [`${PREFIX}Event`]: event,
    [`${PREFIX}Event-UUID`]: uuid,
    [`${PREFIX}Webhook-UUID`]: key,
    [`${PREFIX}Instance`]: ctx.links.base,
    [CHAIN_HEADER]: sealChain(ctx, [...chain]),
    ...(token !== null && { [`${PREFIX}Token`]: token }),
  }
}

/** The outcome of an attempt: an answer, or the reason why there is none. */
type Outcome = { answer: PostAnswer } | { fault: string }

/** The method of a delivery, and its address from that of the hook. */
function requestOf(address: string, request: string | null): { method: 'POST' | 'PUT'; address: string } {
  const [method = '', path = ''] = request?.split(' ') ?? []
  const url = request === null ? null : parseUrl(address)
  if (!url) return { method: 'POST', address }
  if (path.startsWith('?')) url.search = `${url.search}${url.search === '' ? '?' : '&'}${path.slice(1)}`
  else url.pathname = `${url.pathname.replace(/\/$/, '')}/${path}`
  return { method: method === 'PUT' ? 'PUT' : 'POST', address: url.href }
}

async function send(ctx: Context, hook: Hook, address: string, { body, request }: Delivery, headers: Record<string, string>): Promise<Outcome> {
  try {
    const to = requestOf(address, request)
    const target = await checkTarget(to.address, targetRules(ctx, hook))
    const options = { method: to.method, headers, body, verify: hook.enable_ssl_verification, signal: ctx.process.stopping }
    return { answer: await post(target, options) }
  } catch (error) {
    // an attempt that our shutdown interrupts is no failure of the receiver, and is repeated
    if (ctx.process.stopping.aborted || !(error instanceof NoAnswer || error instanceof BadTarget)) throw error
    return { fault: error instanceof BadTarget ? `The address ${error.message}` : `${error.message[0]?.toUpperCase()}${error.message.slice(1)}` }
  }
}

/** Consecutive failures that disable a hook, for one minute at first and at most one day (HK-26). */
const FAILURES_BEFORE_DISABLING = 4
const MINUTE_MS = 60_000
const DAY_MS = 24 * 60 * MINUTE_MS

/** The delay before the next attempt after this many failures. */
export const backoffMs = (failures: number) => Math.min(MINUTE_MS * 2 ** Math.max(0, Math.min(failures, 20) - 1), DAY_MS)

/**
 * Sends a delivery once and records the attempt (HK-12). A success resets the failures of the hook; repeated failures
 * disable it for a growing time (HK-26). Null: the hook was deleted meanwhile.
 */
export async function attemptDelivery(ctx: Context, hook: Hook, delivery: Delivery): Promise<HookAttempt | null> {
  const secrets = secretsOf(ctx, hook)
  const headers = headersOf(ctx, hook, delivery, secrets?.token ?? null)
  const began = performance.now()
  const outcome = secrets ? await send(ctx, hook, secrets.address, delivery, headers) : { fault: UNDECIPHERABLE }
  const duration = Math.round(performance.now() - began)
  const answer = 'answer' in outcome ? outcome.answer : null
  const succeeded = answer !== null && answer.status >= 200 && answer.status < 300
  ctx.monitoring.metrics.webhook(delivery.trigger, succeeded ? 'done' : 'failed', duration / 1000)
  const shown = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, SECRET_HEADERS.has(name) ? MASK : value]))
  const values = {
    delivery_id: delivery.id,
    hook_id: hook.id,
    url: hook.url,
    request_headers: shown,
    response_headers: answer?.headers ?? {},
    response_body: answer?.body ?? '',
    status: answer?.status ?? null,
    fault: 'fault' in outcome ? outcome.fault : null,
    duration,
    created_at: ctx.now(),
  }
  return ctx.db.transaction(async (tx) => {
    // locks the hook's row before that of the delivery, in the same order as a deletion does
    const left = await tx
      .update(webHooks)
      .set(succeeded ? HEALTHY : failureColumns(ctx.now()))
      .where(eq(webHooks.id, hook.id))
      .returning({ id: webHooks.id })
    if (left.length === 0) return null
    const state = answer ? { state: 'delivered' as const } : {}
    await tx
      .update(hookDeliveries)
      .set({ ...state, attempts: sql`${hookDeliveries.attempts} + 1` })
      .where(eq(hookDeliveries.id, delivery.id))
    return { attempt: onlyRow(await tx.insert(hookAttempts).values(values).returning()), delivery }
  })
}

const HEALTHY = { recent_failures: 0, disabled_until: null }

/** Columns after one more failure. While the hook is disabled, a further failure changes nothing. */
function failureColumns(now: Date) {
  const at = sql`${now.toISOString()}::timestamptz`
  const over = sql`greatest(${webHooks.recent_failures} + 1 - ${FAILURES_BEFORE_DISABLING}, 0)`
  const wait = sql`least(interval '1 minute' * power(2, least(${over}, 20)), interval '1 day')`
  return {
    recent_failures: sql`least(${webHooks.recent_failures} + case when ${webHooks.disabled_until} > ${at} then 0 else 1 end, 1000)`,
    disabled_until: sql`case when ${webHooks.disabled_until} > ${at} then ${webHooks.disabled_until}
      when ${webHooks.recent_failures} + 1 >= ${FAILURES_BEFORE_DISABLING} then ${at} + ${wait} end`,
  }
}

const LISTED_DAYS = 7

/** The condition of each value of `status`; numbers use `exact`. */
const STATUS_FILTERS = {
  all: undefined,
  successful: and(gte(hookAttempts.status, 200), lt(hookAttempts.status, 300)),
  client_failure: and(gte(hookAttempts.status, 400), lt(hookAttempts.status, 500)),
  server_failure: sql`(${hookAttempts.status} >= 500 or ${hookAttempts.status} is null)`,
  exact: eq(hookAttempts.status, sql.placeholder('status')),
}
type StatusFilter = keyof typeof STATUS_FILTERS

const isNamed = (status: string): status is StatusFilter => Object.hasOwn(STATUS_FILTERS, status)

/** The most attempts that are listed. */
const MAX_LISTED = 100

const newestIds = (db: ReadDatabase) =>
  db
    .select({ id: hookAttempts.id })
    .from(hookAttempts)
    .where(and(eq(hookAttempts.hook_id, sql.placeholder('hook')), gt(hookAttempts.created_at, sql.placeholder('since'))))
    .orderBy(desc(hookAttempts.id))
    .limit(MAX_LISTED)

const selectAttempts = statement('hook attempts', (db, wanted: StatusFilter) =>
  db
    .select({ attempt: hookAttempts, delivery: { trigger: hookDeliveries.trigger, body: hookDeliveries.body } })
    .from(hookAttempts)
    .innerJoin(hookDeliveries, eq(hookDeliveries.id, hookAttempts.delivery_id))
    .where(and(inArray(hookAttempts.id, newestIds(db)), STATUS_FILTERS[wanted]))
    .orderBy(desc(hookAttempts.id))
    .limit(sql.placeholder('limit'))
    .offset(sql.placeholder('offset')),
)

const selectTotal = statement('number of hook attempts', (db, wanted: StatusFilter) =>
  db
    .select({ total: count() })
    .from(hookAttempts)
    .where(and(inArray(hookAttempts.id, newestIds(db)), STATUS_FILTERS[wanted])),
)

/** The newest attempts of a hook, newest first (HK-6). */
export function listAttempts(
  ctx: Context,
  hook: Hook,
  { status = 'all', ...paging }: { status?: string | undefined } & Paging,
): Promise<Page<HookAttempt>> {
  const values = { hook: hook.id, since: new Date(ctx.now().getTime() - LISTED_DAYS * DAY_MS), status: Number(status) }
  const wanted = isNamed(status) ? status : 'exact'
  return pageAndTotal(selectAttempts(ctx.db, wanted), selectTotal(ctx.db, wanted), values, paging)
}

/** One attempt of a hook. */
export async function getAttempt(ctx: Context, hook: Hook, id: number): Promise<HookAttempt> {
  const [found] = await ctx.db.read
    .select({ attempt: hookAttempts, delivery: { trigger: hookDeliveries.trigger, body: hookDeliveries.body } })
    .from(hookAttempts)
    .innerJoin(hookDeliveries, eq(hookDeliveries.id, hookAttempts.delivery_id))
    .where(and(eq(hookAttempts.id, id), eq(hookAttempts.hook_id, hook.id)))
  if (!found) throw notFound()
  return found
}

const unprocessable = (message: string) => new Failure('unprocessable', { message })

/** A hook whose own delivery led to this call gets no further one by it (HK-30). */
function checkNotInChain({ id }: Hook): void {
  if (currentHookChain().includes(id)) throw unprocessable('A delivery of this webhook led to this request')
}

/** Sends the delivery of an attempt again at once (HK-7). */
export async function resend(ctx: Context, hook: Hook, id: number): Promise<HookAttempt> {
  const [found] = await ctx.db.write
    .select({ delivery: hookDeliveries })
    .from(hookAttempts)
    .innerJoin(hookDeliveries, eq(hookDeliveries.id, hookAttempts.delivery_id))
    .where(and(eq(hookAttempts.id, id), eq(hookAttempts.hook_id, hook.id)))
  if (!found) throw notFound()
  checkNotInChain(hook)
  return requireAnswer(await attemptDelivery(ctx, hook, found.delivery))
}

/** Delivers a sample at once, even if the hook does not listen to its event (HK-5, HK-9). */
export async function deliverSample(ctx: Context, hook: Hook, { listens, event, body }: WebhookEvent): Promise<HookAttempt> {
  checkNotInChain(hook)
  const system = hook.project_id === null && hook.group_id === null
  const values = {
    hook_id: hook.id,
    uuid: ctx.random.uuid(),
    key: ctx.random.uuid(),
    trigger: triggerOf(listens),
    event: system ? 'System Hook' : event,
  }
  const delivery = onlyRow(
    await ctx.db.write
      .insert(hookDeliveries)
      // never retried by a job
      .values({ ...values, body: JSON.stringify(body), state: 'failed' })
      .returning(),
  )
  return requireAnswer(await attemptDelivery(ctx, hook, delivery))
}

function requireAnswer(attempted: HookAttempt | null): HookAttempt {
  if (!attempted) throw notFound()
  if (attempted.attempt.fault !== null) throw unprocessable(attempted.attempt.fault)
  return attempted
}
