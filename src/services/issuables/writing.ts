import type { SQL } from 'drizzle-orm'
import type { SignedIn } from '../../access/actor.js'
import type { ProjectSubject } from '../../access/rules.js'
import type { Context } from '../../context.js'
import type { Transaction } from '../../db/client.js'
import { allEnded } from '../../lib/async/all-ended.js'
import { sameButForTicks, tasksIn } from '../../lib/text/references.js'
import { recordEvent } from '../activity/events.js'
import { recordMentions } from '../activity/mentions.js'
import type { Target } from '../activity/subscriptions.js'
import { writeSystemNotes } from '../activity/system-notes.js'
import { createTodos } from '../activity/todos.js'
import { assignLabels, type LabelChanges } from './assigned-labels.js'
import { labelIdsOf } from './labels.js'
import { usableMilestone } from './milestones.js'

/** What a caller gives of a new issue or merge request. */
export interface NewIssuable {
  title: string
  description?: string | null | undefined
  /** The first who may be assigned is. */
  assignee_ids?: number[] | undefined
  milestone_id?: number | undefined
  labels?: string[] | undefined
}

/** What a caller may change of either. */
export interface IssuableChanges extends LabelChanges {
  title?: string | undefined
  description?: string | null | undefined
  /** The first who may be assigned is; nobody when all are 0 or the list is empty. */
  assignee_ids?: number[] | undefined
  /** 0 clears. */
  milestone_id?: number | undefined
  discussion_locked?: boolean | undefined
}

/** The columns of both that are written here. */
interface Columns {
  title: string
  description: string
  task_count: number
  task_completed_count: number
  assignee_id: number | null
  milestone_id: number | null
  discussion_locked: boolean | null
}

interface Row extends Columns {
  state: string
}

/** The first of these users who could see a thing of the project assigned to them. */
type Assignable = (tx: Transaction, subject: ProjectSubject, userIds: number[]) => Promise<number | null>

/** Of the users that a condition selects, those who see the thing. */
type Readers = (who: SQL) => Promise<number[]>

/** The text whose mentions count. */
export const textOf = ({ title, description }: { title?: string | undefined; description?: string | null | undefined }) =>
  `${description ?? ''}\n\n${title?.trim() ?? ''}`

/** A description, and the number of tasks in it. */
export async function descriptionColumns(
  { slices }: Context,
  description: string,
): Promise<Pick<Columns, 'description' | 'task_count' | 'task_completed_count'>> {
  const { count, completed } = await tasksIn(slices, description)
  return { description, task_count: count, task_completed_count: completed }
}

/** Assignee, milestone and labels of a new thing; missing labels are created where the caller may. */
export async function newAttributes(
  tx: Transaction,
  subject: ProjectSubject,
  { assignee_ids = [], milestone_id, labels = [] }: Partial<NewIssuable>,
  assignable: Assignable,
  now: Date,
): Promise<Pick<Columns, 'assignee_id' | 'milestone_id'> & { labelIds: number[] }> {
  const [assignee_id, milestone, labelIds] = await allEnded([
    assignable(tx, subject, assignee_ids),
    milestone_id ? usableMilestone(tx, subject, milestone_id) : null,
    labelIdsOf(tx, subject, labels, subject.can('manage_label'), now),
  ])
  return { assignee_id, milestone_id: milestone?.id ?? null, labelIds }
}

/** The texts that change. */
export const changedTexts = async (ctx: Context, { title, description }: IssuableChanges): Promise<Partial<Columns>> => ({
  ...(title !== undefined && { title }),
  ...(description !== undefined && (await descriptionColumns(ctx, description ?? ''))),
})

