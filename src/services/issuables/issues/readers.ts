import { type SQL, sql } from 'drizzle-orm'
import type { IssueRelations } from '../../../access/can.js'
import type { Project } from '../../../access/rules.js'
import type { Transaction } from '../../../db/client.js'
import { fetchUserIds, idArray, type NumberOrSql, type NumbersOrSql, type ProjectAccess, selectReaders } from '../readers.js'

/** A query of those candidates who see an issue like this one in the project: the reverse of `seesIssue`. */
export const issueReaders = (
  project: ProjectAccess,
  { confidential, author_id, assignee_ids }: { confidential: boolean | SQL; author_id: NumberOrSql; assignee_ids: NumbersOrSql },
  candidates: SQL,
): SQL =>
  selectReaders(
    project,
    ({ level }) => sql`(${confidential}::boolean is false or ${level} >= 20 or u.id = ${author_id} or u.id = any(${idArray(assignee_ids)}))`,
    candidates,
  )

/** Runs that query. */
export const readersAmong = (
  tx: Pick<Transaction, 'execute'>,
  project: Pick<Project, 'id' | 'namespace_id' | 'visibility' | 'issues_access_level'>,
  ties: IssueRelations,
  candidates: SQL,
): Promise<number[]> => fetchUserIds(tx, issueReaders({ ...project, feature: project.issues_access_level }, ties, candidates))
