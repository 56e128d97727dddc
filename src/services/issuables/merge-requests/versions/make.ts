import { and, inArray, sql } from 'drizzle-orm'
import type { Context } from '../../../../context.js'
import { commitAsynchronously } from '../../../../db/asynchronous-commit.js'
import type { Transaction } from '../../../../db/client.js'
import { isOpen } from '../../../../db/conditions.js'
import { mergeRequestCommits, mergeRequests, mergeRequestVersions, notes } from '../../../../db/schema/index.js'
import type { Diff, GitRepository, Oid } from '../../../../git/types.js'
import { mapConcurrently } from '../../../../lib/async/concurrency.js'
import { headPipelineOf } from '../../../ci/merge-requests/heads.js'
import { actAs } from '../../../outbox/acting.js'
import { DIFF_LIMITS } from '../../../repository/diff-limits.js'
import { copyCommits } from '../../../repository/object-copies.js'
import { mayReadCode } from '../../../repository/reading.js'
import { type MergeStatus, mergeStatus } from '../merging/merge-status.js'
import { updateIssueLinksSoon } from '../writing/issue-links.js'
import { setVersionRefs } from './keep-around.js'
import { headsOf, type MergeRequestRefs, selectMergeRequestRefs, sourceKeyOf, targetKeyOf, targetOf } from './refs.js'

/** The most commits of a version that are indexed by their id. */
const MAX_COMMITS = 10_000
const CONCURRENCY = 3

/** A version of a merge request that is not stored yet. */
export interface VersionDraft {
  request: MergeRequestRefs
  heads: { head: Oid | null; start: Oid | null }
  /** Null: no new version, because a branch is missing or the current version is up to date. */
  version: { head: Oid; start: Oid; base: Oid | null; state: 'collected' | 'empty' | 'overflow'; size: string; commits: number; oids: Oid[] } | null
  /** Null: not checked. */
  status: MergeStatus | null
  /** The source has moved on, but the author may not read it any more: the merge request keeps its version (MR-70). */
  sourceUnreadable: boolean
  /** Its texts are known to contain no references. */
  withoutReferences?: boolean
}

export interface VersionOptions {
  /** Makes a version even if the newest one has the same head. */
  always?: boolean
  /** Computes the merge status; otherwise it stays `unchecked`. */
  checkMerge?: boolean
  /** Caused by a push, so that `updated_at` changes (MR-55). */
  byPush?: boolean
  /** The user who pushed, if known. */
  actorId?: number | null
}

/**
 * Makes new versions of open merge requests from the current heads of their branches: objects, keep-around refs, rows
 * (SEC-158). Returns the ids of those whose merge status is still unchecked.
 */
export async function makeVersions(ctx: Context, ids: number[], options: VersionOptions): Promise<number[]> {
  if (ids.length === 0) return []
  const groups = new Map<string, number[]>()
  for (const { id, source_project_id, source_branch } of await selectMergeRequestRefs(ctx.db.write, and(inArray(mergeRequests.id, ids), isOpen))) {
    const key = `${source_project_id} ${source_branch}`
    groups.set(key, [...(groups.get(key) ?? []), id])
  }
  // one at a time for each source, so that of two pushes the later one wins
  const uncheckedIds = await Promise.all(
    [...groups].map(([key, group]) => ctx.process.mutex.run(`versions ${key}`, () => makeGroup(ctx, group, options))),
  )
  return uncheckedIds.flat()
}

/** The most attempts for sources that keep moving. Each push makes its own version as well. */
const MAX_ATTEMPTS = 10

async function makeGroup(ctx: Context, ids: number[], options: VersionOptions, attempt = 1): Promise<number[]> {
  const requests = await selectMergeRequestRefs(ctx.db.write, and(inArray(mergeRequests.id, ids), isOpen))
  const inputs = await mapConcurrently(CONCURRENCY, requests, (request) => prepareInput(ctx, request, options))
  const [drafts] = await Promise.all([mapConcurrently(CONCURRENCY, inputs, (one) => draft(ctx, one, options)), keepCommits(ctx, inputs)])
  const unchecked = await writeDrafts(ctx, drafts, options)
  const moved = await findMovedSources(ctx, inputs)
  if (moved.length === 0 || attempt === MAX_ATTEMPTS) return unchecked
  return [...new Set([...unchecked, ...(await makeGroup(ctx, moved, { ...options, always: false }, attempt + 1))])]
}

/**
 * The merge requests whose source has moved while their versions were made. Another process may have written a newer
 * version before this one wrote an older one, so the last writer must check again.
 */
async function findMovedSources(ctx: Context, inputs: VersionInput[]): Promise<number[]> {
  const withCommits = inputs.filter(({ commits }) => commits !== null)
  const now = await mapConcurrently(CONCURRENCY, withCommits, ({ request }) => headsOf(ctx, request))
  return withCommits.filter(({ commits }, i) => now[i]?.head && now[i].head !== commits?.head).map(({ request }) => request.id)
}

