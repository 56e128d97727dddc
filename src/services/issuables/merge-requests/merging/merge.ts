import { and, eq, getTableColumns, sql } from 'drizzle-orm'
import type { SignedIn } from '../../../../access/actor.js'
import type { ProjectSubject } from '../../../../access/rules.js'
import type { Context } from '../../../../context.js'
import { isOpen } from '../../../../db/conditions.js'
import { type MergeIntent, mergeRequests, pipelines, users } from '../../../../db/schema/index.js'
import { statement } from '../../../../db/statement.js'
import { conflict, Failure, notFound, refused, unauthenticated } from '../../../../failures.js'
import { RefChanged } from '../../../../git/errors.js'
import type { CommitTexts, GitRepository, MergedCommits, Oid, RefUpdate } from '../../../../git/types.js'
import { Unavailable } from '../../../../lib/unavailable.js'
import { isDraft } from '../../../../rules/draft.js'
import { letsMerge, type PipelineState } from '../../../../rules/pipeline-states.js'
import { isSquashed } from '../../../../rules/squash.js'
import { writeSystemNotes } from '../../../activity/system-notes.js'
import { readSettings, type Settings } from '../../../core/settings.js'
import { actingUser } from '../../../identity/acting-users.js'
import { branchProtectionsOf, mayMergeInto } from '../../../repository/protection.js'
import { moveUnderIntent, withBranch } from '../../../repository/push/door.js'
import { recordIntent, releaseIntent } from '../../../repository/push/intents.js'
import { checkQuota } from '../../../repository/quotas.js'
import { signatureOf } from '../../../repository/repositories.js'
import { authorMayReadSource, makeVersions } from '../versions/make.js'
import { headsOf, type MergeRequestRefs, selectMergeRequestRefsWith, sourceKeyOf, targetOf } from '../versions/refs.js'
import { mergeMessage, refuseLongMessage, squashMessage } from './messages.js'

export interface Acceptance {
  merge_commit_message?: string | undefined
  /** Replaces the attribute of the merge request. */
  squash?: boolean | undefined
  squash_commit_message?: string | undefined
  should_remove_source_branch?: boolean | undefined
  merge_when_pipeline_succeeds?: boolean | undefined
  /** With `merge_when_pipeline_succeeds`: the merge is deferred also while there is no pipeline (PO-8). */
  awaits_pipeline?: boolean | undefined
  /** The commit that the source branch must point to. */
  sha?: string | undefined
}

type Request = typeof mergeRequests.$inferSelect

/** The most attempts of a merge whose branches keep moving. */
const MAX_ATTEMPTS = 8

export const methodNotAllowed = () => new Failure('method_not_allowed', { message: 'Method Not Allowed' })
const branchesChanging = () => new Unavailable('The branches are changing too fast')
const cannotBeMerged = () => new Failure('method_not_allowed', { message: 'Branch cannot be merged' })

/**
 * Merges a merge request, with the checks in the order of MR-59 to MR-63, or defers the merge (MR-65). Returns true if
 * it was merged, false if it was deferred, or if the deferral that it resumes has been cancelled. The checks run under
 * the mutex that all writers of the target branch share.
 */
export async function merge(
  ctx: Context,
  caller: SignedIn,
  subject: ProjectSubject,
  { id, target_branch: initialBranch }: Pick<Request, 'id' | 'target_branch'>,
  { resumesDeferred = false, ...given }: Acceptance & { resumesDeferred?: boolean },
): Promise<boolean> {
  for (const message of [given.merge_commit_message, given.squash_commit_message]) refuseLongMessage(message)
  refuseForbiddenSquash(subject, given)
  for (let branch = initialBranch; ; ) {
    const outcome = await withBranch(ctx, subject.project.id, branch, () => mergeInto(ctx, { caller, subject, id, given, resumesDeferred }, branch))
    if (typeof outcome === 'boolean') return outcome
    branch = outcome.newTarget
  }
}

/** A request to merge. */
interface MergeAttempt {
  caller: SignedIn
  /** The target project. */
  subject: ProjectSubject
  id: number
  given: Acceptance
  /** The merge was deferred earlier and is due now. */
  resumesDeferred: boolean
}

type Outcome = boolean | { newTarget: string }

async function mergeInto(ctx: Context, attempt: MergeAttempt, branch: string): Promise<Outcome> {
  for (let tries = 1; ; tries++) {
    const outcome = await tryMerge(ctx, attempt, branch)
    if (outcome !== 'version due' && outcome !== 'branch moved') return outcome
    if (tries === MAX_ATTEMPTS) throw branchesChanging()
    if (outcome === 'version due') await makeVersions(ctx, [attempt.id], {})
  }
}

