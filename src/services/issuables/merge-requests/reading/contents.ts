import { and, desc, eq, sql } from 'drizzle-orm'
import type { ProjectSubject } from '../../../../access/rules.js'
import type { Context } from '../../../../context.js'
import { totalCount } from '../../../../db/decoded.js'
import { type mergeRequests, mergeRequestVersions } from '../../../../db/schema/index.js'
import { statement } from '../../../../db/statement.js'
import { notFound } from '../../../../failures.js'
import type { Commit, Diff, FileDiff, GitRepository, Oid } from '../../../../git/types.js'
import type { Keyset } from '../../../../lib/keyset.js'
import { afterRow, limits, type Page, type Paging, pageFrom, slice } from '../../../core/page.js'
import { DIFF_LIMITS } from '../../../repository/diff-limits.js'
import type { CommitRange } from '../../../repository/patches.js'
import { repositoryOf } from '../../../repository/repositories.js'

type Project = ProjectSubject['project']
type Request = typeof mergeRequests.$inferSelect
export type Version = typeof mergeRequestVersions.$inferSelect

/** The most commits of a version that are shown at once, and whose messages are searched for references, newest first. */
export const MAX_COMMITS = 10_000
/** The most commits that a message lists, newest first. */
const MAX_LISTED = 1_000
/** Commits whose messages are in memory at a time. */
const BATCH_SIZE = 1_000

const selectVersion = statement('version of a merge request', (db) =>
  db
    .select()
    .from(mergeRequestVersions)
    .where(
      and(
        eq(mergeRequestVersions.project_id, sql.placeholder('project')),
        eq(mergeRequestVersions.merge_request_id, sql.placeholder('request')),
        eq(mergeRequestVersions.id, sql.placeholder('version')),
      ),
    ),
)

async function newestVersion(ctx: Context, request: Pick<Request, 'id' | 'project_id' | 'version_id'>): Promise<Version | null> {
  if (request.version_id === null) return null
  const [version] = await selectVersion(ctx.db, null).execute({ project: request.project_id, request: request.id, version: request.version_id })
  return version ?? null
}

type RequestKey = Pick<Request, 'id' | 'project_id' | 'version_id'>

/** Whether source and target have no common history (MR-93). */
export const isUnrelated = async (ctx: Context, request: RequestKey): Promise<boolean> =>
  (await newestVersion(ctx, request))?.base_commit_sha === null

/** The commits of a version. */
async function commitsOf(repository: GitRepository, version: Version | null, { skip, limit }: { skip: number; limit: number }) {
  if (!version || version.commits_count === 0) return { commits: [], total: 0 }
  return repository.log({ from: [version.head_commit_sha], exclude: [version.start_commit_sha], skip, limit })
}

async function diffsOf(repository: GitRepository, version: Version | null): Promise<FileDiff[]> {
  if (!version || version.commits_count === 0) return []
  return (await repository.diff(version.base_commit_sha, version.head_commit_sha, DIFF_LIMITS)).files
}

/** The commits of the newest version, newest first (MR-87). */
export async function listRequestCommits(ctx: Context, project: Project, request: Request, paging: Paging): Promise<Page<Commit>> {
  const { offset: skip, limit } = limits(paging)
  const { commits, total } = await commitsOf(repositoryOf(ctx, project), await newestVersion(ctx, request), { skip, limit })
  return { items: commits, total }
}

/** The most commits that are listed as new. */
const MAX_NEW = 20

/** The commits of the newest version that a former head did not have, newest first (WB-95). */
export async function commitsSince(ctx: Context, project: Project, request: RequestKey, head: Oid): Promise<Page<Commit>> {
  const version = await newestVersion(ctx, request)
  if (!version) return { items: [], total: 0 }
  const range = { from: [version.head_commit_sha], exclude: [version.start_commit_sha, head] }
  const { commits, total } = await repositoryOf(ctx, project).log({ ...range, skip: 0, limit: MAX_NEW })
  return { items: commits, total }
}

/** The messages of the commits of the newest version, newest first, to find references (MR-82). */
export async function* commitMessagesOf(ctx: Context, project: Pick<Project, 'id' | 'storage'>, request: RequestKey): AsyncGenerator<string> {
  const version = await newestVersion(ctx, request)
  for (let skip = 0, total = 1; skip < Math.min(total, MAX_COMMITS); skip += BATCH_SIZE) {
    const read = await commitsOf(repositoryOf(ctx, project), version, { skip, limit: BATCH_SIZE })
    for (const { message } of read.commits) yield message
    total = read.total
  }
}

/** The commits of the newest version, newest first, for a message that lists them. */
export async function commitsToList(ctx: Context, project: Pick<Project, 'id' | 'storage'>, request: RequestKey): Promise<Commit[]> {
  const { commits } = await commitsOf(repositoryOf(ctx, project), await newestVersion(ctx, request), { skip: 0, limit: MAX_LISTED })
  return commits
}