/**
 * The first version of a merge request that is about to be created, with all objects available. Its row is needed for
 * `setFirstVersionRefs` and `recordVersions`.
 */
export const draftFirstVersion = async (ctx: Context, request: MergeRequestRefs): Promise<VersionDraft> => {
  const options = { always: true, checkMerge: true }
  return draft(ctx, await prepareInput(ctx, request, options), options)
}

/** Sets the refs that protect the commits of a draft. */
export const setFirstVersionRefs = (ctx: Context, { request, version }: VersionDraft): Promise<void> =>
  setVersionRefs(ctx, version ? [{ request, ...version }] : [])

/**
 * What a version is made from, with all objects in the target's repository. `commits` is null if a branch is missing or
 * the current version is up to date.
 */
interface VersionInput {
  request: MergeRequestRefs
  heads: VersionDraft['heads']
  commits: { head: Oid; start: Oid } | null
  sourceUnreadable: boolean
}

/** The system note on a merge request whose author may no longer read the source. */
const UNREADABLE_SOURCE_NOTE = 'stopped following the source branch, which the author may no longer read'

/**
 * Copies the head of the source into the target's repository; false if the author may not read the source. It is the
 * author who exposes these commits to the target, no matter who pushes, reopens or merges, so the author's current
 * access counts (SEC-43, MR-70). Commits of earlier versions are there already.
 */
async function copyHead(ctx: Context, request: MergeRequestRefs, head: Oid): Promise<boolean> {
  const source = sourceKeyOf(request)
  if (!source || source.id === request.project_id || head === request.sha) return true
  return copyCommits(ctx, request.author_id, source, targetKeyOf(request), { commits: [head], have: request.sha ? [request.sha] : [] })
}

/** Whether the author may read the source, so that new commits of the source branch become versions. */
export const authorMayReadSource = async (ctx: Context, { author_id, project_id, source_project_id }: MergeRequestRefs): Promise<boolean> =>
  source_project_id === project_id || (source_project_id !== null && (await mayReadCode(ctx, author_id, source_project_id)))

async function prepareInput(ctx: Context, request: MergeRequestRefs, { always }: VersionOptions): Promise<VersionInput> {
  const heads = await headsOf(ctx, request)
  const { head, start } = heads
  const upToDate = !always && !request.version_due && request.version_id !== null && request.sha === head
  if (!head || !start || upToDate) return { request, heads, commits: null, sourceUnreadable: false }
  const copied = await copyHead(ctx, request, head)
  return { request, heads, commits: copied ? { head, start } : null, sourceUnreadable: !copied }
}

async function keepCommits(ctx: Context, inputs: VersionInput[]): Promise<void> {
  const withCommits = inputs.flatMap(({ request, commits }) => (commits ? [{ request, ...commits }] : []))
  for (const project of new Set(withCommits.map(({ request }) => request.project_id)))
    await setVersionRefs(
      ctx,
      withCommits.filter(({ request }) => request.project_id === project),
    )
}

async function draft(
  ctx: Context,
  { request, heads, commits, sourceUnreadable }: VersionInput,
  { checkMerge }: VersionOptions,
): Promise<VersionDraft> {
  if (sourceUnreadable) return { request, heads, version: null, status: { status: 'cannot_be_merged', behind: false }, sourceUnreadable }
  const [status, version] = await Promise.all([
    checkMerge ? mergeStatus(ctx, request, heads) : null,
    commits && versionOf(targetOf(ctx, request), commits),
  ])
  return { request, heads, version, status, sourceUnreadable }
}

/** Computes a version from these two commits; both must be in the repository. */
export async function versionOf(
  repository: GitRepository,
  { head, start }: { head: Oid; start: Oid },
): Promise<NonNullable<VersionDraft['version']>> {
  const [base, range] = await Promise.all([repository.mergeBase(start, head), repository.range([start], head, MAX_COMMITS)])
  // without a common history all commits and files are new (MR-93)
  const diff = range.total === 0 ? { files: [], truncated: false, similarity: {}, blobs: {} } : await repository.diff(base, head, DIFF_LIMITS)
  return { head, start, base, ...sizeOf(diff), commits: range.total, oids: range.oids }
}

/** The state and `changes_count` of a version (MR-7, MR-91). */
function sizeOf({ files, truncated }: Diff): { state: 'collected' | 'empty' | 'overflow'; size: string } {
  if (truncated) return { state: 'overflow', size: `${files.length}+` }
  return { state: files.length === 0 ? 'empty' : 'collected', size: `${files.length}` }
}

/** Writes the rows of all drafts in one transaction. */
async function writeDrafts(ctx: Context, drafts: VersionDraft[], options: VersionOptions): Promise<number[]> {
  if (drafts.length === 0) return []
  const unchecked = await ctx.db.transaction(async (tx) => {
    // a power loss may undo this commit, but the merge request is then still unchecked, or the intent of the push still
    // exists, so the version is made again
    await Promise.all([commitAsynchronously(tx), actAs(tx, options.actorId ?? null)])
    await noteUnreadableSources(tx, drafts, ctx.now())
    return recordVersions(tx, drafts, options, ctx.now())
  })
  for (const project of new Set(drafts.filter(({ version }) => version).map(({ request }) => request.project_id))) updateIssueLinksSoon(ctx, project)
  return unchecked
}

