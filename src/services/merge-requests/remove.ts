import { and, eq, isNull } from 'drizzle-orm'
import type { MergeRequestSubject } from '../../access/merge-requests.js'
import type { Context } from '../../context.js'
import { mergeRequestIssues, mergeRequests } from '../../db/schema/index.js'
import { notFound } from '../../failures.js'
import { touchProjectList } from '../project-lists.js'
import { countClosing } from './links.js'
import { hideHead } from './pins.js'

/** MR-57, MR-58: the record is kept and shown nowhere; its number is not given again. */
export async function deleteMergeRequest(ctx: Context, { request, project }: MergeRequestSubject): Promise<void> {
  await ctx.db.transaction(async (tx) => {
    const [gone] = await tx
      .update(mergeRequests)
      .set({ deleted_at: ctx.now(), merge_when_pipeline_succeeds: false })
      .where(and(eq(mergeRequests.id, request.id), isNull(mergeRequests.deleted_at)))
      .returning({ id: mergeRequests.id })
    if (!gone) throw notFound()
    const links = await tx.select().from(mergeRequestIssues).where(eq(mergeRequestIssues.merge_request_id, request.id))
    await countClosing(
      tx,
      links.filter(({ closes }) => closes).map(({ issue_id }) => issue_id),
    )
    await touchProjectList(tx, project.id, 'merge_requests')
  })
  await hideHead(ctx, { project_id: project.id, storage: project.storage, iid: request.iid })
}
