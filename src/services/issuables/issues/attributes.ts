import { eq, sql } from 'drizzle-orm'
import type { IssueRelations } from '../../../access/can.js'
import type { ProjectSubject } from '../../../access/rules.js'
import type { Transaction } from '../../../db/client.js'
import { projects } from '../../../db/schema/index.js'
import { permittedAmong } from '../readers.js'
import { readersAmong } from './readers.js'

/** Those of these users who could see an issue of the project if it were assigned to them. */
export const assignableAmong = (tx: Pick<Transaction, 'execute'>, { project }: ProjectSubject, userIds: readonly number[]): Promise<number[]> =>
  permittedAmong(userIds, (candidates) => readersAmong(tx, project, UNRELATED, candidates))

const UNRELATED: IssueRelations = { confidential: false, author_id: 0, assignee_ids: [] }

/** The columns that decide which of a project's counts of open issues includes an issue. */
interface CountedIssue {
  state: 'opened' | 'closed'
  confidential: boolean
}

/**
 * Updates a project's counts of open issues after a change of one issue. `before` is null for a new issue, `after` for
 * a deleted one.
 */
export async function updateIssueCounts(
  tx: Pick<Transaction, 'update'>,
  projectId: number,
  before: CountedIssue | null,
  after: CountedIssue | null,
): Promise<void> {
  const open = (issue: CountedIssue | null, confidential: boolean) => (issue?.state === 'opened' && issue.confidential === confidential ? 1 : 0)
  const publicDelta = open(after, false) - open(before, false)
  const confidentialDelta = open(after, true) - open(before, true)
  if (publicDelta === 0 && confidentialDelta === 0) return
  await tx
    .update(projects)
    .set({
      open_issues_count: sql`${projects.open_issues_count} + ${publicDelta}`,
      open_confidential_issues_count: sql`${projects.open_confidential_issues_count} + ${confidentialDelta}`,
    })
    .where(eq(projects.id, projectId))
}
