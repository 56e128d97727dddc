import { and, asc, eq, inArray, sql } from 'drizzle-orm'
import type { SignedIn } from '../../../../access/actor.js'
import type { MergeRequestSubject } from '../../../../access/merge-requests.js'
import type { Context } from '../../../../context.js'
import type { Transaction } from '../../../../db/client.js'
import { decoded, totalCount } from '../../../../db/decoded.js'
import { mergeRequestApprovals, mergeRequestReviews, mergeRequests, users } from '../../../../db/schema/index.js'
import { statement } from '../../../../db/statement.js'
import type { ReviewerState } from '../../../../rules/reviews/states.js'
import { listed } from '../../../../rules/texts/listed.js'
import type { Target } from '../../../activity/subscriptions.js'
import { createTodos } from '../../../activity/todos.js'
import { type Page, type Paging, pageFrom } from '../../../core/page.js'
import { userRefColumns } from '../../../identity/user-ref.js'
import { without } from '../../writing.js'

/** A reviewer, as the list of reviewers shows them. */
export type ReviewerRecord = Awaited<ReturnType<ReturnType<typeof selectReviewers>['execute']>>[number]

const selectReviewers = statement('reviewers of a merge request', (db) => {
  const place = sql`array_position(${mergeRequests.reviewer_ids}, ${users.id})`
  return db
    .select({
      user: userRefColumns(users),
      since: decoded(sql`coalesce((${mergeRequests.reviews_requested_at})[${place}], ${mergeRequestReviews.submitted_at})`, mergeRequests.updated_at),
      /** Whether they were asked. */
      asked: sql<boolean>`${place} is not null`,
      state: sql<ReviewerState>`case when ${mergeRequestApprovals.user_id} is not null then 'approved'
        else coalesce(${mergeRequestReviews.state}, 'unreviewed') end`,
      /** The head that their newest review was about. */
      sha: mergeRequestReviews.sha,
      total: totalCount(),
    })
    .from(mergeRequests)
    .innerJoin(
      users,
      sql`${users.id} in (select unnest(${mergeRequests.reviewer_ids}) union select r.user_id from ${mergeRequestReviews} r where r.merge_request_id = ${mergeRequests.id})`,
    )
    .leftJoin(mergeRequestReviews, and(eq(mergeRequestReviews.merge_request_id, mergeRequests.id), eq(mergeRequestReviews.user_id, users.id)))
    .leftJoin(mergeRequestApprovals, and(eq(mergeRequestApprovals.merge_request_id, mergeRequests.id), eq(mergeRequestApprovals.user_id, users.id)))
    .where(eq(mergeRequests.id, sql.placeholder('id')))
    .orderBy(asc(place), asc(mergeRequestReviews.submitted_at), asc(users.id))
    .limit(sql.placeholder('limit'))
    .offset(sql.placeholder('offset'))
})

/** The reviewers of a merge request in their order, then the others who have submitted a review (MR-103). */
export const listReviewers = (ctx: Context, { request }: MergeRequestSubject, paging: Paging): Promise<Page<ReviewerRecord>> =>
  pageFrom(selectReviewers(ctx.db, null), { id: request.id }, paging)

/** Forgets what these users said before: they are asked anew, or no longer (MR-604). */
export const forgetReviews = async (tx: Transaction, requestId: number, people: readonly number[]): Promise<void> => {
  const { merge_request_id, user_id } = mergeRequestReviews
  if (people.length > 0) await tx.delete(mergeRequestReviews).where(and(eq(merge_request_id, requestId), inArray(user_id, [...people])))
}

type Asked = Pick<MergeRequestSubject['request'], 'reviewer_ids' | 'reviews_requested_at'>

/** When each of these reviewers was asked; `now` for those who are new, and for `again`. */
export const requestTimes = (before: Asked, reviewerIds: readonly number[], now: Date, again: readonly number[] = []): Date[] =>
  reviewerIds.map((id) => (again.includes(id) ? now : (before.reviews_requested_at[before.reviewer_ids.indexOf(id)] ?? now)))

/** Creates the todos of reviewers; users get none for a review that they ask of themselves (MR-102). */
export async function notifyReviewers(tx: Transaction, { user }: SignedIn, target: Target, reviewerIds: readonly number[], now: Date): Promise<void> {
  const people = without(reviewerIds, [user.id])
  if (people.length > 0) await createTodos(tx, { users: people, author_id: user.id, target, action: 'review_requested' }, now)
}

/** The text of the system note about a change of the reviewers, who are named in every answer anyway (MR-102). */
export async function notesOnReviewers(tx: Transaction, before: readonly number[], after: readonly number[] | undefined): Promise<string[]> {
  if (after === undefined) return []
  const asked = without(after, before)
  const removed = without(before, after)
  const changed = [...asked, ...removed]
  if (changed.length === 0) return []
  const found = await tx.select({ id: users.id, username: users.username }).from(users).where(inArray(users.id, changed))
  const names = (ids: number[]) => ids.flatMap((id) => found.find((user) => user.id === id) ?? []).map(({ username }) => `@${username}`)
  const texts = [
    ...[names(asked)].flatMap((all) => (all.length > 0 ? [`requested review from ${listed(all)}`] : [])),
    ...[names(removed)].flatMap((all) => (all.length > 0 ? [`removed review request for ${listed(all)}`] : [])),
  ]
  return texts.length > 0 ? [texts.join(' and ')] : []
}
