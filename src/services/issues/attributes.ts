import { eq, sql } from 'drizzle-orm'
import type { IssueTies } from '../../access/can.js'
import type { ProjectSubject } from '../../access/rules.js'
import type { Transaction } from '../../db/client.js'
import { projects } from '../../db/schema/index.js'
import { invalidRecord } from '../../failures.js'
import { lengthOf, tooLong } from '../../lib/path.js'
import { labelListFaults } from '../labels.js'
import { readersAmong } from './readers.js'

/** SEC-63. */
const MAX_TITLE = 255
export const MAX_DESCRIPTION = 1_000_000

/** Texts of an issue as they may be stored; the title is trimmed. */
export function checkTexts(given: { title?: string | undefined; description?: string | null | undefined; labels?: (string[] | undefined)[] }) {
  const faults: Record<string, string[]> = {}
  const title = given.title?.trim()
  if (title === '') faults['title'] = ["can't be blank"]
  if (title && lengthOf(title) > MAX_TITLE) faults['title'] = [tooLong(MAX_TITLE)]
  if (given.description && lengthOf(given.description) > MAX_DESCRIPTION) faults['description'] = [tooLong(MAX_DESCRIPTION)]
  const inLabels = (given.labels ?? []).flatMap((list) => labelListFaults(list ?? []))
  if (inLabels.length > 0) faults['labels'] = [...new Set(inLabels)]
  if (Object.keys(faults).length > 0) throw invalidRecord(faults)
  return { title, description: given.description === undefined ? undefined : (given.description ?? '') }
}

/** The first of these people who could see an issue of the project if it were his; the others are as good as unknown (IS-18, SEC-115). */
export async function assignable(tx: Transaction, { project }: ProjectSubject, userIds: number[]): Promise<number | null> {
  const wanted = userIds.filter((id) => id > 0)
  if (wanted.length === 0) return null
  const open: IssueTies = { confidential: false, author_id: 0, assignee_id: null }
  const list = sql.join(
    wanted.map((id) => sql`${id}`),
    sql`, `,
  )
  const able = new Set(await readersAmong(tx, project, open, sql`u.id in (${list})`))
  return wanted.find((id) => able.has(id)) ?? null
}

/** Whether an issue counts as open, and for whom. */
interface Counted {
  state: 'opened' | 'closed'
  confidential: boolean
}

/** Keeps the numbers of open issues that projects show, by what an issue was and is; null: it was or is not there. */
export async function recount(tx: Pick<Transaction, 'update'>, projectId: number, before: Counted | null, after: Counted | null): Promise<void> {
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
