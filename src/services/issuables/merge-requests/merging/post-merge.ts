import { eq } from 'drizzle-orm'
import { z } from 'zod'
import type { SignedIn } from '../../../../access/actor.js'
import type { ProjectSubject } from '../../../../access/rules.js'
import type { Context } from '../../../../context.js'
import { mergeRequests, users } from '../../../../db/schema/index.js'
import { Failure } from '../../../../failures.js'
import { RefChanged } from '../../../../git/errors.js'
import { ZERO } from '../../../../git/types.js'
import { cancel } from '../../../../jobs/enqueue.js'
import { defineJob } from '../../../../jobs/kinds.js'
import { isUnavailable } from '../../../../lib/unavailable.js'
import { actingUser, findVisibleProject } from '../../../identity/acting-users.js'
import { branchProtectionsOf } from '../../../repository/protection.js'
import { moveRefs } from '../../../repository/push/door.js'
import { closeIssuesOf } from '../writing/closing-issues.js'

type Request = typeof mergeRequests.$inferSelect

/**
 * Closes issues and may remove the source branch after a merge (MR-68, MR-69), then cancels the job that would do it
 * after a crash. Idempotent.
 */
export async function runPostMerge(ctx: Context, caller: SignedIn, target: ProjectSubject, id: number): Promise<void> {
  await closeIssuesAndRemoveSource(ctx, caller, target, id)
  ctx.jobs.add('after a merge', () => cancel(ctx.db, postMerge, String(id)))
}

async function closeIssuesAndRemoveSource(ctx: Context, caller: SignedIn, target: ProjectSubject, id: number): Promise<void> {
  const [request] = await ctx.db.write.select().from(mergeRequests).where(eq(mergeRequests.id, id))
  if (!request) return
  await closeIssuesOf(ctx, caller, target, request)
  await removeSource(ctx, caller, request)
}

/** How long after a merge the job `after a merge` runs, unless it is cancelled. */
export const POST_MERGE_CHECK_DELAY_MS = 10_000

/** Does the same for merges after which the process crashed. `runPostMerge` cancels it. */
export const postMerge = defineJob({
  kind: 'after a merge',
  input: z.object({ merge_request: z.int() }),
  async run(ctx: Context, { merge_request: id }) {
    const [row] = await ctx.db.write
      .select({ project: mergeRequests.project_id, user: users })
      .from(mergeRequests)
      .innerJoin(users, eq(users.id, mergeRequests.merged_by_id))
      .where(eq(mergeRequests.id, id))
    const caller = row && actingUser(row.user)
    const subject = caller && (await findVisibleProject(ctx, caller, row.project))
    if (caller && subject) await closeIssuesAndRemoveSource(ctx, caller, subject, id)
  },
  priority: 'high',
})

/**
 * Removes the source branch on behalf of the user who requested it: the user who merged, or the author (MR-68,
 * SEC-106). If they may not remove it, or if it has moved on, it stays without an error.
 */
async function removeSource(ctx: Context, caller: SignedIn, request: Request): Promise<void> {
  const { should_remove_source_branch: requestedByMerger, source_project_id: projectId, source_branch: branch } = request
  if (!(requestedByMerger ?? request.force_remove_source_branch) || projectId === null) return
  const [author] = requestedByMerger ? [] : await ctx.db.write.select().from(users).where(eq(users.id, request.author_id))
  const remover = requestedByMerger ? caller : author && author.state === 'active' ? actingUser(author) : null
  const subject = remover && (await findVisibleProject(ctx, remover, projectId))
  const head = request.merged_head_sha
  if (!remover || !subject || !head) return
  const { project } = subject
  if (branch === project.default_branch || (await branchProtectionsOf(ctx, project.id)).isProtected(branch)) return
  try {
    await moveRefs(ctx, subject, remover.user.id, [{ ref: `refs/heads/${branch}`, old: head, new: ZERO }])
  } catch (error) {
    if (!(error instanceof Failure || error instanceof RefChanged || isUnavailable(error))) throw error
  }
}
