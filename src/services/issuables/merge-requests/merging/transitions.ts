import { and, eq, inArray, type SQL, sql } from 'drizzle-orm'
import type { PgUpdateSetSource } from 'drizzle-orm/pg-core'
import type { Context } from '../../../../context.js'
import { commitAsynchronously } from '../../../../db/asynchronous-commit.js'
import type { Transaction } from '../../../../db/client.js'
import { isOpen } from '../../../../db/conditions.js'
import { events, type MergeIntent, mergeRequests, notes, pipelines, resourceEvents, todos } from '../../../../db/schema/index.js'
import type { Oid } from '../../../../git/types.js'
import { enqueue } from '../../../../jobs/enqueue.js'
import { stopRequestReviews } from '../../../ci/environments/stop.js'
import { audit } from '../../../core/audit.js'
import { actAs } from '../../../outbox/acting.js'
import { closedColumns, NOT_DEFERRED } from './states.js'

interface EndedRequest {
  id: number
  project_id: number
  iid: number
}

/**
 * Marks merge requests closed or merged, with their system notes, events, resource events and finished todos, in one statement. Returns
 * those that changed.
 */
async function endRequests(
  tx: Transaction,
  { set, where }: { set: PgUpdateSetSource<typeof mergeRequests>; where: SQL | undefined },
  { by, note, action, now }: { by: number | null; note: string; action: 'merged' | 'closed'; now: Date },
): Promise<EndedRequest[]> {
  const { id, project_id, iid, head_pipeline_id } = mergeRequests
  const changed = tx
    .update(mergeRequests)
    .set({ ...set, updated_at: now })
    .where(where)
    .returning({ id, project_id, iid, head_pipeline_id })
  const at = sql`${now.toISOString()}::timestamptz`
  const actor = sql`${by}::bigint`
  const { rows } = await tx.execute<Record<keyof EndedRequest, string> & { deploys: boolean }>(sql`with ended as ${changed}, noted as (
      insert into ${notes} (project_id, noteable_type, noteable_id, author_id, note, system, created_at, updated_at)
      select project_id, 'MergeRequest', id, ${actor}, ${note}, true, ${at}, ${at} from ended where ${actor} is not null order by id
    ), recorded as (
      insert into ${events} (project_id, author_id, action, target_type, target_id, about_type, about_id, created_at)
      select project_id, ${actor}, ${action}, 'MergeRequest', id, 'MergeRequest', id, ${at} from ended where ${actor} is not null order by id
    ), stated as (
      insert into ${resourceEvents} (project_id, merge_request_id, kind, user_id, state, created_at)
      select project_id, id, 'state', ${actor}, ${action}, ${at} from ended where ${actor} is not null order by id
    ), done as (
      update ${todos} set state = 'done', updated_at = ${at} from ended where ${todos.project_id} = ended.project_id
      and ${todos.target_type} = 'MergeRequest' and ${todos.target_id} = ended.id and ${todos.user_id} = ${actor} and ${todos.state} = 'pending'
    ) select id, project_id, iid, exists (select 1 from ${pipelines} p where p.id = ended.head_pipeline_id and p.source = 'merge_request_event') as deploys from ended`)
  await stopReviewsOf(
    tx,
    rows.flatMap((row) => (row.deploys ? Number(row.id) : [])),
    by,
  )
  return rows.map((row) => ({ id: Number(row.id), project_id: Number(row.project_id), iid: Number(row.iid) }))
}

/** Has the environments of merge requests stopped that were merged or closed. */
export async function stopReviewsOf(tx: Transaction, ids: number[], userId: number | null): Promise<void> {
  if (ids.length > 0 && userId !== null) await enqueue(tx, stopRequestReviews, { merge_requests: ids, user: userId })
}

/** Marks the user's pending todos on these merge requests done (MR-69, MR-71). */
export async function finishTodosOf(
  tx: Pick<Transaction, 'update'>,
  requests: Pick<EndedRequest, 'id' | 'project_id'>[],
  userId: number,
  now: Date,
): Promise<void> {
  if (requests.length === 0) return
  const ids = requests.map(({ id }) => id)
  const projects = [...new Set(requests.map(({ project_id }) => project_id))]
  await tx
    .update(todos)
    .set({ state: 'done', updated_at: now })
    .where(
      and(
        inArray(todos.project_id, projects),
        eq(todos.target_type, 'MergeRequest'),
        inArray(todos.target_id, ids),
        eq(todos.user_id, userId),
        eq(todos.state, 'pending'),
      ),
    )
}

/**
 * Marks open merge requests merged whose heads a push added to their targets; they have no merge commit (MR-73, PU-3).
 * Returns those that were open.
 */
export async function markMergedByPush(ctx: Context, ids: number[], actorId: number | null): Promise<EndedRequest[]> {
  if (ids.length === 0) return []
  const now = ctx.now()
  return ctx.db.transaction(async (tx) => {
    await Promise.all([commitAsynchronously(tx), actAs(tx, actorId)])
    return endRequests(
      tx,
      { set: mergedColumns(actorId, now), where: and(inArray(mergeRequests.id, ids), isOpen) },
      { by: actorId, ...MERGED_RECORDS, now },
    )
  })
}

const MERGED_RECORDS = { note: 'merged', action: 'merged' } as const

const mergedColumns = (by: number | null, now: Date) =>
  ({ state: 'merged', merged_by_id: by, merged_at: now, merge_error: null, rebase_user_id: null, ...NOT_DEFERRED }) as const

/**
 * Marks a merge request merged after the target branch has moved to `commit`, with system note and event, in one
 * statement (SEC-158). Idempotent.
 */
export async function markAccepted(
  ctx: Context,
  { request, should_remove_source_branch, head, squash, squash_commit, fast_forward }: MergeIntent,
  commit: Oid,
  actorId: number | null,
): Promise<void> {
  const now = ctx.now()
  await ctx.db.transaction(async (tx) => {
    await Promise.all([commitAsynchronously(tx), actAs(tx, actorId)])
    // a push in between may have marked it merged
    const where = and(
      eq(mergeRequests.id, request),
      sql`(${isOpen} or ${mergeRequests.state} = 'merged' and ${mergeRequests.merge_commit_sha} is null and ${mergeRequests.merged_head_sha} is null)`,
    )
    const set = {
      ...mergedColumns(actorId, now),
      merge_commit_sha: fast_forward ? null : commit,
      ...(squash !== undefined && { squash }),
      squash_commit_sha: squash_commit ?? null,
      merged_head_sha: head ?? null,
      should_remove_source_branch,
    }
    const ended = await endRequests(tx, { set, where }, { by: actorId, ...MERGED_RECORDS, now })
    for (const { id, project_id, iid } of ended)
      await audit(ctx, tx, {
        action: 'merge_request_merged',
        target: { type: 'merge_request', id, name: `!${iid}` },
        actorId,
        changes: { project_id, [fast_forward ? 'target_branch_sha' : 'merge_commit_sha']: [null, commit] },
      })
  })
}

/** Closes open merge requests that have lost their source (MR-74, PU-4, PR-26). */
export async function markClosed(ctx: Pick<Context, 'now'>, tx: Transaction, ids: number[], actorId: number | null, why: string): Promise<void> {
  if (ids.length === 0) return
  const now = ctx.now()
  const where = and(inArray(mergeRequests.id, ids), isOpen)
  await actAs(tx, actorId)
  await endRequests(tx, { set: closedColumns(actorId, now), where }, { by: actorId, note: `closed: ${why}`, action: 'closed', now })
}
