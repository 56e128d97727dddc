import { eq } from 'drizzle-orm'
import type { SignedIn } from '../../../access/actor.js'
import type { IssueSubject } from '../../../access/issues.js'
import type { Context } from '../../../context.js'
import type { Transaction } from '../../../db/client.js'
import { issues } from '../../../db/schema/index.js'
import { forbidden, notFound } from '../../../failures.js'
import { sameButForTicks, tasksIn } from '../../../lib/text/references.js'
import { mentionsIn, recordCrossReferences, thingsMentioned } from '../../activity/cross-references.js'
import { recordEvent } from '../../activity/events.js'
import { followMentions } from '../../activity/mentions.js'
import { writeSystemNotes } from '../../activity/system-notes.js'
import { createTodos, finishTodos } from '../../activity/todos.js'
import { changeLabels } from '../assigned-labels.js'
import { usableMilestone } from '../milestones.js'
import { checkTexts } from '../texts.js'
import { assignable, updateIssueCounts } from './attributes.js'
import { type IssueRecord, loadIssue } from './list.js'
import { readersAmong } from './readers.js'

type Issue = typeof issues.$inferSelect

export interface IssueChanges {
  title?: string | undefined
  description?: string | null | undefined
  /** The first who may be assigned is; nobody when all are 0 or the list is empty. */
  assignee_ids?: number[] | undefined
  /** 0 clears. */
  milestone_id?: number | undefined
  labels?: string[] | undefined
  add_labels?: string[] | undefined
  remove_labels?: string[] | undefined
  due_date?: string | null | undefined
  confidential?: boolean | undefined
  discussion_locked?: boolean | undefined
  state_event?: 'close' | 'reopen' | undefined
  updated_at?: Date | undefined
}

const STATE_EVENTS = {
  close: { from: 'opened', to: 'closed', told: 'closed' },
  reopen: { from: 'closed', to: 'opened', told: 'reopened' },
} as const

/**
 * Changes an issue in one transaction, with its system notes and events (IS-6, IS-18, IS-19). Attributes that the
 * caller's role does not cover are ignored.
 */
export async function updateIssue(ctx: Context, caller: SignedIn, subject: IssueSubject, given: IssueChanges): Promise<IssueRecord> {
  const texts = checkTexts({ ...given, labels: [given.labels, given.add_labels] })
  const { project, issue } = subject
  const mentioned = await thingsMentioned(ctx, caller, subject, await mentionsIn(ctx, `${given.description ?? ''}\n\n${given.title ?? ''}`))
  await ctx.db.transaction(async (tx) => {
    await change(ctx, tx, caller, subject, { ...given, ...texts })
    await recordCrossReferences(tx, { type: 'Issue', project_id: project.id, id: issue.id, sha: null }, mentioned, caller.user.id, ctx.now())
  })
  return loadIssue(ctx, caller, subject.issue.id)
}

/** Closes an issue that a commit or a merge closes; `how` is noted. Nothing happens when it is closed already. */
export async function closeIssue(ctx: Context, caller: SignedIn, subject: IssueSubject, how: string): Promise<void> {
  await ctx.db.transaction((tx) => change(ctx, tx, caller, subject, { state_event: 'close' }, how))
}

async function change(ctx: Context, tx: Transaction, caller: SignedIn, subject: IssueSubject, given: IssueChanges, how?: string) {
  const { project } = subject
  const [before] = await tx.select().from(issues).where(eq(issues.id, subject.issue.id)).for('update')
  if (!before) throw notFound()
  const now = ctx.now()
  const { id: callerId } = caller.user
  const target = { type: 'Issue' as const, id: before.id, project_id: project.id }
  const values = await changedColumns(tx, caller, subject, before, given, now)
  const worn = subject.can('manage_issue') ? await changeLabels(tx, subject, target, given, now) : []
  const told = [...(await notesOf(before, values, how)), ...worn]
  const stamped = subject.can('admin_issue') ? given.updated_at : undefined
  if (Object.keys(values).length === 0 && worn.length === 0) {
    if (stamped) await tx.update(issues).set({ updated_at: stamped }).where(eq(issues.id, before.id))
    return
  }
  const [row] = await tx
    .update(issues)
    .set({ ...values, updated_at: stamped ?? now })
    .where(eq(issues.id, before.id))
    .returning()
  const after = row as Issue
  await writeSystemNotes(tx, target, callerId, told, now)
  if (after.assignee_id !== null && after.assignee_id !== before.assignee_id && after.assignee_id !== callerId)
    await createTodos(tx, { users: [after.assignee_id], author_id: callerId, target, action: 'assigned' }, now)
  if (values.title !== undefined || values.description !== undefined) {
    const readers = (who: Parameters<typeof readersAmong>[3]) => readersAmong(tx, project, after, who)
    const text = (issue: Issue) => `${issue.description}\n\n${issue.title}`
    await followMentions(tx, caller, { target, note_id: null, text: text(after), before: text(before) }, readers, now)
  }
  // ticking a task does not finish the user's todos (TO-6)
  const ticked = told.length === 0 && (await sameButForTicks(before.description, after.description))
  if (!ticked) await finishTodos(tx, callerId, target, now)
  if (after.state !== before.state) {
    const action = after.state === 'closed' ? 'closed' : 'reopened'
    const event = { project_id: project.id, author_id: callerId, action, target_type: 'Issue', target_id: before.id, created_at: now } as const
    await recordEvent(tx, { ...event, confidential: after.confidential })
  }
  await updateIssueCounts(tx, project.id, before, after)
}

