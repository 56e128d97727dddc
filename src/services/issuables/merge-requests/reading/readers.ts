import { type SQL, sql } from 'drizzle-orm'
import type { MergeRequestTies } from '../../../../access/can.js'
import type { Project } from '../../../../access/rules.js'
import type { Transaction } from '../../../../db/client.js'
import { peopleAmong } from '../../readers.js'

/**
 * Of the users selected by `who`, those who may read a merge request like this one in the project: the reverse of
 * `seesMergeRequest`.
 */
export const readersAmong = (
  tx: Pick<Transaction, 'execute'>,
  project: Pick<Project, 'id' | 'namespace_id' | 'visibility' | 'merge_requests_access_level' | 'repository_access_level'>,
  { author_id, assignee_id }: MergeRequestTies,
  who: SQL,
): Promise<number[]> =>
  peopleAmong(
    tx,
    project,
    Math.min(project.merge_requests_access_level, project.repository_access_level),
    ({ level, open }) => sql`(${open} or ${level} >= 20 or u.id = ${author_id} or u.id = ${assignee_id ?? 0})`,
    who,
  )
