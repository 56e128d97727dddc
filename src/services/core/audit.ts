import { and, asc, desc, eq, gt, gte, lt, lte, or, type SQL, sql } from 'drizzle-orm'
import type { Context } from '../../context.js'
import type { Transaction } from '../../db/client.js'
import { conditionsWith, type FilterNames, type Filters } from '../../db/filters.js'
import { auditEvents, users } from '../../db/schema/index.js'
import { notFound } from '../../failures.js'
import { limits, type Page, type Paging } from './page.js'

export type AuditEvent = typeof auditEvents.$inferSelect

/** What was done, in the past tense. */
export type AuditAction =
  | 'project_exported'
  | `user_${'created' | 'updated' | 'blocked' | 'unblocked' | 'banned' | 'unbanned' | 'deactivated' | 'activated' | 'approved' | 'rejected' | 'deleted'}`
  | `token_${'created' | 'revoked' | 'rotated'}`
  | `${'key' | 'gpg_key' | 'email'}_${'added' | 'removed'}`
  | 'email_confirmed'
  | `identity_${'linked' | 'unlinked'}`
  | `deploy_key_${'added' | 'updated' | 'removed'}`
  | `deploy_token_${'created' | 'revoked'}`
  | `access_token_${'created' | 'rotated' | 'revoked'}`
  | `member_${'added' | 'updated' | 'removed'}`
  | `invitation_${'sent' | 'updated' | 'withdrawn' | 'declined'}`
  | `${'project' | 'group'}_${'created' | 'deletion_scheduled' | 'restored' | 'deleted'}`
  | `group_${'exported' | 'imported' | 'import_failed' | 'updated' | 'transferred' | 'shared' | 'unshared'}`
  | 'visibility_changed'
  | `project_${'shared' | 'unshared' | 'transferred' | 'archived' | 'unarchived'}`
  | `sign_in_${'done' | 'refused'}`
  | 'session_ended'
  | `impersonation_${'started' | 'ended'}`
  | `two_factor_${'enabled' | 'disabled'}`
  | 'recovery_codes_created'
  | `security_key_${'added' | 'removed'}`
  | `application_${'created' | 'updated' | 'removed' | 'authorized' | 'refused' | 'revoked'}`
  | 'settings_changed'
  | `jobs_${'retried' | 'removed'}`
  | `broadcast_message_${'added' | 'updated' | 'removed'}`
  | 'abuse_report_closed'
  | `request_limit_${'set' | 'removed'}`
  | `held_text_${'released' | 'removed'}`
  | 'merge_request_merged'
  | `${'hook' | 'integration'}_${'added' | 'updated' | 'removed'}`
  | `environment_${'created' | 'updated' | 'stopped' | 'deleted'}`
  | `variable_${'added' | 'updated' | 'removed'}`
  | `trigger_${'created' | 'updated' | 'revoked'}`
  | `schedule_${'created' | 'updated' | 'taken' | 'deactivated' | 'deleted'}`
  | `mirror_${'added' | 'updated' | 'removed'}`
  | `feature_flag_${'created' | 'updated' | 'deleted' | 'token_reset'}`
  | `feature_flag_user_list_${'created' | 'updated' | 'deleted'}`
  | `instance_feature_${'set' | 'removed'}`
  | `topic_${'created' | 'updated' | 'deleted' | 'merged'}`
  | `freeze_period_${'created' | 'updated' | 'deleted'}`
  | `package_protection_rule_${'created' | 'updated' | 'deleted'}`
  | `badge_${'added' | 'updated' | 'removed'}`
  | `${'package' | 'package_file' | 'container_repository' | 'container_tag'}_deleted`
  | 'job_token_scope_changed'
  | `job_token_access_${'added' | 'removed'}`
  | `${'protected_branch' | 'protected_tag' | 'protected_environment'}_${'added' | 'updated' | 'removed'}`

export interface Audited {
  action: AuditAction
  target: {
    type: 'user' | 'token' | 'key' | 'gpg_key' | 'email' | 'project' | 'group' | 'settings' | 'merge_request' | 'application'
    id: number | null
    name: string
  }
  /** The user who acts, for work without a signed-in caller. */
  actorId?: number | null | undefined
  /** What changed; never a secret. */
  changes?: Record<string, unknown> | undefined
}

/** Writes one audit row beside the change, in the same transaction where there is one (SEC-168). */
export async function audit(ctx: Context, db: Pick<Transaction, 'insert'>, { action, target, actorId, changes }: Audited): Promise<void> {
  const byUser = actorId && !ctx.origin?.caller.user
  await db.insert(auditEvents).values({
    ...originOf(ctx),
    ...(byUser && { actor_id: actorId, actor: sql`(select u.username from ${users} u where u.id = ${actorId})` }),
    action,
    target_type: target.type,
    target_id: target.id,
    target: target.name,
    changes: changes ?? {},
  })
}

/** Writes one audit row for each target that the query selects as `id` and `name`. */
export async function auditEach(
  ctx: Context,
  tx: Transaction,
  { action, type, targets }: { action: AuditAction; type: Audited['target']['type']; targets: SQL },
): Promise<void> {
  const { created_at, ...origin } = originOf(ctx)
  const names = Object.keys(origin).map((name) => sql.identifier(name))
  const values = Object.values(origin).map((value) => sql`${value}`)
  await tx.execute(sql`insert into ${auditEvents} (created_at, ${sql.join(names, sql`, `)}, action, target_type, target_id, target, changes)
    select ${created_at.toISOString()}::timestamptz, ${sql.join(values, sql`, `)}, ${action}, ${type}, t.id, t.name, '{}' from (${targets}) t`)
}

