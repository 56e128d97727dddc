import { eq, type SQL, sql } from 'drizzle-orm'
import { alias, type SelectedFields } from 'drizzle-orm/pg-core'
import type { Context } from '../../../../context.js'
import type { ReadDatabase } from '../../../../db/client.js'
import { decoded } from '../../../../db/decoded.js'
import { mergeRequests, mergeRequestVersions, projects } from '../../../../db/schema/index.js'
import type { GitRepository, RepositoryKey } from '../../../../git/types.js'

const sources = alias(projects, 'source')

/** The columns that operations on the repositories of a merge request need. */
export const mergeRequestRefColumns = {
  id: mergeRequests.id,
  iid: mergeRequests.iid,
  project_id: mergeRequests.project_id,
  author_id: mergeRequests.author_id,
  storage: projects.storage,
  source_project_id: mergeRequests.source_project_id,
  source_storage: sources.storage,
  source_branch: mergeRequests.source_branch,
  target_branch: mergeRequests.target_branch,
  title: mergeRequests.title,
  sha: mergeRequests.sha,
  version_id: mergeRequests.version_id,
  version_due: mergeRequests.version_due,
  /** The number of commits of the newest version. */
  commits: decoded(sql<number>`coalesce(${mergeRequestVersions.commits_count}, 0)`, Number),
  merge_checks: mergeRequests.merge_checks,
}

/** Merge requests with their source and target repositories. */
export const selectMergeRequestRefs = (db: Pick<ReadDatabase, 'select'>, where: SQL | undefined) => selectMergeRequestRefsWith(db, {}, where)

/** The same with more columns. */
export const selectMergeRequestRefsWith = <Extra extends SelectedFields>(db: Pick<ReadDatabase, 'select'>, extra: Extra, where: SQL | undefined) =>
  db
    .select({ ...mergeRequestRefColumns, ...extra })
    .from(mergeRequests)
    .innerJoin(projects, eq(projects.id, mergeRequests.project_id))
    .leftJoin(sources, eq(sources.id, mergeRequests.source_project_id))
    .leftJoin(mergeRequestVersions, eq(mergeRequestVersions.id, mergeRequests.version_id))
    .where(where)
    .orderBy(mergeRequests.id)

export type MergeRequestRefs = Awaited<ReturnType<typeof selectMergeRequestRefs>>[number]

type Target = Pick<MergeRequestRefs, 'project_id' | 'storage'>
type Source = Pick<MergeRequestRefs, 'source_project_id' | 'source_storage'>

export const targetKeyOf = ({ project_id, storage }: Target): RepositoryKey => ({ storage, id: project_id, kind: 'project' })

export const targetOf = (ctx: Pick<Context, 'git'>, target: Target): GitRepository => ctx.git.open(targetKeyOf(target))

export function sourceKeyOf({ source_project_id, source_storage }: Source): RepositoryKey | null {
  return source_project_id === null || source_storage === null ? null : { storage: source_storage, id: source_project_id, kind: 'project' }
}

/** The current heads of the branches of a merge request; null where a branch does not exist. */
export async function headsOf(ctx: Context, request: MergeRequestRefs): Promise<{ head: string | null; start: string | null }> {
  const key = sourceKeyOf(request)
  const headIn = (repository: GitRepository, branch: string) => (branch.includes('\0') ? null : repository.ref(`refs/heads/${branch}`))
  const [head, start] = await Promise.all([
    key && headIn(ctx.git.open(key), request.source_branch),
    headIn(targetOf(ctx, request), request.target_branch),
  ])
  return { head, start }
}