/**
 * 'version due': the source was just pushed to, and no version records that yet. 'branch moved': the target branch
 * moved while the merge was written.
 */
async function tryMerge(ctx: Context, attempt: MergeAttempt, branch: string): Promise<Outcome | 'version due' | 'branch moved'> {
  const { caller, subject, id, given, resumesDeferred } = attempt
  const [[request], protections, settings] = await Promise.all([
    selectForMerge(ctx.db, null).execute({ id }),
    branchProtectionsOf(ctx, subject.project.id),
    readSettings(ctx),
  ])
  if (!request || request.row.deleted_at) throw notFound()
  if (request.target_branch !== branch) return { newTarget: request.target_branch }
  // the caller must be allowed to merge, and the merge request open and not blocked (MR-59 to MR-61)
  if (!mayMergeInto(subject, protections, branch)) throw unauthenticated()
  if (request.row.state !== 'opened') throw new Failure('not_acceptable', { message: 'Method Not Allowed' })
  if (resumesDeferred && !request.row.merge_when_pipeline_succeeds) return false
  const whenPipelineSucceeds = given.merge_when_pipeline_succeeds === true
  if (isBlocked(subject, request, whenPipelineSucceeds)) throw methodNotAllowed()

  const repository = targetOf(ctx, request)
  const { head, start } = await headsOf(ctx, request)
  if (!head || !start) throw cannotBeMerged()
  if (head !== request.sha) {
    if (!(await authorMayReadSource(ctx, request))) throw cannotBeMerged()
    return 'version due'
  }
  if (await repository.isAncestor(head, start)) throw cannotBeMerged()
  if (subject.project.merge_method !== 'merge' && !(await repository.isAncestor(start, head))) throw cannotBeMerged()
  const mustWait = whenPipelineSucceeds && (given.awaits_pipeline || request.pipeline === 'pending' || request.pipeline === 'running')
  const headDiffers = given.sha !== undefined && given.sha !== head
  if ((mustWait || headDiffers) && !(await repository.canMerge(start, head))) throw cannotBeMerged()
  if (headDiffers) throw conflict('SHA does not match HEAD of source branch')
  if (mustWait) {
    await defer(ctx, caller, request.row, given)
    return false
  }
  await checkQuota(ctx, repository)
  return (await writeMerge(ctx, attempt, { request, repository, settings, head, start })) || 'branch moved'
}

/** A merge request that has passed all checks. */
interface Mergeable {
  request: MergeRequestRefs & { row: Request }
  /** The target's repository. */
  repository: GitRepository
  settings: Settings
  /** The head of the source branch. */
  head: Oid
  /** The head of the target branch. */
  start: Oid
}

/** Writes the merge commit and its intent, then moves the target branch; false if a branch has moved meanwhile. */
async function writeMerge(ctx: Context, { caller, subject, id, given }: MergeAttempt, mergeable: Mergeable): Promise<boolean> {
  const { request, repository, settings, head, start } = mergeable
  const own = signatureOf(ctx, caller)
  const fast_forward = subject.project.merge_method === 'ff'
  const merging = { caller, subject, request: request.row }
  const merge = fast_forward ? null : { author: own, committer: own, message: await mergeMessage(ctx, merging, given.merge_commit_message) }
  const squash = await squashOf(ctx, { caller, subject, given }, mergeable)
  const ref = `refs/heads/${request.target_branch}`
  const actor = { projectId: subject.project.id, actorId: caller.user.id }
  // written concurrently with the objects, but before the ref moves; an intent whose ref never moves has no effect
  const recorded: { intent?: number; merge?: MergeIntent } = {}
  const writeIntent = async (commits: MergedCommits) => {
    const should_remove_source_branch = given.should_remove_source_branch ?? null
    recorded.merge = { request: id, should_remove_source_branch, head, squash: given.squash, squash_commit: commits.squash, fast_forward }
    recorded.intent = await recordIntent(ctx, {
      ...actor,
      door: 'api',
      moves: [{ ref, old: start, new: commits.commit }],
      merge: recorded.merge,
    })
  }
  const drafted = await repository.draftMerge({ into: start, from: head, squash, merge }, writeIntent).catch((error: unknown) => {
    if (recorded.intent !== undefined) releaseIntent(ctx, recorded.intent)
    throw error
  })
  const { intent, merge: mergeIntent } = recorded
  if ('refusal' in drafted || intent === undefined || mergeIntent === undefined) throw cannotBeMerged()
  const move = { ref, old: start, new: drafted.commit }
  try {
    const write = { project: subject.project, actorId: caller.user.id, moves: [move], settings, repository, merge: mergeIntent, intent }
    await moveUnderIntent(ctx, write, () => moveTarget(ctx, repository, request, move, head))
  } catch (error) {
    if (error instanceof RefChanged) return false
    throw error
  }
  return true
}