/** Who acts, from where. */
function originOf(ctx: Pick<Context, 'origin' | 'now'>) {
  const { caller, address, requestId } = ctx.origin ?? {}
  const sudoer = caller?.user ? caller.sudoer : undefined
  return {
    created_at: ctx.now(),
    actor_id: caller?.user?.id ?? null,
    actor: caller?.user?.username ?? null,
    sudoer_id: sudoer?.id ?? null,
    sudoer: sudoer?.username ?? null,
    address: address ?? null,
    request_id: requestId || null,
  }
}

/** Field → [before, after] for the fields that differ; the fields in `secret` are only marked as changed. */
export function changesOf<T extends object>(before: T, after: Partial<T>, secret: readonly (keyof T)[] = []): Record<string, unknown> {
  const changes: Record<string, unknown> = {}
  for (const key of Object.keys(after) as (keyof T & string)[]) {
    if (after[key] === undefined || JSON.stringify(before[key]) === JSON.stringify(after[key])) continue
    changes[key] = secret.includes(key) ? 'changed' : [before[key] ?? null, after[key] ?? null]
  }
  return changes
}

export interface AuditFilter {
  created_after?: Date | undefined
  created_before?: Date | undefined
  /** As stored, in snake_case. */
  entity_type?: string | undefined
  entity_id?: number | undefined
  /** The username, as it was when they acted. */
  actor?: string | undefined
  action?: string | undefined
}

const FILTERS = {
  created_after: { where: (time) => gte(auditEvents.created_at, time), value: ({ created_after }) => created_after?.toISOString() },
  created_before: { where: (time) => lte(auditEvents.created_at, time), value: ({ created_before }) => created_before?.toISOString() },
  entity_type: { where: (type) => eq(auditEvents.target_type, type), value: ({ entity_type }) => entity_type },
  entity_id: { where: (id) => eq(auditEvents.target_id, id), value: ({ entity_id }) => entity_id },
  actor: { where: (name) => eq(auditEvents.actor, name), value: ({ actor }) => actor },
  action: { where: (action) => eq(auditEvents.action, action), value: ({ action }) => action },
} satisfies Filters<AuditFilter, FilterNames<AuditFilter>>

/** The audit events that match, the newest first (OT-11). */
export async function listAuditEvents(ctx: Context, filter: AuditFilter, paging: Paging): Promise<Page<AuditEvent>> {
  const where = and(...conditionsWith(FILTERS, filter))
  const { limit, offset } = limits(paging)
  const newestFirst = [desc(auditEvents.created_at), desc(auditEvents.id)]
  const [items, total] = await Promise.all([
    ctx.db.read
      .select()
      .from(auditEvents)
      .where(where)
      .orderBy(...newestFirst)
      .limit(limit)
      .offset(offset),
    ctx.db.read.$count(auditEvents, where),
  ])
  return { items, total }
}

/** A place in the log: the events before it are older. */
export interface AuditPlace {
  created_at: Date
  id: number
}

/** The newest events that match, before a place; the log is too long to be counted. */
export const auditEventsBefore = (ctx: Context, filter: AuditFilter, before: AuditPlace | null, limit: number): Promise<AuditEvent[]> =>
  ctx.db.write
    .select()
    .from(auditEvents)
    .where(
      and(
        ...conditionsWith(FILTERS, filter),
        before
          ? sql`(${auditEvents.created_at}, ${auditEvents.id}) < (${before.created_at.toISOString()}::timestamptz, ${before.id}::bigint)`
          : undefined,
      ),
    )
    .orderBy(desc(auditEvents.created_at), desc(auditEvents.id))
    .limit(limit)

/** The newest events that match, at most `most`, read in batches. */
export async function* matchingEvents(ctx: Context, filter: AuditFilter, most: number): AsyncGenerator<AuditEvent> {
  let before: AuditPlace | null = null
  for (let left = most; left > 0; left -= BATCH_ROWS) {
    const limit = Math.min(left, BATCH_ROWS)
    const rows: AuditEvent[] = await auditEventsBefore(ctx, filter, before, limit)
    yield* rows
    before = rows.at(-1) ?? null
    if (rows.length < limit) return
  }
}

/** One audit event (OT-12). */
export async function getAuditEvent(ctx: Context, id: number): Promise<AuditEvent> {
  const [event] = await ctx.db.read.select().from(auditEvents).where(eq(auditEvents.id, id))
  if (!event) throw notFound('Audit Event')
  return event
}

/** The last events before a moment, oldest first. */
export async function lastAuditEvents(ctx: Context, count: number, until?: Date): Promise<AuditEvent[]> {
  const found = await ctx.db.write
    .select()
    .from(auditEvents)
    .where(until && lt(auditEvents.created_at, until))
    .orderBy(desc(auditEvents.created_at), desc(auditEvents.id))
    .limit(count)
  return found.reverse()
}

const BATCH_ROWS = 500

/** All audit events of a period, oldest first, read in batches. */
export async function* auditTrail(ctx: Context, { since, until }: { since: Date; until?: Date | undefined }): AsyncGenerator<AuditEvent> {
  for (let after: { created_at: Date; id: number } | null = null; ; ) {
    const rows: AuditEvent[] = await ctx.db.write
      .select()
      .from(auditEvents)
      .where(
        and(
          gte(auditEvents.created_at, since),
          until && lt(auditEvents.created_at, until),
          after
            ? or(
                gt(auditEvents.created_at, after.created_at),
                and(sql`${auditEvents.created_at} = ${after.created_at.toISOString()}`, gt(auditEvents.id, after.id)),
              )
            : undefined,
        ),
      )
      .orderBy(asc(auditEvents.created_at), asc(auditEvents.id))
      .limit(BATCH_ROWS)
    yield* rows
    after = rows.at(-1) ?? null
    if (rows.length < BATCH_ROWS) return
  }
}
