import { and, eq, inArray, or, sql } from 'drizzle-orm'
import type { Context, Move, PushEvent } from '../../../../context.js'
import { commitAsynchronously } from '../../../../db/asynchronous-commit.js'
import { isOpen } from '../../../../db/conditions.js'
import { mergeRequestCommits, mergeRequests, notes, users } from '../../../../db/schema/index.js'
import { statement } from '../../../../db/statement.js'
import { type GitRepository, type Oid, type RefUpdate, ZERO } from '../../../../git/types.js'
import { titleOf } from '../../../../rules/commit-title.js'
import { isDraft } from '../../../../rules/draft.js'
import { requestPipeline } from '../../../ci/merge-requests/run.js'
import { actingUser, findVisibleProject } from '../../../identity/acting-users.js'
import { actAs } from '../../../outbox/acting.js'
import { mergeChecks, promptMergeChecks } from '../merging/checks.js'
import { POST_MERGE_CHECK_DELAY_MS, postMerge } from '../merging/post-merge.js'
import { NOT_DEFERRED } from '../merging/states.js'
import { finishTodosOf, markAccepted, markClosed, markMergedByPush } from '../merging/transitions.js'
import { closeIssuesOf } from '../writing/closing-issues.js'
import { authorMayReadSource } from './make.js'
import { type MergeRequestRefs, selectMergeRequestRefs } from './refs.js'
import { updatePushedVersions } from './update.js'

const HEADS = 'refs/heads/'
/** The most commits of one push whose titles are read, and that are looked up in merge requests. */
const MAX_TITLES = 100
const MAX_COMMITS = 10_000
/** The most merge requests of a branch, the newest, that one push makes pipelines of. */
const MAX_PIPELINES = 20

const selectRequestsOfBranches = statement('open merge requests of branches', (db) =>
  selectMergeRequestRefs(
    db,
    and(
      isOpen,
      or(
        and(
          eq(mergeRequests.source_project_id, sql.placeholder('project')),
          sql`${mergeRequests.source_branch} = any(${sql.placeholder('branches')}::text[])`,
        ),
        and(
          eq(mergeRequests.project_id, sql.placeholder('project')),
          sql`${mergeRequests.target_branch} = any(${sql.placeholder('branches')}::text[])`,
        ),
      ),
    ),
  ),
)

/**
 * Updates merge requests after a push: the one whose merge it completes, those that it merges, and the open ones of its
 * branches (MR-70 to MR-76, PU-2 to PU-4).
 */
export async function updateMergeRequestsOnPush(ctx: Context, event: PushEvent): Promise<void> {
  const { merge, moves, actor } = event
  if (merge) {
    await markAccepted(ctx, merge, moves[0]?.new as Oid, await actor())
    event.enqueue(postMerge, { merge_request: merge.request }, { key: String(merge.request), delay: POST_MERGE_CHECK_DELAY_MS })
  }
  await onBranchMoves(ctx, event)
}

async function onBranchMoves(ctx: Context, event: PushEvent): Promise<void> {
  const { projectId, moves } = event
  const byBranch = new Map(moves.filter(({ ref }) => ref.startsWith(HEADS)).map((move) => [move.ref.slice(HEADS.length), move]))
  if (byBranch.size === 0) return
  const requests = await selectRequestsOfBranches(ctx.db, null).execute({ project: projectId, branches: [...byBranch.keys()] })
  if (requests.length === 0) return
  const repository = await event.repository()
  if (!repository) return
  const actorId = await event.actor()
  const ofTarget = requests.filter(({ project_id, target_branch }) => project_id === projectId && byBranch.has(target_branch))
  const merged = new Set<number>()
  for (const [branch, move] of byBranch) {
    const group = ofTarget.filter(({ target_branch }) => target_branch === branch)
    for (const id of await findMergedByPush(ctx, repository, group, move, actorId)) merged.add(id)
  }
  const isStillOpen = (request: MergeRequestRefs) => !merged.has(request.id)
  const ofSource = requests.filter(
    (request) => isStillOpen(request) && request.source_project_id === projectId && byBranch.has(request.source_branch),
  )
  for (const [branch, move] of byBranch) {
    const group = ofSource.filter(({ source_branch }) => source_branch === branch)
    if (group.length > 0) await onSourceMoved(ctx, { ...event, repository, actorId }, group, move)
  }
  for (const [branch, move] of byBranch) {
    const group = ofTarget.filter((request) => isStillOpen(request) && request.target_branch === branch)
    if (group.length === 0) continue
    await onTargetMoved(ctx, repository, projectId, group, move)
    event.enqueue(mergeChecks, { project: projectId }, { key: String(projectId) })
  }
}

/**
 * Marks merge requests merged whose heads the target now contains; versions without commits do not count (MR-73, PU-3).
 */
async function findMergedByPush(
  ctx: Context,
  repository: GitRepository,
  group: MergeRequestRefs[],
  move: RefUpdate,
  actorId: number | null,
): Promise<number[]> {
  const candidates = group.filter(({ sha, commits }) => sha !== null && commits > 0)
  if (candidates.length === 0 || move.new === ZERO) return []
  const contained = await repository.merged(
    candidates.map(({ sha }) => sha as string),
    move.new,
  )
  const found = candidates.filter((_, at) => contained[at])
  const ids = found.map(({ id }) => id)
  const ended = await markMergedByPush(ctx, ids, actorId)
  await closeIssuesOfMerged(
    ctx,
    ended.map(({ id }) => id),
    actorId,
  )
  return ids
}

