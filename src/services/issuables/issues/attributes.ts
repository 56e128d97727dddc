import { eq, sql } from 'drizzle-orm'
import type { IssueTies } from '../../../access/can.js'
import type { ProjectSubject } from '../../../access/rules.js'
import type { Transaction } from '../../../db/client.js'
import { projects } from '../../../db/schema/index.js'
import { firstAble } from '../readers.js'
import { readersAmong } from './readers.js'

/** The first of these users who could see an issue of the project assigned to them. */
export const assignable = (tx: Pick<Transaction, 'execute'>, { project }: ProjectSubject, userIds: number[]): Promise<number | null> =>
  firstAble(userIds, (who) => readersAmong(tx, project, OPEN, who))

const OPEN: IssueTies = { confidential: false, author_id: 0, assignee_id: null }

/** What decides whether an issue counts as open, and for whom. */
interface Counted {
  state: 'opened' | 'closed'
  confidential: boolean
}

/**
 * Updates the numbers of open issues that projects show, from an issue before and after a change; null: it did not
 * exist, or no longer does.
 */
export async function updateIssueCounts(
  tx: Pick<Transaction, 'update'>,
  projectId: number,
  before: Counted | null,
  after: Counted | null,
): Promise<void> {
  const open = (issue: Counted | null, confidential: boolean) => (issue?.state === 'opened' && issue.confidential === confidential ? 1 : 0)
  const plain = open(after, false) - open(before, false)
  const hidden = open(after, true) - open(before, true)
  if (plain === 0 && hidden === 0) return
  await tx
    .update(projects)
    .set({
      open_issues_count: sql`${projects.open_issues_count} + ${plain}`,
      open_confidential_issues_count: sql`${projects.open_confidential_issues_count} + ${hidden}`,
    })
    .where(eq(projects.id, projectId))
}
