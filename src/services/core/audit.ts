import { and, asc, gt, gte, lt, or, sql } from 'drizzle-orm'
import type { Context } from '../../context.js'
import type { Transaction } from '../../db/client.js'
import { auditEvents } from '../../db/schema/index.js'

export type AuditEvent = typeof auditEvents.$inferSelect

/** What was done, in the past tense. */
export type AuditAction =
  | `user_${'created' | 'updated' | 'blocked' | 'unblocked' | 'deleted'}`
  | `token_${'created' | 'revoked' | 'rotated'}`
  | `${'key' | 'gpg_key' | 'email'}_${'added' | 'removed'}`
  | 'email_confirmed'
  | `deploy_key_${'added' | 'updated' | 'removed'}`
  | `deploy_token_${'created' | 'revoked'}`
  | `member_${'added' | 'updated' | 'removed'}`
  | `group_${'created' | 'updated' | 'deleted'}`
  | 'visibility_changed'
  | `project_${'shared' | 'unshared' | 'transferred'}`
  | 'settings_changed'
  | 'merge_request_merged'
  | `hook_${'added' | 'updated' | 'removed'}`
  | `variable_${'added' | 'updated' | 'removed'}`
  | `${'protected_branch' | 'protected_tag'}_${'added' | 'updated' | 'removed'}`

export interface Audited {
  action: AuditAction
  target: { type: 'user' | 'token' | 'key' | 'gpg_key' | 'email' | 'project' | 'group' | 'settings' | 'merge_request'; id: number; name: string }
  /** What changed; never a secret. */
  changes?: Record<string, unknown> | undefined
}

/** Writes one audit row beside the change, in the same transaction where there is one (SEC-168). */
export async function audit(ctx: Context, db: Pick<Transaction, 'insert'>, { action, target, changes }: Audited): Promise<void> {
  const { caller, address, requestId } = ctx.origin ?? {}
  const sudoer = caller?.user ? caller.sudoer : undefined
  await db.insert(auditEvents).values({
    created_at: ctx.now(),
    actor_id: caller?.user?.id ?? null,
    actor: caller?.user?.username ?? null,
    sudoer_id: sudoer?.id ?? null,
    sudoer: sudoer?.username ?? null,
    action,
    target_type: target.type,
    target_id: target.id,
    target: target.name,
    changes: changes ?? {},
    address: address ?? null,
    request_id: requestId ?? null,
  })
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