/**
 * Adds a system note to merge requests whose author may no longer read the source, once per version. The note's author
 * is the author of the merge request: a user who pushes to a source that may be hidden must not be named here.
 */
async function noteUnreadableSources(tx: Transaction, drafts: VersionDraft[], at: Date): Promise<void> {
  const ids = drafts.filter(({ sourceUnreadable }) => sourceUnreadable).map(({ request }) => request.id)
  if (ids.length === 0) return
  const now = sql`${at.toISOString()}::timestamptz`
  await tx.execute(sql`with noted as (
      insert into ${notes} (project_id, noteable_type, noteable_id, author_id, note, system, created_at, updated_at)
      select r.project_id, 'MergeRequest', r.id, r.author_id, ${UNREADABLE_SOURCE_NOTE}, true, ${now}, ${now} from ${mergeRequests} r
      left join ${mergeRequestVersions} v on v.id = r.version_id
      where r.id = any(${sql.param(ids)}::bigint[]) and r.state = 'opened' and not exists (select 1 from ${notes} n
        where n.noteable_type = 'MergeRequest' and n.noteable_id = r.id and n.system and n.note = ${UNREADABLE_SOURCE_NOTE} and n.created_at >= coalesce(v.created_at, r.created_at))
      order by r.id returning noteable_id
    ) update ${mergeRequests} r set updated_at = ${now} from noted where r.id = noted.noteable_id`)
}

/**
 * Writes drafts in one statement. Returns the ids of those that are unchecked, also because they became so meanwhile.
 */
export async function recordVersions(tx: Transaction, drafts: VersionDraft[], { byPush }: VersionOptions, at: Date): Promise<number[]> {
  const now = at.toISOString()
  const rows = drafts.map(({ request, version, status, sourceUnreadable, withoutReferences }) => ({
    request: request.id,
    checks: request.merge_checks,
    status: status?.status ?? 'unchecked',
    behind: status?.behind ?? false,
    has_version: version !== null,
    source_unreadable: sourceUnreadable,
    without_references: withoutReferences === true,
    ...(version && {
      start: version.start,
      base: version.base,
      head: version.head,
      state: version.state,
      size: version.size,
      commits: version.commits,
    }),
  }))
  const commits = drafts.flatMap(({ request, version }) =>
    version && version.oids.length > 0 ? [{ request: request.id, oids: version.oids.join(' ') }] : [],
  )
  // in SQL: the builder has neither record sets of JSON nor `insert … select` without the ids that Postgres makes
  const { rows: written } = await tx.execute<{ id: string; project_id: string; merge_status: string }>(sql`with drafts as (
      select d.* from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as d (request bigint, checks int, status text, behind boolean, has_version boolean, source_unreadable boolean,
        without_references boolean,
        start text, base text, head text, state text, size text, commits bigint)
    ), versions as (
      insert into ${mergeRequestVersions}
        (project_id, merge_request_id, start_commit_sha, base_commit_sha, head_commit_sha, state, real_size, commits_count, created_at)
      select r.project_id, r.id, d.start, d.base, d.head, d.state, d.size, d.commits, ${now}::timestamptz
      from drafts d join ${mergeRequests} r on r.id = d.request where d.has_version and r.state = 'opened' order by r.id
      returning id, merge_request_id
    ), commits as (
      insert into ${mergeRequestCommits} (project_id, sha, merge_request_id)
      select r.project_id, c.sha, r.id from jsonb_to_recordset(${JSON.stringify(commits)}::jsonb) as d (request bigint, oids text)
      join ${mergeRequests} r on r.id = d.request cross join lateral unnest(string_to_array(d.oids, ' ')) as c (sha)
      on conflict do nothing
    )
    update ${mergeRequests} r set
      version_id = coalesce(v.id, r.version_id), version_due = r.version_due and v.id is null,
      sha = coalesce(d.head, r.sha), changes_count = coalesce(d.size, r.changes_count),
      head_pipeline_id = case when v.id is null then r.head_pipeline_id else ${headPipelineOf(sql`d.head`)} end,
      links_due = not d.without_references and (r.links_due or v.id is not null),
      merge_status = case when r.merge_checks = d.checks then d.status else 'unchecked' end, merge_checks = r.merge_checks + 1,
      behind_target = d.behind,
      updated_at = case when ${byPush === true} and not d.source_unreadable then ${now}::timestamptz else r.updated_at end
    from drafts d left join versions v on v.merge_request_id = d.request
    where r.id = d.request and r.state = 'opened'
    returning r.id, r.merge_status`)
  return written.filter(({ merge_status }) => merge_status === 'unchecked').map(({ id }) => Number(id))
}
