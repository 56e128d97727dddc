import { and, asc, eq, inArray, sql } from 'drizzle-orm'
import type { SignedIn } from '../../../../access/actor.js'
import type { MergeRequestSubject } from '../../../../access/merge-requests.js'
import type { Context } from '../../../../context.js'
import type { Transaction } from '../../../../db/client.js'
import { decoded, totalCount } from '../../../../db/decoded.js'
import { mergeRequestApprovals, mergeRequestReviews, mergeRequests, users } from '../../../../db/schema/index.js'
import { statement } from '../../../../db/statement.js'
import { conflict } from '../../../../failures.js'
import type { ReviewerState } from '../../../../rules/reviews/states.js'
import type { Target } from '../../../activity/subscriptions.js'
import { createTodos } from '../../../activity/todos.js'
import { type Page, type Paging, pageFrom } from '../../../core/page.js'
import { userRefColumns } from '../../../identity/user-ref.js'
import { holding } from './approvals.js'
import { targetOf } from './participation.js'

/** A reviewer, as the list of reviewers shows them. */
export type ReviewerRecord = Awaited<ReturnType<ReturnType<typeof selectReviewers>['execute']>>[number]

const selectReviewers = statement('reviewers of a merge request', (db) => {
  const asked = sql`${users.id} is not distinct from ${mergeRequests.reviewer_id}`
  return db
    .select({
      user: userRefColumns(users),
      since: decoded(
        sql`case when ${asked} then ${mergeRequests.review_requested_at} else ${mergeRequestReviews.submitted_at} end`,
        mergeRequests.review_requested_at,
      ),
      state: sql<ReviewerState>`case when ${mergeRequestApprovals.user_id} is not null then 'approved'
        else coalesce(${mergeRequestReviews.state}, 'unreviewed') end`,
      /** The head that their newest review was about. */
      sha: mergeRequestReviews.sha,
      total: totalCount(),
    })
    .from(mergeRequests)
    .innerJoin(
      users,
      sql`${users.id} in (select ${mergeRequests.reviewer_id} union select r.user_id from ${mergeRequestReviews} r where r.merge_request_id = ${mergeRequests.id})`,
    )
    .leftJoin(mergeRequestReviews, and(eq(mergeRequestReviews.merge_request_id, mergeRequests.id), eq(mergeRequestReviews.user_id, users.id)))
    .leftJoin(mergeRequestApprovals, and(eq(mergeRequestApprovals.merge_request_id, mergeRequests.id), eq(mergeRequestApprovals.user_id, users.id)))
    .where(eq(mergeRequests.id, sql.placeholder('id')))
    .orderBy(sql`not coalesce(${asked}, false)`, asc(mergeRequestReviews.submitted_at), asc(users.id))
    .limit(sql.placeholder('limit'))
    .offset(sql.placeholder('offset'))
})

/** The reviewer of a merge request, then the others who have submitted a review (MR-103). */
export const listReviewers = (ctx: Context, { request }: MergeRequestSubject, paging: Paging): Promise<Page<ReviewerRecord>> =>
  pageFrom(selectReviewers(ctx.db, null), { id: request.id }, paging)

/** Forgets what these users said before: they are asked anew, or no longer (MR-604). */
export const forgetReviews = async (tx: Transaction, requestId: number, people: (number | null)[]): Promise<void> => {
  const { merge_request_id, user_id } = mergeRequestReviews
  const ids = people.filter((id) => id !== null)
  if (ids.length > 0) await tx.delete(mergeRequestReviews).where(and(eq(merge_request_id, requestId), inArray(user_id, ids)))
}

/** Asks the reviewer anew, as if they had not reviewed before (MR-604): 409 if there is none. */
export async function askAgain(ctx: Context, caller: SignedIn, subject: MergeRequestSubject): Promise<void> {
  await holding(ctx, caller, subject, async (tx, { row, now }) => {
    if (row.reviewer_id === null) throw conflict('There is no reviewer')
    await tx.update(mergeRequests).set({ review_requested_at: now }).where(eq(mergeRequests.id, row.id))
    await forgetReviews(tx, row.id, [row.reviewer_id])
    await notifyReviewer(tx, caller, targetOf(subject), row.reviewer_id, now)
    return notesOnReviewer(tx, null, row.reviewer_id)
  })
}

/** Creates the reviewer's todo; users get none for a review that they ask of themselves (MR-102). */
export async function notifyReviewer(tx: Transaction, { user }: SignedIn, target: Target, reviewerId: number | null, now: Date): Promise<void> {
  if (reviewerId !== null && reviewerId !== user.id)
    await createTodos(tx, { users: [reviewerId], author_id: user.id, target, action: 'review_requested' }, now)
}

/** The text of the system note about a change of the reviewer, who is named in every answer anyway (MR-102). */
export async function notesOnReviewer(tx: Transaction, before: number | null, after: number | null | undefined): Promise<string[]> {
  if (after === undefined) return []
  const named = await tx
    .select({ id: users.id, username: users.username })
    .from(users)
    .where(
      inArray(
        users.id,
        [before, after].filter((id) => id !== null),
      ),
    )
  const texts = [
    ...named.filter(({ id }) => id === after).map(({ username }) => `requested review from @${username}`),
    ...named.filter(({ id }) => id === before).map(({ username }) => `removed review request for @${username}`),
  ]
  return texts.length > 0 ? [texts.join(' and ')] : []
}
