import { and, eq } from 'drizzle-orm'
import type { SignedIn } from '../../../../access/actor.js'
import type { MergeRequestSubject } from '../../../../access/merge-requests.js'
import type { Context } from '../../../../context.js'
import { mergeRequestReviews, mergeRequests, notes } from '../../../../db/schema/index.js'
import { conflict, forbidden } from '../../../../failures.js'
import type { Verdict } from '../../../../rules/reviews/states.js'
import { finishTodos } from '../../../activity/todos.js'
import { NOT_DEFERRED } from '../merging/states.js'
import { addApproval, holding, removeApproval } from './approvals.js'
import { targetOf } from './participation.js'

/** Refuses a verdict that the caller cannot give: 403 without the ability, 409 if `sha` is not the head (MR-602, MR-107). */
export function checkVerdict({ request, may }: MergeRequestSubject, verdict: Verdict, sha: string | undefined): void {
  if (verdict === 'commented') return
  if (!may('approve_merge_request')) throw forbidden()
  if (verdict === 'approved' && sha !== undefined && sha !== request.sha) throw conflict('SHA does not match HEAD of source branch')
}

/** Records a review: its verdict, and the notes that were sent with it (MR-600 to MR-604, ML-600). */
export async function recordReview(
  ctx: Context,
  caller: SignedIn,
  subject: MergeRequestSubject,
  { verdict, sha }: { verdict: Verdict; sha?: string | undefined },
): Promise<void> {
  const { user } = caller
  const { id: merge_request_id, project_id } = subject.request
  await holding(ctx, caller, subject, async (tx, { row, now }) => {
    checkVerdict({ ...subject, request: row }, verdict, sha)
    const sent = await tx
      .update(notes)
      .set({ in_review: false })
      .where(
        and(
          eq(notes.project_id, project_id),
          eq(notes.noteable_type, 'MergeRequest'),
          eq(notes.noteable_id, merge_request_id),
          eq(notes.author_id, user.id),
          notes.in_review,
        ),
      )
      .returning({ id: notes.id })
    const review = { verdict, sha: row.sha, note_ids: sent.map(({ id }) => id).sort((a, b) => a - b), submitted_at: now }
    // a comment leaves a request for changes as it is
    const kept = verdict === 'commented' ? {} : { state: verdict === 'approved' ? ('reviewed' as const) : verdict }
    await tx
      .insert(mergeRequestReviews)
      .values({ project_id, merge_request_id, user_id: user.id, state: 'reviewed', ...kept, ...review })
      .onConflictDoUpdate({ target: [mergeRequestReviews.merge_request_id, mergeRequestReviews.user_id], set: { ...kept, ...review } })
    await finishTodos(tx, user.id, targetOf(subject), now)
    if (verdict === 'approved') return (await addApproval(tx, caller, subject, now)) ? ['approved this merge request'] : []
    if (verdict === 'commented') return []
    await removeApproval(tx, caller, subject)
    if (!row.merge_when_pipeline_succeeds || row.state !== 'opened') return ['requested changes']
    await tx
      .update(mergeRequests)
      .set({ ...NOT_DEFERRED, should_remove_source_branch: null })
      .where(eq(mergeRequests.id, merge_request_id))
    return ['requested changes', 'canceled the automatic merge']
  })
}
