import { type SQL, sql } from 'drizzle-orm'
import type { MergeRequestRelations } from '../../../../access/can.js'
import type { Project } from '../../../../access/rules.js'
import type { Transaction } from '../../../../db/client.js'
import { fetchUserIds, idArray, type NumberOrSql, type NumbersOrSql, type ProjectAccess, selectReaders } from '../../readers.js'

/**
 * A query of those candidates who may read a merge request like this one in the project: the reverse of
 * `seesMergeRequest`.
 */
export const requestReaders = (
  project: ProjectAccess,
  { author_id, assignee_ids }: { author_id: NumberOrSql; assignee_ids: NumbersOrSql },
  candidates: SQL,
): SQL =>
  selectReaders(
    project,
    ({ level, open }) => sql`(${open} or ${level} >= 20 or u.id = ${author_id} or u.id = any(${idArray(assignee_ids)}))`,
    candidates,
  )

type Featured = Pick<Project, 'id' | 'namespace_id' | 'visibility' | 'merge_requests_access_level' | 'repository_access_level'>

/** The access level of merge requests, which is never above that of the repository (AC-10). */
export const requestsFeature = (project: Pick<Featured, 'merge_requests_access_level' | 'repository_access_level'>): number =>
  Math.min(project.merge_requests_access_level, project.repository_access_level)

/** Runs that query. */
export const readersAmong = (tx: Pick<Transaction, 'execute'>, project: Featured, ties: MergeRequestRelations, candidates: SQL): Promise<number[]> =>
  fetchUserIds(tx, requestReaders({ ...project, feature: requestsFeature(project) }, ties, candidates))
