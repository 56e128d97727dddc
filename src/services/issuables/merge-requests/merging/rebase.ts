import { and, eq, isNotNull, isNull } from 'drizzle-orm'
import { z } from 'zod'
import type { SignedIn } from '../../../../access/actor.js'
import type { MergeRequestSubject } from '../../../../access/merge-requests.js'
import type { ProjectSubject } from '../../../../access/rules.js'
import type { Context, Move } from '../../../../context.js'
import { isOpen } from '../../../../db/conditions.js'
import { mergeRequests, users } from '../../../../db/schema/index.js'
import { conflict, Failure, forbidden } from '../../../../failures.js'
import { RefChanged } from '../../../../git/errors.js'
import type { Oid } from '../../../../git/types.js'
import { enqueue } from '../../../../jobs/enqueue.js'
import { defineJob } from '../../../../jobs/kinds.js'
import { isUnavailable } from '../../../../lib/unavailable.js'
import { actingUser, findVisibleProject } from '../../../identity/acting-users.js'
import { copyCommits } from '../../../repository/object-copies.js'
import { branchProtectionsOf, mayPushTo } from '../../../repository/protection.js'
import { moveRefs } from '../../../repository/push/door.js'
import { quotaRefusal } from '../../../repository/quotas.js'
import { repositoryOf, signatureOf } from '../../../repository/repositories.js'
import { headsOf, type MergeRequestRefs, selectMergeRequestRefs } from '../versions/refs.js'
import { methodNotAllowed } from './merge.js'

/** The most commits that a rebase replays. */
const MAX_COMMITS = 1_000

/**
 * Starts to rebase a merge request onto the head of its target. The result is a new head or `merge_error`.
 * `skip_ci`: no CI runs for it, as for a push with `ci.skip` (CI-263).
 */
export async function startRebase(
  ctx: Context,
  caller: SignedIn,
  { request, ...target }: MergeRequestSubject,
  { skip_ci }: { skip_ci?: boolean | undefined } = {},
): Promise<void> {
  if (request.state !== 'opened') throw methodNotAllowed()
  const source = request.source_project_id === null ? null : await findVisibleProject(ctx, caller, request.source_project_id)
  if (!source || !mayPushTo(source, await branchProtectionsOf(ctx, source.project.id), request.source_branch)) throw forbidden()
  // a rebase brings the target's commits into the source (SEC-43)
  if (source.project.id !== target.project.id && !target.can('download_code')) throw forbidden()
  await ctx.db.transaction(async (tx) => {
    const [row] = await tx
      .update(mergeRequests)
      .set({ rebase_user_id: caller.user.id, merge_error: null })
      .where(and(eq(mergeRequests.id, request.id), isOpen, isNull(mergeRequests.rebase_user_id)))
      .returning({ id: mergeRequests.id })
    if (!row) throw conflict('A rebase is already in progress')
    await enqueue(
      tx,
      rebase,
      { merge_request: row.id, ...(skip_ci && { skip_ci }) },
      { key: String(row.id), lane: `rebases of project ${source.project.id}` },
    )
  })
}

/** Restarted from the beginning after a crash; one rebase at a time per source project. */
export const rebase = defineJob({
  kind: 'rebase',
  input: z.object({ merge_request: z.int(), skip_ci: z.boolean().optional() }),
  run: (ctx: Context, { merge_request, skip_ci }) => runRebase(ctx, merge_request, skip_ci),
  priority: 'high',
})

async function runRebase(ctx: Context, id: number, skipsCi: boolean | undefined): Promise<void> {
  const [[pending], [request], [requester]] = await Promise.all([
    ctx.db.write
      .select({ id: mergeRequests.id })
      .from(mergeRequests)
      .where(and(eq(mergeRequests.id, id), isNotNull(mergeRequests.rebase_user_id))),
    selectMergeRequestRefs(ctx.db.write, and(eq(mergeRequests.id, id), isOpen)),
    ctx.db.write
      .select({ user: users })
      .from(mergeRequests)
      .innerJoin(users, eq(users.id, mergeRequests.rebase_user_id))
      .where(and(eq(mergeRequests.id, id), eq(users.state, 'active'))),
  ])
  if (!pending) return
  const caller = requester && actingUser(requester.user)
  let mergeError: string | null = 'The rebase was not possible'
  try {
    const source = caller && request?.source_project_id ? await findVisibleProject(ctx, caller, request.source_project_id) : null
    if (caller && request && source) mergeError = await rebaseOnto(ctx, caller, source, { ...request, skip_ci: skipsCi })
  } catch (error) {
    if (error instanceof Failure) mergeError = error.message
    else if (error instanceof RefChanged) mergeError = 'The source branch was changed meanwhile'
    // `rebase_user_id` stays set, so the job retries
    else if (isUnavailable(error)) throw error
    else ctx.log.error({ err: error, merge_request: id }, 'a rebase failed')
  }
  await ctx.db.write.update(mergeRequests).set({ rebase_user_id: null, merge_error: mergeError }).where(eq(mergeRequests.id, id))
}

/**
 * Rebases as `git rebase` does: merge commits and commits that become empty are dropped, those that were empty before
 * stay. Returns an error message, or null.
 */
async function rebaseOnto(
  ctx: Context,
  caller: SignedIn,
  source: ProjectSubject,
  request: MergeRequestRefs & Pick<Move, 'skip_ci'>,
): Promise<string | null> {
  const { head, start } = await headsOf(ctx, request)
  if (!head || !start) return 'A branch is missing'
  const repository = repositoryOf(ctx, source.project)
  const quotaError = await quotaRefusal(ctx, repository)
  if (quotaError) return quotaError
  if (source.project.id !== request.project_id) {
    const target = { storage: request.storage, id: request.project_id, kind: 'project' } as const
    if (
      !(await copyCommits(ctx, caller.user.id, target, { ...target, storage: source.project.storage, id: source.project.id }, { commits: [start] }))
    )
      return 'The target branch may not be read'
  }
  if (await repository.isAncestor(start, head)) return null
  const { oids, total } = await repository.range([start], head, MAX_COMMITS)
  if (total > MAX_COMMITS) return 'There are too many commits'
  const committer = signatureOf(ctx, caller)
  let onto: Oid = start
  for (const oid of oids.reverse()) {
    const commit = await repository.commit(oid)
    if (!commit || commit.parents.length > 1) continue
    const pick = await repository.draftPick({
      commit: commit.oid,
      onto,
      author: commit.author,
      committer,
      message: commit.message,
      keepEmpty: true,
    })
    if ('commit' in pick) onto = pick.commit
    else if (pick.refusal === 'conflict') return `Rebase failed: commit ${commit.oid.slice(0, 8)} conflicts with the target branch`
  }
  if (onto === start) return 'Rebase failed: the target branch has all changes already'
  await moveRefs(ctx, source, caller.user.id, [{ ref: `refs/heads/${request.source_branch}`, old: head, new: onto, skip_ci: request.skip_ci }])
  return null
}
