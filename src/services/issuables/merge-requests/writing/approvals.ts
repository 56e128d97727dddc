import { and, asc, eq, sql } from 'drizzle-orm'
import type { SignedIn } from '../../../../access/actor.js'
import type { MergeRequestSubject } from '../../../../access/merge-requests.js'
import type { Context } from '../../../../context.js'
import type { Transaction } from '../../../../db/client.js'
import { mergeRequestApprovals, mergeRequests, notes, users } from '../../../../db/schema/index.js'
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

/** The reviewer of a merge request, if they have approved it or commented on it. */
export const reviewedBy = (ctx: Context, { id, project_id, reviewer_id }: MergeRequestSubject['request']): Promise<NamedUser[]> =>
  ctx.db.write
    .select(namedUser)
    .from(users)
    .where(
      and(
        eq(users.id, reviewer_id ?? 0),
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
  changeApproval(ctx, caller, subject, 'approved', async (tx, { head, now }) => {
    if (sha !== undefined && sha !== head) throw conflict('SHA does not match HEAD of source branch')
    const { id: merge_request_id, project_id } = subject.request
    const approval = { project_id, merge_request_id, user_id: caller.user.id, created_at: now }
    const added = await tx.insert(mergeRequestApprovals).values(approval).onConflictDoNothing().returning()
    if (added.length === 0) throw unauthenticated()
    const about = { project_id, target_type: 'MergeRequest', target_id: merge_request_id } as const
    await finishTodos(tx, caller.user.id, targetOf(subject), now)
    await recordEvent(tx, { ...about, author_id: caller.user.id, action: 'approved', created_at: now })
  })

/** Takes the caller's approval back (MR-108): 404 if there is none. */
export const unapprove = (ctx: Context, caller: SignedIn, subject: MergeRequestSubject): Promise<ApprovalsRecord> =>
  changeApproval(ctx, caller, subject, 'unapproved', async (tx) => {
    const { merge_request_id, user_id } = mergeRequestApprovals
    const own = and(eq(merge_request_id, subject.request.id), eq(user_id, caller.user.id))
    if ((await tx.delete(mergeRequestApprovals).where(own).returning()).length === 0) throw notFound()
  })

/** Runs a change in a transaction that holds the merge request, writes the system note, and returns what then holds. */
async function changeApproval(
  ctx: Context,
  caller: SignedIn,
  subject: MergeRequestSubject,
  done: 'approved' | 'unapproved',
  change: (tx: Transaction, at: { head: string | null; now: Date }) => Promise<void>,
): Promise<ApprovalsRecord> {
  const now = ctx.now()
  const request = await ctx.db.transaction(async (tx) => {
    const [[locked]] = await Promise.all([
      tx
        .update(mergeRequests)
        .set({ updated_at: sql`greatest(${mergeRequests.updated_at}, ${now.toISOString()}::timestamptz)` })
        .where(sql`${mergeRequests.id} = ${subject.request.id} and ${mergeRequests.deleted_at} is null`)
        .returning(),
      actAs(tx, caller.user.id),
    ])
    if (!locked) throw notFound()
    await change(tx, { head: locked.sha, now })
    await writeSystemNotes(tx, targetOf(subject), caller.user.id, [`${done} this merge request`], now)
    return locked
  })
  return loadApprovals(ctx, caller, { ...subject, request })
}