/** Closes the issues of merge requests that a push has merged, as after an acceptance (IS-22). */
async function closeIssuesOfMerged(ctx: Context, ids: number[], actorId: number | null): Promise<void> {
  if (ids.length === 0 || actorId === null) return
  const [requests, [user]] = await Promise.all([
    ctx.db.write.select().from(mergeRequests).where(inArray(mergeRequests.id, ids)).orderBy(mergeRequests.id),
    ctx.db.write.select().from(users).where(eq(users.id, actorId)),
  ])
  const caller = user && actingUser(user)
  const subject = caller && requests[0] ? await findVisibleProject(ctx, caller, requests[0].project_id) : null
  if (caller && subject) for (const request of requests) await closeIssuesOf(ctx, caller, subject, request)
}

async function onSourceMoved(
  ctx: Context,
  { repository, actorId, enqueue }: { repository: GitRepository; actorId: number | null; enqueue: PushEvent['enqueue'] },
  group: MergeRequestRefs[],
  move: Move,
): Promise<void> {
  const ids = group.map(({ id }) => id)
  if (move.new === ZERO) {
    await ctx.db.transaction((tx) => markClosed(ctx, tx, ids, actorId, `the source branch \`${group[0]?.source_branch}\` was deleted`))
    return
  }
  const now = ctx.now()
  const { titles, total } = await pushedCommits(repository, move)
  const tracking = new Set<number>()
  for (const request of group) if (await authorMayReadSource(ctx, request)) tracking.add(request.id)
  const becomingWip = titles.some(marksWorkInProgress) ? group.filter(({ id, title }) => tracking.has(id) && !isDraft(title)).map(({ id }) => id) : []
  await ctx.db.transaction(async (tx) => {
    await Promise.all([commitAsynchronously(tx), actAs(tx, actorId)])
    const deferred = await tx
      .update(mergeRequests)
      .set({ ...NOT_DEFERRED, should_remove_source_branch: null })
      .where(and(inArray(mergeRequests.id, ids), isOpen, mergeRequests.merge_when_pipeline_succeeds))
      .returning({ id: mergeRequests.id })
    if (becomingWip.length > 0)
      await tx
        .update(mergeRequests)
        .set({ title: sql`'WIP: ' || ${mergeRequests.title}`, updated_at: now })
        .where(and(inArray(mergeRequests.id, becomingWip), isOpen))
    if (actorId === null) return
    await finishTodosOf(tx, group, actorId, now)
    const notesOf = (id: number) => [
      ...(total > 0 && tracking.has(id) ? [`added ${total} ${total === 1 ? 'commit' : 'commits'}`] : []),
      ...(becomingWip.includes(id) ? ['marked as a **Work In Progress**'] : []),
      ...(deferred.some((one) => one.id === id) ? ['canceled the automatic merge'] : []),
    ]
    const added = group.flatMap(({ id, project_id, author_id: author }) =>
      notesOf(id).map((note) => ({ note, noteable_id: id, project_id, author_id: tracking.has(id) ? actorId : author })),
    )
    const shared = { noteable_type: 'MergeRequest' as const, system: true, created_at: now, updated_at: now }
    if (added.length > 0) await tx.insert(notes).values(added.map((each) => ({ ...each, ...shared })))
  })
  const unchecked = await updatePushedVersions(ctx, ids, actorId)
  if (unchecked.length > 0) enqueue(promptMergeChecks, { merge_requests: unchecked })
  // in a branch pushed without CI no merge request gets a pipeline either (PO-9)
  if (actorId !== null && !move.skip_ci && !move.without_ci)
    for (const id of ids.slice(-MAX_PIPELINES)) enqueue(requestPipeline, { merge_request: id, user: actorId })
}

/**
 * The titles of the newest commits that a push added to a branch, and the number of all added commits. For a new
 * branch, commits of the default branch do not count.
 */
async function pushedCommits(repository: GitRepository, { ref, old, new: to }: RefUpdate): Promise<{ titles: string[]; total: number }> {
  const main = await repository.headBranch()
  const before = old !== ZERO ? old : main === null || ref === HEADS + main ? null : await repository.ref(HEADS + main)
  const known = before && (await repository.commit(before)) ? [before] : []
  const { oids, total } = await repository.range(known, to, MAX_TITLES)
  const commits = await repository.commits(oids)
  return { titles: commits.flatMap((commit) => (commit ? [titleOf(commit.message)] : [])), total }
}

/** Whether a commit's title makes merge requests of the branch work in progress (MR-76). */
const marksWorkInProgress = (title: string) => title === 'WIP' || /^(?:\[WIP\] |WIP: |WIP )/.test(title) || /fixup! |squash! /.test(title)

/**
 * Makes all merge requests into the branch unchecked and records which need a new version, in one statement; a job does
 * the rest (MR-72).
 */
async function onTargetMoved(ctx: Context, repository: GitRepository, projectId: number, group: MergeRequestRefs[], move: RefUpdate): Promise<void> {
  const ids = group.map(({ id }) => id)
  const known = move.old !== ZERO && move.new !== ZERO && (await repository.commit(move.old)) !== null
  const forced = known && !(await repository.isAncestor(move.old, move.new))
  const pushed = known ? (await repository.range([move.old], move.new, MAX_COMMITS)).oids : []
  const containsPushedCommit = sql`exists (select 1 from ${mergeRequestCommits} c where c.project_id = ${projectId}
    and c.merge_request_id = ${mergeRequests.id} and c.sha = any(${`{${pushed.join(',')}}`}::text[]))`
  await ctx.db.transaction(async (tx) => {
    await commitAsynchronously(tx)
    await tx
      .update(mergeRequests)
      .set({
        merge_status: 'unchecked',
        merge_checks: sql`${mergeRequests.merge_checks} + 1`,
        version_due: sql`${mergeRequests.version_due} or ${forced || containsPushedCommit}`,
      })
      .where(and(inArray(mergeRequests.id, ids), isOpen))
  })
}