/** The attributes that change and that need a role on the project. */
export async function changedAttributes(
  tx: Transaction,
  subject: ProjectSubject,
  { discussion_locked, milestone_id, assignee_ids }: IssuableChanges,
  assignable: Assignable,
): Promise<Partial<Columns>> {
  const wanted: Partial<Columns> = {}
  if (discussion_locked !== undefined) wanted.discussion_locked = discussion_locked
  if (milestone_id !== undefined) wanted.milestone_id = milestone_id === 0 ? null : ((await usableMilestone(tx, subject, milestone_id))?.id ?? null)
  if (assignee_ids !== undefined) {
    const assignee_id = await assignable(tx, subject, assignee_ids)
    // a user who cannot be assigned leaves the assignee unchanged (MR-44)
    if (assignee_id !== null || assignee_ids.every((id) => id === 0)) wanted.assignee_id = assignee_id
  }
  return wanted
}

/** The columns whose values differ from those of the row. */
export const differing = <T extends object>(before: T, wanted: Partial<T>): Partial<T> =>
  Object.fromEntries(Object.entries(wanted).filter(([key, value]) => value !== before[key as keyof T])) as Partial<T>

/** The system notes on changed texts and a changed state (NT-6); `how` says what closed it. */
export async function notesOnTexts({ slices }: Context, before: Row, { title, description, state }: Partial<Row>, how = ''): Promise<string[]> {
  const lines: string[] = []
  if (title !== undefined) lines.push('changed the title')
  if (description !== undefined && !(await sameButForTicks(slices, description, before.description))) lines.push('changed the description')
  if (state !== undefined) lines.push(state === 'closed' ? `closed${how}` : 'reopened')
  return lines
}

/** The system notes on assignee and milestone. They name neither, because not every reader may see the name. */
export function notesOnAttributes({ assignee_id, milestone_id }: Partial<Columns>): string[] {
  const lines: string[] = []
  if (assignee_id !== undefined) lines.push(assignee_id === null ? 'removed the assignee' : 'changed the assignee')
  if (milestone_id !== undefined) lines.push(milestone_id === null ? 'removed the milestone' : 'changed the milestone')
  return lines
}

interface Created {
  target: Target
  assignee_id: number | null
  labelIds: number[]
  text: string
  readers: Readers
}

/** What follows the row of a new thing: its labels, the assignee's todo, and what its text mentions. */
export async function followCreation(
  ctx: Context,
  tx: Transaction,
  caller: SignedIn,
  { target, assignee_id, labelIds, text, readers }: Created,
): Promise<void> {
  await allEnded([
    assignLabels(tx, target, labelIds),
    tellAssignee(tx, caller, target, assignee_id, ctx.now()),
    recordMentions(ctx, tx, caller, { target, note_id: null, text }, readers),
  ])
}

interface Changed {
  target: Target
  before: Row
  after: Row
  notes: string[]
  readers: Readers
  /** Whether its event is kept from users who do not see the thing. */
  confidential?: boolean
}

/** What follows a changed row: system notes, the new assignee's todo, new mentions, and the event of a new state. */
export async function followChange(
  ctx: Context,
  tx: Transaction,
  caller: SignedIn,
  { target, before, after, notes, readers, confidential = false }: Changed,
  now: Date,
): Promise<void> {
  const { id: author_id } = caller.user
  await writeSystemNotes(tx, target, author_id, notes, now)
  if (after.assignee_id !== before.assignee_id) await tellAssignee(tx, caller, target, after.assignee_id, now)
  if (after.title !== before.title || after.description !== before.description)
    await recordMentions(ctx, tx, caller, { target, note_id: null, text: textOf(after), before: textOf(before) }, readers)
  if (after.state === before.state) return
  const action = after.state === 'closed' ? 'closed' : 'reopened'
  const about = { project_id: target.project_id, target_type: target.type, target_id: target.id }
  await recordEvent(tx, { ...about, author_id, action, created_at: now, confidential })
}

/** Users get no todo for what they assign to themselves (TO-5). */
async function tellAssignee(tx: Transaction, { user }: SignedIn, target: Target, assigneeId: number | null, now: Date): Promise<void> {
  if (assigneeId !== null && assigneeId !== user.id)
    await createTodos(tx, { users: [assigneeId], author_id: user.id, target, action: 'assigned' }, now)
}
