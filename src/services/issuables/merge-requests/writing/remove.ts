import { and, eq, inArray, isNull } from 'drizzle-orm'
import type { MergeRequestSubject } from '../../../../access/merge-requests.js'
import type { Context } from '../../../../context.js'
import { mergeRequestIssues, mergeRequests, projects } from '../../../../db/schema/index.js'
import { notFound } from '../../../../failures.js'
import { removeDependents } from '../../remove.js'
import { NOT_DEFERRED } from '../merging/states.js'
import { deleteHeadRef } from '../versions/keep-around.js'
import { countClosing } from './issue-links.js'

/** Deletes a merge request: the record is kept but shown nowhere, and its number is not reused (MR-57, MR-58). */
export async function deleteMergeRequest(ctx: Context, { request, project }: MergeRequestSubject): Promise<void> {
  await ctx.db.transaction(async (tx) => {
    const [deleted] = await tx
      .update(mergeRequests)
      .set({ deleted_at: ctx.now(), ...NOT_DEFERRED })
      .where(and(eq(mergeRequests.id, request.id), isNull(mergeRequests.deleted_at)))
      .returning({ id: mergeRequests.id })
    if (!deleted) throw notFound()
    const links = await tx.select().from(mergeRequestIssues).where(eq(mergeRequestIssues.merge_request_id, request.id))
    await countClosing(
      tx,
      links.filter(({ closes }) => closes).map(({ issue_id }) => issue_id),
    )
  })
  await deleteHeadRef(ctx, { project_id: project.id, storage: project.storage, iid: request.iid })
}

/** The number of merge requests deleted in one transaction. */
const BATCH_SIZE = 100

/** Deletes all merge requests that a user opened, with everything that belongs to them (U-34, U-36). */
export async function removeMergeRequestsOf(ctx: Context, authorId: number): Promise<void> {
  for (;;) {
    const rows = await ctx.db.write
      .select({ id: mergeRequests.id, iid: mergeRequests.iid, project_id: mergeRequests.project_id, storage: projects.storage })
      .from(mergeRequests)
      .innerJoin(projects, eq(projects.id, mergeRequests.project_id))
      .where(eq(mergeRequests.author_id, authorId))
      .orderBy(mergeRequests.id)
      .limit(BATCH_SIZE)
    // rows are deleted last, so that after a crash the rest can be repeated
    for (const row of rows) await deleteHeadRef(ctx, row)
    const ids = rows.map(({ id }) => id)
    if (ids.length === 0) return
    await ctx.db.transaction(async (tx) => {
      await removeDependents(tx, 'MergeRequest', rows)
      const links = await tx.delete(mergeRequestIssues).where(inArray(mergeRequestIssues.merge_request_id, ids)).returning()
      await tx.delete(mergeRequests).where(inArray(mergeRequests.id, ids))
      await countClosing(
        tx,
        links.filter(({ closes }) => closes).map(({ issue_id }) => issue_id),
      )
    })
  }
}
