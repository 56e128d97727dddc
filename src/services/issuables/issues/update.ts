import { eq, type SQL } from 'drizzle-orm'
import type { SignedIn } from '../../../access/actor.js'
import type { IssueSubject } from '../../../access/issues.js'
import type { Context } from '../../../context.js'
import type { Transaction } from '../../../db/client.js'
import { onlyRow } from '../../../db/only-row.js'
import { issues } from '../../../db/schema/index.js'
import { forbidden, notFound } from '../../../failures.js'
import { sameButForTicks } from '../../../rules/references.js'
import { issueReferencesIn, recordCrossReferences, resolveMentions } from '../../activity/cross-references.js'
import { finishTodos } from '../../activity/todos.js'
import { actAs } from '../../outbox/acting.js'
import { changeLabels } from '../assigned-labels.js'
import { checkTexts } from '../validation.js'
import {
  changedAttributes,
  changedTexts,
  changedValues,
  type IssuableChanges,
  notesOnAttributes,
  notesOnTexts,
  recordChange,
  textOf,
} from '../writing.js'
import { assignableAmong, updateIssueCounts } from './attributes.js'
import { type IssueRecord, loadIssue } from './list.js'
import { readersAmong } from './readers.js'

type Issue = typeof issues.$inferSelect

export interface IssueChanges extends IssuableChanges {
  due_date?: string | null | undefined
  confidential?: boolean | undefined
  state_event?: 'close' | 'reopen' | undefined
  updated_at?: Date | undefined
  /** Gets the issue as it is before the change, and may refuse it. */
  check?: ((before: Pick<Issue, 'title' | 'description'>) => void) | undefined
}

const STATE_EVENTS = {
  close: { from: 'opened', to: 'closed' },
  reopen: { from: 'closed', to: 'opened' },
} as const

/**
 * Changes an issue in one transaction, with its system notes and events (IS-6, IS-18, IS-19). Attributes that the
 * caller's role does not cover are ignored.
 */
export async function updateIssue(ctx: Context, caller: SignedIn, subject: IssueSubject, given: IssueChanges): Promise<IssueRecord> {
  const texts = checkTexts({ ...given, labels: [given.labels, given.add_labels] })
  const { project, issue } = subject
  const mentioned = await resolveMentions(ctx, caller, subject, await issueReferencesIn(ctx, textOf(given)))
  await ctx.db.transaction(async (tx) => {
    await applyChange({ ctx, tx, caller, subject, given: { ...given, ...texts } })
    await recordCrossReferences(tx, { type: 'Issue', project_id: project.id, id: issue.id, sha: null }, mentioned, caller.user.id, ctx.now())
  })
  return loadIssue(ctx, caller, subject.issue.id)
}

/**
 * Closes an issue because of a commit or a merge; the system note ends in `closedBy`. Does nothing if it is closed
 * already.
 */
export async function closeIssue(ctx: Context, caller: SignedIn, subject: IssueSubject, closedBy: string): Promise<void> {
  await ctx.db.transaction((tx) => applyChange({ ctx, tx, caller, subject, given: { state_event: 'close' }, closedBy }))
}

/**
 * Closes an issue as a duplicate of another one. Each gets a reference to the other, which only those see who see that
 * one (QA-14).
 */
export async function closeAsDuplicate(ctx: Context, caller: SignedIn, subject: IssueSubject, { issue: other }: IssueSubject): Promise<void> {
  const now = ctx.now()
  const one = { type: 'Issue' as const, id: subject.issue.id, project_id: subject.project.id }
  const another = { ...one, id: other.id, project_id: other.project_id }
  await ctx.db.transaction(async (tx) => {
    await applyChange({ ctx, tx, caller, subject, given: { state_event: 'close' }, closedBy: ' as a duplicate of another issue' })
    await recordCrossReferences(tx, { ...one, sha: null }, [another], caller.user.id, now)
    await recordCrossReferences(tx, { ...another, sha: null }, [one], caller.user.id, now)
  })
}

/** A change to apply within a transaction. */
interface Change {
  ctx: Context
  tx: Transaction
  caller: SignedIn
  subject: IssueSubject
  given: IssueChanges
  /** Text after `closed` in the system note. */
  closedBy?: string
}

async function applyChange({ closedBy, ...change }: Change): Promise<void> {
  const { ctx, tx, caller, subject, given } = change
  const { project } = subject
  const [[before]] = await Promise.all([tx.select().from(issues).where(eq(issues.id, subject.issue.id)).for('update'), actAs(tx, caller.user.id)])
  if (!before) throw notFound()
  given.check?.(before)
  const now = ctx.now()
  const target = { type: 'Issue' as const, id: before.id, project_id: project.id }
  const values = await changedColumns(change, before, now)
  const labelNotes = subject.can('manage_issue') ? await changeLabels(tx, subject, target, given, { by: caller.user.id, now }) : []
  const notes = [...(await notesOf(ctx, before, values, closedBy)), ...labelNotes]
  const givenUpdatedAt = subject.can('admin_issue') ? given.updated_at : undefined
  if (Object.keys(values).length === 0 && labelNotes.length === 0) {
    if (givenUpdatedAt) await tx.update(issues).set({ updated_at: givenUpdatedAt }).where(eq(issues.id, before.id))
    return
  }
  const written = tx
    .update(issues)
    .set({ ...values, updated_at: givenUpdatedAt ?? now })
    .where(eq(issues.id, before.id))
    .returning()
  const after = onlyRow(await written)
  const readers = (candidates: SQL) => readersAmong(tx, project, after, candidates)
  await recordChange(ctx, tx, caller, { target, before, after, notes, readers, confidential: after.confidential }, now)
  // ticking a task does not finish the user's todos (TO-6)
  const onlyTicks = notes.length === 0 && (await sameButForTicks(ctx.cpu.slices, before.description, after.description))
  if (!onlyTicks) await finishTodos(tx, caller.user.id, target, now)
  await updateIssueCounts(tx, project.id, before, after)
}

/** The columns that change, with those derived from them. */
async function changedColumns({ ctx, tx, caller, subject, given }: Omit<Change, 'how'>, before: Issue, now: Date): Promise<Partial<Issue>> {
  const wanted: Partial<Issue> = await changedTexts(ctx, given)
  if (given.confidential !== undefined) wanted.confidential = given.confidential
  if (subject.can('manage_issue')) Object.assign(wanted, await memberColumns(tx, subject, given))
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
  return changedValues(before, wanted)
}

/** Attributes that need a role on the project (row 9 of section 5.1). */
const memberColumns = async (tx: Transaction, subject: IssueSubject, given: IssueChanges): Promise<Partial<Issue>> => ({
  ...(await changedAttributes(tx, subject, given, assignableAmong)),
  ...(given.due_date !== undefined && { due_date: given.due_date }),
})

/** The system notes on the changes (NT-6). They name nothing that some readers of the issue may not see. */
async function notesOf(ctx: Context, before: Issue, values: Partial<Issue>, closedBy?: string): Promise<string[]> {
  const messages = [...(await notesOnTexts(ctx, before, values, closedBy)), ...notesOnAttributes(values)]
  if (values.due_date !== undefined) messages.push(values.due_date === null ? 'removed the due date' : `changed the due date to ${values.due_date}`)
  if (values.confidential !== undefined) messages.push(values.confidential ? 'made the issue confidential' : 'made the issue visible to everyone')
  if (values.discussion_locked !== undefined) messages.push(values.discussion_locked ? 'locked this issue' : 'unlocked this issue')
  return messages
}
