import { and, eq, inArray, sql } from 'drizzle-orm'
import type { SignedIn } from '../../../../access/actor.js'
import type { MergeRequestSubject } from '../../../../access/merge-requests.js'
import type { Context } from '../../../../context.js'
import type { Transaction } from '../../../../db/client.js'
import { mergeRequestApprovals, mergeRequests, users } from '../../../../db/schema/index.js'
import { statement } from '../../../../db/statement.js'
import type { Target } from '../../../activity/subscriptions.js'
import { createTodos } from '../../../activity/todos.js'
import { type Page, type Paging, slice } from '../../../core/page.js'
import { userRefColumns } from '../../../identity/user-ref.js'

/** A reviewer, as the list of reviewers shows them. */
export type ReviewerRecord = Awaited<ReturnType<ReturnType<typeof selectReviewer>['execute']>>[number]

const selectReviewer = statement('reviewer of a merge request', (db) =>
  db
    .select({
      user: userRefColumns(users),
      requested_at: mergeRequests.review_requested_at,
      approved: sql<boolean>`${mergeRequestApprovals.user_id} is not null`,
    })
    .from(mergeRequests)
    .innerJoin(users, eq(users.id, mergeRequests.reviewer_id))
    .leftJoin(
      mergeRequestApprovals,
      and(eq(mergeRequestApprovals.merge_request_id, mergeRequests.id), eq(mergeRequestApprovals.user_id, mergeRequests.reviewer_id)),
    )
    .where(eq(mergeRequests.id, sql.placeholder('id'))),
)

/** The reviewer of a merge request, as a list (MR-103). */
export const listReviewers = async (ctx: Context, { request }: MergeRequestSubject, paging: Paging): Promise<Page<ReviewerRecord>> =>
  slice(await selectReviewer(ctx.db, null).execute({ id: request.id }), paging)

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
