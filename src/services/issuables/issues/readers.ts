import { type SQL, sql } from 'drizzle-orm'
import type { IssueTies } from '../../../access/can.js'
import type { Project } from '../../../access/rules.js'
import type { Transaction } from '../../../db/client.js'
import { idsAmong, peopleSql, type ReadersOf, type Value } from '../readers.js'

/** Of the users selected by `who`, those who see an issue like this one in the project: the reverse of `seesIssue`. */
export const issueReaders = (
  project: ReadersOf,
  { confidential, author_id, assignee_id }: { confidential: boolean | SQL; author_id: Value; assignee_id: Value | null },
  who: SQL,
): SQL =>
  peopleSql(
    project,
    ({ level }) => sql`(${confidential}::boolean is false or ${level} >= 20 or u.id = ${author_id} or u.id = ${assignee_id ?? 0})`,
    who,
  )

/** Their ids. */
export const readersAmong = (
  tx: Pick<Transaction, 'execute'>,
  project: Pick<Project, 'id' | 'namespace_id' | 'visibility' | 'issues_access_level'>,
  ties: IssueTies,
  who: SQL,
): Promise<number[]> => idsAmong(tx, issueReaders({ ...project, feature: project.issues_access_level }, ties, who))
