import { and, eq, isNotNull, sql } from 'drizzle-orm'
import type { SignedIn } from '../../../../access/actor.js'
import { seesMergeRequest } from '../../../../access/can.js'
import type { MergeRequestSubject } from '../../../../access/merge-requests.js'
import type { Context } from '../../../../context.js'
import { isOpen } from '../../../../db/conditions.js'
import { mergeRequests, pipelines, users } from '../../../../db/schema/index.js'
import { Failure, forbidden, unauthenticated } from '../../../../failures.js'
import { isUnavailable } from '../../../../lib/unavailable.js'
import { writeSystemNotes } from '../../../activity/system-notes.js'
import { createTodos } from '../../../activity/todos.js'
import { actingUser, findVisibleProject } from '../../../identity/acting-users.js'
import { branchProtectionsOf, mayMergeInto } from '../../../repository/protection.js'
import { loadMergeRequest, type SingleMergeRequest } from '../reading/load.js'
import { type Acceptance, merge, methodNotAllowed } from './merge.js'
import { runPostMerge } from './post-merge.js'
import { NOT_DEFERRED } from './states.js'

/** Merges a merge request, or defers the merge until its pipeline succeeds (MR-59 to MR-69). */
export async function acceptMergeRequest(
  ctx: Context,
  caller: SignedIn,
  subject: MergeRequestSubject,
  given: Acceptance,
): Promise<SingleMergeRequest> {
  const { id } = subject.request
  if (await merge(ctx, caller, subject, subject.request, given)) await runPostMerge(ctx, caller, subject, id)
  // the pipeline may have succeeded while the deferred merge was recorded
  else await runDeferredMerges(ctx, await findReadyDeferredMerges(ctx, id))
  return loadMergeRequest(ctx, caller, subject, id)
}

/** Cancels a deferred merge (MR-77 to MR-80). */
export async function cancelAutomaticMerge(ctx: Context, caller: SignedIn, subject: MergeRequestSubject): Promise<SingleMergeRequest> {
  const { project, request } = subject
  if (project.archived) throw forbidden()
  const protections = await branchProtectionsOf(ctx, project.id)
  if (request.author_id !== caller.user.id && !mayMergeInto(subject, protections, request.target_branch)) throw unauthenticated()
  const now = ctx.now()
  await ctx.db.transaction(async (tx) => {
    const [row] = await tx.select().from(mergeRequests).where(eq(mergeRequests.id, request.id)).for('update')
    if (row?.state !== 'opened') throw methodNotAllowed()
    if (!row.merge_when_pipeline_succeeds) throw new Failure('not_acceptable', { message: "Can't cancel the automatic merge" })
    await tx
      .update(mergeRequests)
      .set({ ...NOT_DEFERRED, should_remove_source_branch: null, updated_at: now })
      .where(eq(mergeRequests.id, row.id))
    await writeSystemNotes(
      tx,
      { type: 'MergeRequest', id: row.id, project_id: row.project_id },
      caller.user.id,
      ['canceled the automatic merge'],
      now,
    )
  })
  return loadMergeRequest(ctx, caller, subject, request.id)
}

/** Ids of merge requests with a deferred merge whose pipeline has succeeded; `id` limits the result to one of them. */
export async function findReadyDeferredMerges(ctx: Context, id: number | null): Promise<number[]> {
  const rows = await ctx.db.write
    .select({ id: mergeRequests.id })
    .from(mergeRequests)
    .innerJoin(
      pipelines,
      and(eq(pipelines.id, mergeRequests.head_pipeline_id), eq(pipelines.status, 'success'), eq(pipelines.sha, mergeRequests.sha)),
    )
    .where(
      and(
        mergeRequests.merge_when_pipeline_succeeds,
        isOpen,
        isNotNull(mergeRequests.merge_user_id),
        id === null ? undefined : eq(mergeRequests.id, id),
      ),
    )
  return rows.map((row) => row.id)
}

/**
 * Performs deferred merges on behalf of the users who requested them (MR-66, PL-7). The row records that a merge is
 * deferred, so concurrent and repeated calls merge it once.
 */
export async function runDeferredMerges(ctx: Context, ids: number[]): Promise<void> {
  for (const id of ids) await ctx.process.mutex.run(`deferred merge ${id}`, () => runDeferredMerge(ctx, id))
}

async function runDeferredMerge(ctx: Context, id: number): Promise<void> {
  const [row] = await ctx.db.write
    .select({ request: mergeRequests, user: users })
    .from(mergeRequests)
    .innerJoin(users, eq(users.id, mergeRequests.merge_user_id))
    .where(and(eq(mergeRequests.id, id), mergeRequests.merge_when_pipeline_succeeds, isOpen))
  if (!row) return
  const { request, user } = row
  const caller = actingUser(user)
  try {
    const subject = user.state === 'active' ? await findVisibleProject(ctx, caller, request.project_id) : null
    if (!subject || !seesMergeRequest(subject as Parameters<typeof seesMergeRequest>[0], request) || subject.project.archived) throw unauthenticated()
    const given = {
      merge_commit_message: request.merge_commit_message ?? undefined,
      squash_commit_message: request.squash_commit_message ?? undefined,
      should_remove_source_branch: request.should_remove_source_branch ?? undefined,
      sha: request.sha ?? undefined,
    }
    if (await merge(ctx, caller, subject, request, { ...given, resumesDeferred: true })) await runPostMerge(ctx, caller, subject, id)
  } catch (error) {
    if (error instanceof Failure) await abortDeferredMerge(ctx, request, user.id, error)
    // a job retries what is unavailable now
    else if (!isUnavailable(error)) throw error
  }
}

/** Cancels the deferred merge; the merge request stays open, and the user who requested the merge gets a todo. */
async function abortDeferredMerge(ctx: Context, request: typeof mergeRequests.$inferSelect, userId: number, failure: Failure): Promise<void> {
  const now = ctx.now()
  await ctx.db.transaction(async (tx) => {
    const [row] = await tx
      .update(mergeRequests)
      .set({ ...NOT_DEFERRED, should_remove_source_branch: null, merge_error: reasonOf(failure), updated_at: now })
      .where(
        and(
          eq(mergeRequests.id, request.id),
          isOpen,
          mergeRequests.merge_when_pipeline_succeeds,
          sql`${mergeRequests.sha} is not distinct from ${request.sha}`,
        ),
      )
      .returning({ id: mergeRequests.id })
    if (!row) return
    const target = { type: 'MergeRequest' as const, id: request.id, project_id: request.project_id }
    await createTodos(tx, { users: [userId], author_id: request.author_id, target, action: 'unmergeable' }, now)
    await writeSystemNotes(tx, target, userId, ['aborted the automatic merge'], now)
  })
}

const reasonOf = ({ body }: Failure) =>
  typeof body === 'object' && 'message' in body && typeof body.message === 'string' ? body.message : 'Branch cannot be merged'