/** The current row, its refs, and the status of its head pipeline. */
const selectForMerge = statement('merge request to merge', (db) =>
  selectMergeRequestRefsWith(
    db,
    {
      row: getTableColumns(mergeRequests),
      pipeline: sql<PipelineState | null>`(select p.status from ${pipelines} p where p.id = ${mergeRequests.head_pipeline_id})`,
    },
    eq(mergeRequests.id, sql.placeholder('id')),
  ),
)

/** Records a deferred merge, replacing an earlier one (MR-65). */
async function defer(ctx: Context, caller: SignedIn, request: Request, given: Acceptance): Promise<void> {
  const now = ctx.now()
  const message = given.merge_commit_message ?? ''
  const squashMessage = given.squash_commit_message ?? ''
  await ctx.db.transaction(async (tx) => {
    const [row] = await tx
      .update(mergeRequests)
      .set({
        merge_when_pipeline_succeeds: true,
        merge_user_id: caller.user.id,
        merge_commit_message: message.trim() === '' ? null : message,
        squash_commit_message: squashMessage.trim() === '' ? null : squashMessage,
        ...(given.squash !== undefined && { squash: given.squash }),
        should_remove_source_branch: given.should_remove_source_branch ?? null,
        merge_error: null,
        updated_at: now,
      })
      // a push in between cancels it
      .where(and(eq(mergeRequests.id, request.id), isOpen, eq(mergeRequests.sha, request.sha as string)))
      .returning({ id: mergeRequests.id })
    if (!row) throw conflict('SHA does not match HEAD of source branch')
    const target = { type: 'MergeRequest' as const, id: request.id, project_id: request.project_id }
    if (!request.merge_when_pipeline_succeeds)
      await writeSystemNotes(tx, target, caller.user.id, [`enabled an automatic merge when the pipeline for ${request.sha} succeeds`], now)
  })
}

/**
 * Whether a merge is blocked: by work in progress, a required pipeline that has not succeeded, or unresolved
 * discussions (MR-61).
 */
function isBlocked(
  { project }: ProjectSubject,
  { row, pipeline }: { row: Request; pipeline: PipelineState | null },
  whenPipelineSucceeds: boolean,
): boolean {
  if (isDraft(row.title)) return true
  const skippedCounts = project.allow_merge_on_skipped_pipeline
  if (project.only_allow_merge_if_pipeline_succeeds && !whenPipelineSucceeds && !letsMerge(pipeline, { skippedCounts })) return true
  return project.only_allow_merge_if_all_discussions_are_resolved && row.unresolved_discussions_count > 0
}

/**
 * Moves the target only if the source still has the checked head: git compares both under their locks (SEC-112,
 * SEC-113).
 */
async function moveTarget(
  ctx: Pick<Context, 'git'>,
  repository: GitRepository,
  request: MergeRequestRefs,
  move: RefUpdate,
  head: Oid,
): Promise<void> {
  const source = sourceKeyOf(request)
  const expectedSource = { ref: `refs/heads/${request.source_branch}`, old: head, new: head }
  if (!source) throw new RefChanged(expectedSource.ref)
  if (source.id === request.project_id) return repository.updateRefs([move, expectedSource])
  await ctx.git.open(source).withRefLocked(expectedSource.ref, head, () => repository.updateRefs([move]))
}

/** Refuses to squash, or not to, where the project leaves no choice (MR-96). */
function refuseForbiddenSquash({ project }: ProjectSubject, { squash }: Acceptance): void {
  const fixed = { never: false, always: true, default_on: squash, default_off: squash }[project.squash_option]
  if (squash !== undefined && squash !== fixed) throw refused(`squash is not possible: squash_option of the project is ${project.squash_option}`)
}

/**
 * The squashed commit: its author is that of the merge request (MR-96). Null if the project or the merge request says
 * not to squash, or if there is a single commit already and no other message for it.
 */
async function squashOf(
  ctx: Context,
  { caller, subject, given }: Pick<MergeAttempt, 'caller' | 'subject' | 'given'>,
  { request, repository, head }: Mergeable,
): Promise<CommitTexts | null> {
  if (!isSquashed(subject.project, { squash: given.squash ?? request.row.squash })) return null
  const wanted = given.squash_commit_message ?? ''
  if (request.commits < 2 && (wanted.trim() === '' || wanted === (await repository.commit(head))?.message)) return null
  const [author] = await ctx.db.write.select().from(users).where(eq(users.id, request.author_id))
  const committer = signatureOf(ctx, caller)
  return {
    author: author && author.id !== caller.user.id ? signatureOf(ctx, actingUser(author)) : committer,
    committer,
    message: await squashMessage(ctx, { caller, subject, request: request.row }, wanted),
  }
}