/** The columns that change, with those derived from them. */
async function changedColumns(
  tx: Transaction,
  caller: SignedIn,
  subject: IssueSubject,
  before: Issue,
  given: IssueChanges,
  now: Date,
): Promise<Partial<Issue>> {
  const wanted: Partial<Issue> = {}
  if (given.title !== undefined) wanted.title = given.title
  if (given.description !== undefined) {
    const tasks = await tasksIn(given.description ?? '')
    Object.assign(wanted, { description: given.description ?? '', task_count: tasks.count, task_completed_count: tasks.completed })
  }
  if (given.confidential !== undefined) wanted.confidential = given.confidential
  if (subject.can('manage_issue')) Object.assign(wanted, await managed(tx, subject, given))
  const event = given.state_event && STATE_EVENTS[given.state_event]
  if (event && before.state === event.from) {
    const member = subject.level > 0 || caller.user.admin
    if (event.to === 'opened' && before.discussion_locked && !member) throw forbidden()
    Object.assign(
      wanted,
      event.to === 'closed'
        ? { state: 'closed', closed_at: now, closed_by_id: caller.user.id }
        : { state: 'opened', closed_at: null, closed_by_id: null },
    )
  }
  return Object.fromEntries(Object.entries(wanted).filter(([key, value]) => value !== before[key as keyof Issue])) as Partial<Issue>
}

/** Attributes that need a role on the project (row 9 of section 5.1). */
async function managed(tx: Transaction, subject: IssueSubject, given: IssueChanges): Promise<Partial<Issue>> {
  const wanted: Partial<Issue> = {}
  if (given.due_date !== undefined) wanted.due_date = given.due_date
  if (given.discussion_locked !== undefined) wanted.discussion_locked = given.discussion_locked
  if (given.milestone_id !== undefined)
    wanted.milestone_id = given.milestone_id === 0 ? null : ((await usableMilestone(tx, subject, given.milestone_id))?.id ?? null)
  if (given.assignee_ids !== undefined) {
    const assignee = await assignable(tx, subject, given.assignee_ids)
    // a user who cannot be assigned leaves the assignees unchanged (MR-44)
    if (assignee !== null || given.assignee_ids.every((id) => id === 0)) wanted.assignee_id = assignee
  }
  return wanted
}

/** The system notes on the changes (NT-6). Names of what not every reader may see are left out. */
async function notesOf(before: Issue, values: Partial<Issue>, how = ''): Promise<string[]> {
  const told: string[] = []
  if (values.title !== undefined) told.push('changed the title')
  if (values.description !== undefined && !(await sameButForTicks(values.description, before.description))) told.push('changed the description')
  if (values.state !== undefined) told.push(values.state === 'closed' ? `closed${how}` : 'reopened')
  if (values.assignee_id !== undefined) told.push(values.assignee_id === null ? 'removed the assignee' : 'changed the assignee')
  if (values.milestone_id !== undefined) told.push(values.milestone_id === null ? 'removed the milestone' : 'changed the milestone')
  if (values.due_date !== undefined) told.push(values.due_date === null ? 'removed the due date' : `changed the due date to ${values.due_date}`)
  if (values.confidential !== undefined) told.push(values.confidential ? 'made the issue confidential' : 'made the issue visible to everyone')
  if (values.discussion_locked !== undefined) told.push(values.discussion_locked ? 'locked this issue' : 'unlocked this issue')
  return told
}