/** The changes of the newest version, one element for each file (MR-88). */
export const changesOfRequest = async (ctx: Context, project: Project, request: Request): Promise<FileDiff[]> =>
  diffsOf(repositoryOf(ctx, project), await newestVersion(ctx, request))

/** The commits between which the newest version has its changes; null if there are none. */
export async function rangeOfRequest(ctx: Context, request: Request): Promise<CommitRange | null> {
  const version = await newestVersion(ctx, request)
  if (!version || version.commits_count === 0) return null
  return { from: version.base_commit_sha, to: version.head_commit_sha }
}

/** Whether the newest version changes more files than are shown: its `changes_count` then ends in `+` (MR-7). */
export const hasTruncatedChanges = ({ changes_count }: Pick<Request, 'changes_count'>): boolean => changes_count.endsWith('+')

/** A page of the changes. */
export const listRequestDiffs = async (ctx: Context, project: Project, request: Request, paging: Paging): Promise<Page<FileDiff>> =>
  slice(await changesOfRequest(ctx, project, request), paging)

const selectVersions = statement('versions of a merge request', (db) =>
  db
    .select({ version: mergeRequestVersions, total: totalCount() })
    .from(mergeRequestVersions)
    .where(
      and(
        eq(mergeRequestVersions.project_id, sql.placeholder('project')),
        eq(mergeRequestVersions.merge_request_id, sql.placeholder('request')),
        afterRow(mergeRequestVersions.id),
      ),
    )
    .orderBy(desc(mergeRequestVersions.id))
    .limit(sql.placeholder('limit'))
    .offset(sql.placeholder('offset')),
)

/** The versions of a merge request, newest first (MR-90). */
export async function listVersions(ctx: Context, { id, project_id }: Request, paging: Paging & Keyset): Promise<Page<Version>> {
  const page = await pageFrom(selectVersions(ctx.db, null), { project: project_id, request: id }, paging)
  return { ...page, items: page.items.map(({ version }) => version) }
}

export interface VersionDetails {
  version: Version
  commits: Commit[]
  diffs: FileDiff[]
}

/** One version with its commits and diffs (MR-92). */
export async function getVersion(ctx: Context, project: Project, request: Request, id: number): Promise<VersionDetails> {
  const [version] = await selectVersion(ctx.db, null).execute({ project: request.project_id, request: request.id, version: id })
  if (!version) throw notFound()
  const repository = repositoryOf(ctx, project)
  const [{ commits }, diffs] = await Promise.all([commitsOf(repository, version, { skip: 0, limit: MAX_COMMITS }), diffsOf(repository, version)])
  return { version, commits, diffs }
}

/** The most versions that a page offers. */
const MAX_VERSIONS = 100

/** Which changes of a merge request are wanted: those of a version, since an earlier one, or of one commit. */
export interface WantedChanges {
  version?: number | undefined
  /** The head of an earlier version. */
  since?: string | undefined
  commit?: string | undefined
}

/** The changes of a merge request between two commits. */
export interface ShownChanges {
  /** The newest first. */
  versions: Version[]
  version: Version | null
  since: Version | null
  commit: Commit | null
  from: Oid | null
  to: Oid | null
  files: FileDiff[]
  truncated: boolean
  similarity: Diff['similarity']
  blobs: Diff['blobs']
}

/** The changes that a page shows (WB-93); 404 for a version or a commit that the merge request does not have. */
export async function shownChanges(ctx: Context, project: Project, request: Request, wanted: WantedChanges): Promise<ShownChanges> {
  const repository = repositoryOf(ctx, project)
  const { items: versions } = await listVersions(ctx, request, { page: 1, per_page: MAX_VERSIONS })
  const version = wanted.version === undefined ? (versions[0] ?? null) : (versions.find(({ id }) => id === wanted.version) ?? null)
  if (wanted.version !== undefined && !version) throw notFound('Version')
  const none = { versions, version, since: null, commit: null, from: null, to: null, files: [], truncated: false, similarity: {}, blobs: {} }
  if (!version) return none
  if (wanted.commit !== undefined) {
    const commit = (await commitsOf(repository, version, { skip: 0, limit: MAX_COMMITS })).commits.find(({ oid }) => oid === wanted.commit)
    if (!commit) throw notFound('Commit')
    const [parent = null] = commit.parents
    return { ...none, commit, from: parent, to: commit.oid, ...(await repository.diff(parent, commit.oid, DIFF_LIMITS)) }
  }
  const since = versions.find((each) => each.id < version.id && each.head_commit_sha === wanted.since) ?? null
  const from = since ? since.head_commit_sha : version.base_commit_sha
  const to = version.head_commit_sha
  if (!since && version.commits_count === 0) return none
  return { ...none, since, from, to, ...(await repository.diff(from, to, DIFF_LIMITS)) }
}
