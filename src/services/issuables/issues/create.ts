import type { SQL } from 'drizzle-orm'
import type { SignedIn } from '../../../access/actor.js'
import type { ProjectSubject } from '../../../access/rules.js'
import type { Context } from '../../../context.js'
import type { Transaction } from '../../../db/client.js'
import { onlyRow } from '../../../db/only-row.js'
import { issues } from '../../../db/schema/index.js'
import { unlessUniqueViolation } from '../../../db/taken.js'
import { invalidRecord } from '../../../failures.js'
import { mentionsIn, recordCrossReferences, thingsMentioned } from '../../activity/cross-references.js'
import { recordEvent } from '../../activity/events.js'
import { actAs } from '../../core/acting.js'
import { nextIid, takeIid } from '../../core/iids.js'
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
  const insert = async (tx: Transaction) => {
    const [made] = await Promise.all([insertIssue(ctx, tx, caller, subject, { ...given, title, description }), actAs(tx, caller.user.id)])
    await recordCrossReferences(tx, { type: 'Issue', project_id: subject.project.id, id: made, sha: null }, mentioned, caller.user.id, ctx.now())
    await alongside?.(tx)
    return made
  }
  const id = await unlessUniqueViolation(() => ctx.db.transaction(insert), taken)
  return loadIssue(ctx, caller, id)
}

const taken = () => invalidRecord({ iid: ['has already been taken'] })

async function insertIssue(
  ctx: Context,
  tx: Transaction,
  caller: SignedIn,
  subject: ProjectSubject,
  given: NewIssue & { description: string },
): Promise<number> {
  const { project } = subject
  const { id: author_id } = caller.user
  const manages = subject.can('manage_issue')
  const admins = subject.can('admin_issue')
  const now = ctx.now()
  const created_at = (admins && given.created_at) || now
  const wanted: Partial<NewIssue> = manages ? given : {}
  const { labelIds, ...assigned } = await newAttributes(tx, subject, wanted, assignable, now)
  const chosen = admins ? given.iid : undefined
  if (chosen !== undefined && !(await takeIid(tx, project.id, 'issue', chosen))) throw taken()
  const values = {
    project_id: project.id,
    iid: chosen ?? (await nextIid(tx, project.id, 'issue')),
    title: given.title,
    ...(await descriptionColumns(ctx, given.description)),
    author_id,
    ...assigned,
    confidential: given.confidential ?? false,
    due_date: wanted.due_date ?? null,
    created_at,
    updated_at: created_at,
  }
  const { id } = onlyRow(await tx.insert(issues).values(values).returning({ id: issues.id }))
  const target = { type: 'Issue' as const, id, project_id: project.id }
  await recordUserAgent(ctx, tx, caller, { issue_id: id })
  const readers = (who: SQL) => readersAmong(tx, project, values, who)
  await followCreation(ctx, tx, caller, { target, assignee_id: assigned.assignee_id, labelIds, text: textOf(given), readers })
  const { confidential } = values
  await recordEvent(tx, { project_id: project.id, author_id, action: 'created', target_type: 'Issue', target_id: id, created_at: now, confidential })
  await updateIssueCounts(tx, project.id, null, { state: 'opened', confidential })
  return id
}
