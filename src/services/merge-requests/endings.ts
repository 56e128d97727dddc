import { and, eq, inArray, sql } from 'drizzle-orm'
import type { Context } from '../../context.js'
import type { Transaction } from '../../db/client.js'
import { relax } from '../../db/relaxed.js'
import { events, mergeRequests, notes, todos } from '../../db/schema/index.js'
import type { Oid } from '../../git/types.js'
import { audit } from '../audit.js'
import { touchProjectList } from '../project-lists.js'
import { isOpen } from './sketches.js'
import { closed, NOT_DEFERRED } from './states.js'

interface Ended {
  id: number
  project_id: number
}

/** In rows of their own for each: what the service says, what is told of it, and what nobody of the lists may miss. */
async function tell(tx: Transaction, ended: Ended[], actorId: number | null, told: { note: string; action: 'merged' | 'closed' }, now: Date) {
  if (ended.length === 0) return
  if (actorId !== null) {
    const shared = { author_id: actorId, created_at: now }
    await tx.insert(notes).values(
      ended.map(({ id, project_id }) => ({
        ...shared,
        project_id,
        noteable_type: 'MergeRequest' as const,
        noteable_id: id,
        note: told.note,
        system: true,
        updated_at: now,
      })),
    )
    await tx
      .insert(events)
      .values(
        ended.map(({ id, project_id }) => ({ ...shared, project_id, action: told.action, target_type: 'MergeRequest' as const, target_id: id })),
      )
    await finishTodosOf(tx, ended, actorId, now)
  }
  for (const project of new Set(ended.map(({ project_id }) => project_id))) await touchProjectList(tx, project, 'merge_requests')
}

/** Nothing about these requests waits for the user (MR-69, MR-71). */
export async function finishTodosOf(tx: Pick<Transaction, 'update'>, requests: Ended[], userId: number, now: Date): Promise<void> {
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

/** Open requests whose heads have come into their targets by a push: merged, without a commit of their own (MR-73, PU-3). Returns those that were open. */
export async function markMergedByPush(ctx: Context, ids: number[], actorId: number | null): Promise<Ended[]> {
  if (ids.length === 0) return []
  const now = ctx.now()
  return ctx.db.transaction(async (tx) => {
    await relax(tx)
    const ended = await tx
      .update(mergeRequests)
      .set({ state: 'merged', merged_by_id: actorId, merged_at: now, updated_at: now, merge_error: null, rebase_user_id: null, ...NOT_DEFERRED })
      .where(and(inArray(mergeRequests.id, ids), isOpen))
      .returning({ id: mergeRequests.id, project_id: mergeRequests.project_id })
    await tell(tx, ended, actorId, { note: 'merged', action: 'merged' }, now)
    return ended
  })
}

export interface Accepted {
  request: number
  should_remove_source_branch: boolean | null
}

/** The row of a request whose merge commit the target branch has got, with all that is told of it, at once (SEC-158). A second time changes nothing. */
export async function markAccepted(
  ctx: Context,
  { request, should_remove_source_branch }: Accepted,
  commit: Oid,
  actorId: number | null,
): Promise<void> {
  const now = ctx.now()
  await ctx.db.transaction(async (tx) => {
    await relax(tx)
    const ended = await tx
      .update(mergeRequests)
      .set({
        state: 'merged',
        merge_commit_sha: commit,
        merged_by_id: actorId,
        merged_at: now,
        updated_at: now,
        should_remove_source_branch,
        merge_error: null,
        rebase_user_id: null,
        ...NOT_DEFERRED,
      })
      // a push that came in between may have found it merged, without knowing by what
      .where(and(eq(mergeRequests.id, request), sql`(${isOpen} or ${mergeRequests.state} = 'merged' and ${mergeRequests.merge_commit_sha} is null)`))
      .returning({ id: mergeRequests.id, project_id: mergeRequests.project_id, iid: mergeRequests.iid })
    await tell(tx, ended, actorId, { note: 'merged', action: 'merged' }, now)
    const caller = ctx.origin?.caller
    for (const { id, project_id, iid } of ended)
      if (caller?.user && caller.sudoer)
        await audit(ctx, tx, {
          action: 'merge_request_merged',
          target: { type: 'merge_request', id, name: `!${iid}` },
          changes: { project_id, merge_commit_sha: [null, commit] },
        })
  })
}

/** Open requests that have lost what they come from: closed (MR-74, PU-4, PR-26). */
export async function markClosed(ctx: Context, tx: Transaction, ids: number[], actorId: number | null, why: string): Promise<void> {
  if (ids.length === 0) return
  const now = ctx.now()
  const ended = await tx
    .update(mergeRequests)
    .set({ ...closed(actorId, now), updated_at: now })
    .where(and(inArray(mergeRequests.id, ids), isOpen))
    .returning({ id: mergeRequests.id, project_id: mergeRequests.project_id })
  await tell(tx, ended, actorId, { note: `closed: ${why}`, action: 'closed' }, now)
}
