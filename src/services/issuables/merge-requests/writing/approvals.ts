import { and, asc, eq, inArray, sql } from 'drizzle-orm'
import type { SignedIn } from '../../../../access/actor.js'
import type { MergeRequestSubject } from '../../../../access/merge-requests.js'
import type { Context } from '../../../../context.js'
import type { Transaction } from '../../../../db/client.js'
import { mergeRequestApprovals, mergeRequestReviews, mergeRequests, notes, users } from '../../../../db/schema/index.js'
import { statement } from '../../../../db/statement.js'
import { conflict, notFound, unauthenticated } from '../../../../failures.js'
import { recordEvent } from '../../../activity/events.js'
import { writeSystemNotes } from '../../../activity/system-notes.js'
import { finishTodos } from '../../../activity/todos.js'
import { type UserRefRecord, userRefColumns } from '../../../identity/user-ref.js'
import { actAs } from '../../../outbox/acting.js'
import { targetOf } from './participation.js'

/** The approvals of a merge request, as they are shown to one caller. */
export interface ApprovalsRecord {
  request: MergeRequestSubject['request']
  /** In the order in which they approved. */
  approvers: UserRefRecord[]
  user_has_approved: boolean
  user_can_approve: boolean
}

const inOrder = [asc(mergeRequestApprovals.created_at), asc(mergeRequestApprovals.user_id)]

const selectApprovers = statement('approvers of a merge request', (db) =>
  db
    .select(userRefColumns(users))
    .from(mergeRequestApprovals)
    .innerJoin(users, eq(users.id, mergeRequestApprovals.user_id))
    .where(eq(mergeRequestApprovals.merge_request_id, sql.placeholder('id')))
    .orderBy(...inOrder),
)

/** A user as a line of a commit message names them: with the address that they show to everybody, if any. */
export interface NamedUser {
  name: string
  username: string
  public_email: string
}

const namedUser = { name: users.name, username: users.username, public_email: users.public_email }

/** The users who have approved a merge request, in that order. */
export const approversOf = (ctx: Context, id: number): Promise<NamedUser[]> =>
  ctx.db.write
    .select(namedUser)
    .from(mergeRequestApprovals)
    .innerJoin(users, eq(users.id, mergeRequestApprovals.user_id))
    .where(eq(mergeRequestApprovals.merge_request_id, id))
    .orderBy(...inOrder)

/** The reviewers of a merge request who have approved it or commented on it. */
export const reviewedBy = (ctx: Context, { id, project_id, reviewer_ids }: MergeRequestSubject['request']): Promise<NamedUser[]> =>
  ctx.db.write
    .select(namedUser)
    .from(users)
    .where(
      and(
        inArray(users.id, reviewer_ids),
        sql`(exists (select 1 from ${mergeRequestApprovals} a where a.merge_request_id = ${id} and a.user_id = ${users.id})
          or exists (select 1 from ${notes} n where n.project_id = ${project_id} and n.noteable_type = 'MergeRequest'
            and n.noteable_id = ${id} and n.author_id = ${users.id} and not n.system))`,
      ),
    )

/** The approvals of a merge request. */
export async function loadApprovals(ctx: Context, { user }: SignedIn, { request, may }: MergeRequestSubject): Promise<ApprovalsRecord> {
  const approvers = await selectApprovers(ctx.db, null).execute({ id: request.id })
  const user_has_approved = approvers.some(({ id }) => id === user.id)
  return { request, approvers, user_has_approved, user_can_approve: !user_has_approved && may('approve_merge_request') }
}

/** Approves a merge request (MR-105 to MR-107): 409 if `sha` is not its head, 401 if the caller has approved it already. */
export const approve = (ctx: Context, caller: SignedIn, subject: MergeRequestSubject, sha: string | undefined): Promise<ApprovalsRecord> =>
  changeApproval(ctx, caller, subject, async (tx, { row, now }) => {
    if (sha !== undefined && sha !== row.sha) throw conflict('SHA does not match HEAD of source branch')
    if (!(await addApproval(tx, caller, subject, now))) throw unauthenticated()
    await withdrawRequest(tx, caller, subject)
    await finishTodos(tx, caller.user.id, targetOf(subject), now)
    return ['approved this merge request']
  })

/** Takes back the caller's approval, or their request for changes (MR-108, MR-604): 404 if there is neither. */
export const unapprove = (ctx: Context, caller: SignedIn, subject: MergeRequestSubject): Promise<ApprovalsRecord> =>
  changeApproval(ctx, caller, subject, async (tx) => {
    if (await removeApproval(tx, caller, subject)) return ['unapproved this merge request']
    if (await withdrawRequest(tx, caller, subject)) return ['withdrew the request for changes']
    throw notFound()
  })

/** Approves, with the event of it; false if the caller has approved before. */
export async function addApproval(tx: Transaction, { user }: SignedIn, { request }: MergeRequestSubject, now: Date): Promise<boolean> {
  const { id: merge_request_id, project_id } = request
  const approval = { project_id, merge_request_id, user_id: user.id, created_at: now }
  const added = await tx.insert(mergeRequestApprovals).values(approval).onConflictDoNothing().returning()
  if (added.length === 0) return false
  const about = { project_id, target_type: 'MergeRequest', target_id: merge_request_id } as const
  await recordEvent(tx, { ...about, author_id: user.id, action: 'approved', created_at: now })
  return true
}

/** Whether there was an approval of the caller. */
export async function removeApproval(tx: Transaction, { user }: SignedIn, { request }: MergeRequestSubject): Promise<boolean> {
  const { merge_request_id, user_id } = mergeRequestApprovals
  const own = and(eq(merge_request_id, request.id), eq(user_id, user.id))
  return (await tx.delete(mergeRequestApprovals).where(own).returning()).length > 0
}

/** Whether there was a request for changes of the caller; they have reviewed the merge request all the same. */
async function withdrawRequest(tx: Transaction, { user }: SignedIn, { request }: MergeRequestSubject): Promise<boolean> {
  const { merge_request_id, user_id, state } = mergeRequestReviews
  const own = and(eq(merge_request_id, request.id), eq(user_id, user.id), eq(state, 'requested_changes'))
  return (await tx.update(mergeRequestReviews).set({ state: 'reviewed' }).where(own).returning()).length > 0
}

const changeApproval = async (
  ctx: Context,
  caller: SignedIn,
  subject: MergeRequestSubject,
  change: Parameters<typeof holding>[3],
): Promise<ApprovalsRecord> => loadApprovals(ctx, caller, { ...subject, request: await holding(ctx, caller, subject, change) })

/** Runs a change in a transaction that holds the merge request, writes the system notes that it returns, and returns the row. */
export function holding(
  ctx: Context,
  caller: SignedIn,
  subject: MergeRequestSubject,
  change: (tx: Transaction, at: { row: MergeRequestSubject['request']; now: Date }) => Promise<string[]>,
): Promise<MergeRequestSubject['request']> {
  const now = ctx.now()
  return ctx.db.transaction(async (tx) => {
    const [[row]] = await Promise.all([
      tx
        .update(mergeRequests)
        .set({ updated_at: sql`greatest(${mergeRequests.updated_at}, ${now.toISOString()}::timestamptz)` })
        .where(sql`${mergeRequests.id} = ${subject.request.id} and ${mergeRequests.deleted_at} is null`)
        .returning(),
      actAs(tx, caller.user.id),
    ])
    if (!row) throw notFound()
    const texts = await change(tx, { row, now })
    await writeSystemNotes(tx, targetOf(subject), caller.user.id, texts, now)
    return row
  })
}
