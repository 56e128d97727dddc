import type { SQL } from 'drizzle-orm'
import type { SignedIn } from '../../access/actor.js'
import type { ProjectSubject } from '../../access/rules.js'
import type { Context } from '../../context.js'
import type { Transaction } from '../../db/client.js'
import { settleAll } from '../../lib/async/settle-all.js'
import { sameButForTicks, tasksIn } from '../../rules/references.js'
import { recordEvent } from '../activity/events.js'
import { recordMentions } from '../activity/mentions.js'
import type { Target } from '../activity/subscriptions.js'
import { writeSystemNotes } from '../activity/system-notes.js'
import { createTodos } from '../activity/todos.js'
import { assignLabels, type LabelChanges } from './assigned-labels.js'
import { labelIdsOf } from './labels.js'
import { usableMilestone } from './milestones.js'
import { labelEvents, milestoneEvents, recordResourceEvents } from './resource-events.js'

/** Attributes of a new issue or merge request. */
export interface NewIssuable {
  title: string
  description?: string | null | undefined
  /** Those of these users who can be assigned (MR-620). */
  assignee_ids?: number[] | undefined
  milestone_id?: number | undefined
  labels?: string[] | undefined
}

/** Changes of an issue or merge request. */
export interface IssuableChanges extends LabelChanges {
  title?: string | undefined
  description?: string | null | undefined
  /** Those of these users who can be assigned become the assignees; an empty list or only zeros clear them (MR-620, MR-621). */
  assignee_ids?: number[] | undefined
  /** 0 clears. */
  milestone_id?: number | undefined
  discussion_locked?: boolean | undefined
}

/** Columns that both tables have. */
interface Columns {
  title: string
  description: string
  task_count: number
  task_completed_count: number
  assignee_ids: number[]
  milestone_id: number | null
  discussion_locked: boolean | null
}

interface Row extends Columns {
  state: string
}

/** Those of these users who could see an issuable of the project if it were assigned to them. */
type Assignable = (tx: Transaction, subject: ProjectSubject, userIds: readonly number[]) => Promise<number[]>

/** Of the users that match a condition, the ids of those who see the issuable. */
type Readers = (candidates: SQL) => Promise<number[]>

/** The text in which mentions are looked for. */
export const textOf = ({ title, description }: { title?: string | undefined; description?: string | null | undefined }) =>
  `${description ?? ''}\n\n${title?.trim() ?? ''}`

/** The description with its task counts. */
export async function descriptionColumns(
  { cpu: { slices } }: Context,
  description: string,
): Promise<Pick<Columns, 'description' | 'task_count' | 'task_completed_count'>> {
  const { count, completed } = await tasksIn(slices, description)
  return { description, task_count: count, task_completed_count: completed }
}

/** Assignees, milestone and labels of a new issuable; missing labels are created if the caller may do that. */
export async function newAttributes(
  tx: Transaction,
  subject: ProjectSubject,
  { assignee_ids = [], milestone_id, labels = [] }: Partial<NewIssuable>,
  assignable: Assignable,
  now: Date,
): Promise<Pick<Columns, 'assignee_ids' | 'milestone_id'> & { labelIds: number[] }> {
  const [assigned, milestone, labelIds] = await settleAll([
    assignable(tx, subject, assignee_ids),
    milestone_id ? usableMilestone(tx, subject, milestone_id) : null,
    labelIdsOf(tx, subject, labels, subject.can('manage_label'), now),
  ])
  return { assignee_ids: assigned, milestone_id: milestone?.id ?? null, labelIds }
}

/** The columns of changed texts. */
export const changedTexts = async (ctx: Context, { title, description }: IssuableChanges): Promise<Partial<Columns>> => ({
  ...(title !== undefined && { title }),
  ...(description !== undefined && (await descriptionColumns(ctx, description ?? ''))),
})

/** The columns of changed attributes that need a role on the project. */
export async function changedAttributes(
  tx: Transaction,
  subject: ProjectSubject,
  { discussion_locked, milestone_id, assignee_ids }: IssuableChanges,
  assignable: Assignable,
): Promise<Partial<Columns>> {
  const wanted: Partial<Columns> = {}
  if (discussion_locked !== undefined) wanted.discussion_locked = discussion_locked
  if (milestone_id !== undefined) wanted.milestone_id = milestone_id === 0 ? null : ((await usableMilestone(tx, subject, milestone_id))?.id ?? null)
  const assigned = await changedPeople(tx, subject, assignee_ids, assignable)
  if (assigned !== undefined) wanted.assignee_ids = assigned
  return wanted
}

