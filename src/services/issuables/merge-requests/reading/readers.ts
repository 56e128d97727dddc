import { type SQL, sql } from 'drizzle-orm'
import type { MergeRequestTies } from '../../../../access/can.js'
import type { Project } from '../../../../access/rules.js'
import type { Transaction } from '../../../../db/client.js'
import { idsAmong, peopleSql, type ReadersOf, type Value } from '../../readers.js'

/**
 * Of the users selected by `who`, those who may read a merge request like this one in the project: the reverse of
 * `seesMergeRequest`.
 */
export const requestReaders = (project: ReadersOf, { author_id, assignee_id }: { author_id: Value; assignee_id: Value | null }, who: SQL): SQL =>
  peopleSql(project, ({ level, open }) => sql`(${open} or ${level} >= 20 or u.id = ${author_id} or u.id = ${assignee_id ?? 0})`, who)

type Featured = Pick<Project, 'id' | 'namespace_id' | 'visibility' | 'merge_requests_access_level' | 'repository_access_level'>

/** The level of the switch: the feature is off together with the repository (AC-10). */
export const requestsFeature = (project: Pick<Featured, 'merge_requests_access_level' | 'repository_access_level'>): number =>
  Math.min(project.merge_requests_access_level, project.repository_access_level)

/** Their ids. */
export const readersAmong = (tx: Pick<Transaction, 'execute'>, project: Featured, ties: MergeRequestTies, who: SQL): Promise<number[]> =>
  idsAmong(tx, requestReaders({ ...project, feature: requestsFeature(project) }, ties, who))
