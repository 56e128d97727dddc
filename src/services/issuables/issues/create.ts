import type { SQL } from 'drizzle-orm'
import type { SignedIn } from '../../../access/actor.js'
import type { IssueTies } from '../../../access/can.js'
import type { ProjectSubject } from '../../../access/rules.js'
import type { Context } from '../../../context.js'
import type { Transaction } from '../../../db/client.js'
import { onlyRow } from '../../../db/only-row.js'
import { issues } from '../../../db/schema/index.js'
import { unlessUniqueViolation } from '../../../db/taken.js'
import { invalidRecord } from '../../../failures.js'
import { allEnded } from '../../../lib/async/all-ended.js'
import { mentionsIn, recordCrossReferences, thingsMentioned } from '../../activity/cross-references.js'
import { recordEvent } from '../../activity/events.js'
import { actAs } from '../../core/acting.js'
import { lastIid, nextIid, takeIid } from '../../core/iids.js'
import { recordUserAgent } from '../../identity/user-agents.js'
import { checkTexts } from '../texts.js'
import { descriptionColumns, followCreation, type NewIssuable, newAttributes, textOf } from '../writing.js'
import { assignable, updateIssueCounts } from './attributes.js'
import { type IssueRecord, loadIssue } from './list.js'
import { readersAmong } from './readers.js'

export interface NewIssue extends NewIssuable {
  confidential?: boolean | undefined
  due_date?: string | null | undefined
  iid?: number | undefined
  created_at?: Date | undefined
}

/**
 * Creates an issue. Attributes that the caller's role does not cover are ignored, not refused (IS-5, IS-17, IS-18).
 * `alongside` runs in the same transaction.
 */
export async function createIssue(
  ctx: Context,
  caller: SignedIn,
  subject: ProjectSubject,
  given: NewIssue,
  alongside?: (tx: Transaction) => Promise<void>,
): Promise<IssueRecord> {
  const { title = '', description = '' } = checkTexts({ ...given, labels: [given.labels] })
  const mentioned = await thingsMentioned(ctx, caller, subject, await mentionsIn(ctx, textOf({ title, description })))
  const checked = { ...given, title, description }
  const insert = async (tx: Transaction) => {
    const [made] = await allEnded([insertIssue(ctx, tx, caller, subject, checked), actAs(tx, caller.user.id)])
    await allEnded([
      follow(ctx, tx, caller, checked, made),
      recordCrossReferences(tx, { type: 'Issue', project_id: subject.project.id, id: made.id, sha: null }, mentioned, caller.user.id, ctx.now()),
    ])
    await alongside?.(tx)
    return made.id
  }
  const id = await unlessUniqueViolation(() => ctx.db.transaction(insert), taken)
  return loadIssue(ctx, caller, id)
}

const taken = () => invalidRecord({ iid: ['has already been taken'] })

/** The row of a new issue, as far as what follows needs it. */
interface Made {
  id: number
  project: ProjectSubject['project']
  ties: IssueTies
  labelIds: number[]
}

async function insertIssue(
  ctx: Context,
  tx: Transaction,
  caller: SignedIn,
  subject: ProjectSubject,
  given: NewIssue & { title: string; description: string },
): Promise<Made> {
  const { project } = subject
  const manages = subject.can('manage_issue')
  const admins = subject.can('admin_issue')
  const now = ctx.now()
  const created_at = (admins && given.created_at) || now
  const wanted: Partial<NewIssue> = manages ? given : {}
  const { labelIds, ...assigned } = await newAttributes(tx, subject, wanted, assignable, now)
  const chosen = admins ? given.iid : undefined
  if (chosen !== undefined && !(await takeIid(tx, project.id, 'issue', chosen))) throw taken()
  const ties = { author_id: caller.user.id, assignee_id: assigned.assignee_id, confidential: given.confidential ?? false }
  const values = {
    project_id: project.id,
    iid: lastIid(project.id, 'issue'),
    title: given.title,
    ...(await descriptionColumns(ctx, given.description)),
    ...assigned,
    ...ties,
    due_date: wanted.due_date ?? null,
    created_at,
    updated_at: created_at,
  }
  const numbered = chosen === undefined ? nextIid(tx, project.id, 'issue') : chosen
  // the row is sent right after its number, without waiting for it
  const [, rows] = await allEnded([numbered, tx.insert(issues).values(values).returning({ id: issues.id })])
  return { id: onlyRow(rows).id, project, ties, labelIds }
}

/** What follows the row, all sent at once. */
async function follow(ctx: Context, tx: Transaction, caller: SignedIn, given: NewIssue & { title: string }, { id, project, ties, labelIds }: Made) {
  const { author_id, assignee_id, confidential } = ties
  const target = { type: 'Issue' as const, id, project_id: project.id }
  const readers = (who: SQL) => readersAmong(tx, project, ties, who)
  const event = { project_id: project.id, author_id, target_type: 'Issue', target_id: id, created_at: ctx.now(), confidential } as const
  await allEnded([
    recordUserAgent(ctx, tx, caller, { issue_id: id }),
    followCreation(ctx, tx, caller, { target, assignee_id, labelIds, text: textOf(given), readers }),
    recordEvent(tx, { ...event, action: 'created' }),
    updateIssueCounts(tx, project.id, null, { state: 'opened', confidential }),
  ])
}