/** Those of these users who can be assigned; undefined: of some that were given none can, and nothing changes (MR-44). */
export async function changedPeople(
  tx: Transaction,
  subject: ProjectSubject,
  ids: readonly number[] | undefined,
  assignable: Assignable,
): Promise<number[] | undefined> {
  if (ids === undefined) return undefined
  const found = await assignable(tx, subject, ids)
  return found.length > 0 || ids.every((each) => each === 0) ? found : undefined
}

/** Those of `ids` that are not in `others`. */
export const without = (ids: readonly number[], others: readonly number[]): number[] => ids.filter((id) => !others.includes(id))

const isSame = (value: unknown, former: unknown): boolean =>
  Array.isArray(value) && Array.isArray(former)
    ? value.length === former.length && value.every((each, index) => each === former[index])
    : value === former

/** The columns whose values differ from those of the row. */
export const changedValues = <T extends object>(before: T, wanted: Partial<T>): Partial<T> =>
  Object.fromEntries(Object.entries(wanted).filter(([key, value]) => !isSame(value, before[key as keyof T]))) as Partial<T>

/** Texts of system notes on changed texts and state (NT-6); `suffix` follows `closed`. */
export async function notesOnTexts(
  { cpu: { slices } }: Context,
  before: Row,
  { title, description, state }: Partial<Row>,
  suffix = '',
): Promise<string[]> {
  const messages: string[] = []
  if (title !== undefined) messages.push('changed the title')
  if (description !== undefined && !(await sameButForTicks(slices, description, before.description))) messages.push('changed the description')
  if (state !== undefined) messages.push(state === 'closed' ? `closed${suffix}` : 'reopened')
  return messages
}

/** Texts of system notes on assignees and milestone. They give no names, because some readers may not see them. */
export function notesOnAttributes({ assignee_ids, milestone_id }: Partial<Columns>): string[] {
  const messages: string[] = []
  if (assignee_ids !== undefined) messages.push(assignee_ids.length === 0 ? 'removed the assignee' : 'changed the assignee')
  if (milestone_id !== undefined) messages.push(milestone_id === null ? 'removed the milestone' : 'changed the milestone')
  return messages
}

interface Created {
  target: Target
  assignee_ids: number[]
  milestone_id: number | null
  labelIds: number[]
  text: string
  readers: Readers
}

/** Writes what a new issuable entails: its labels, the events of these and of its milestone, the assignees' todos, and its mentions. */
export async function recordCreation(
  ctx: Context,
  tx: Transaction,
  caller: SignedIn,
  { target, assignee_ids, milestone_id, labelIds, text, readers }: Created,
): Promise<void> {
  await settleAll([
    assignLabels(tx, target, labelIds),
    recordResourceEvents(tx, target, caller.user.id, [...labelEvents(labelIds), ...milestoneEvents(null, milestone_id)], ctx.now()),
    notifyAssignees(tx, caller, target, assignee_ids, ctx.now()),
    recordMentions(ctx, tx, caller, { target, note_id: null, text }, readers),
  ])
}

interface Changed {
  target: Target
  before: Row
  after: Row
  notes: string[]
  readers: Readers
  /** Whether its event is shown only to users who see the issue. */
  confidential?: boolean
}

/** Writes what a change entails: system notes, the todos of new assignees, new mentions, and the event of a new state. */
export async function recordChange(
  ctx: Context,
  tx: Transaction,
  caller: SignedIn,
  { target, before, after, notes, readers, confidential = false }: Changed,
  now: Date,
): Promise<void> {
  const { id: author_id } = caller.user
  await writeSystemNotes(tx, target, author_id, notes, now)
  await notifyAssignees(tx, caller, target, without(after.assignee_ids, before.assignee_ids), now)
  if (after.title !== before.title || after.description !== before.description)
    await recordMentions(ctx, tx, caller, { target, note_id: null, text: textOf(after), before: textOf(before) }, readers)
  const isOther = after.state !== before.state
  const stateEvents = isOther ? [{ kind: 'state' as const, state: after.state === 'closed' ? ('closed' as const) : ('reopened' as const) }] : []
  await recordResourceEvents(tx, target, author_id, [...milestoneEvents(before.milestone_id, after.milestone_id), ...stateEvents], now)
  if (!isOther) return
  const action = after.state === 'closed' ? 'closed' : 'reopened'
  const about = { project_id: target.project_id, target_type: target.type, target_id: target.id }
  await recordEvent(tx, { ...about, author_id, action, created_at: now, confidential })
}

/** Creates the todos of new assignees; users get none for what they assign to themselves (TO-5). */
async function notifyAssignees(tx: Transaction, { user }: SignedIn, target: Target, assigneeIds: readonly number[], now: Date): Promise<void> {
  const people = without(assigneeIds, [user.id])
  if (people.length > 0) await createTodos(tx, { users: people, author_id: user.id, target, action: 'assigned' }, now)
}
