import { eq } from 'drizzle-orm'
import type { Context } from '../../../../context.js'
import { mergeRequests } from '../../../../db/schema/index.js'
import { headsOf, selectMergeRequestRefs, targetOf } from '../versions/refs.js'

/** Commits are counted up to this number. */
const MAX_COUNTED_COMMITS = 10_000

/** How many commits the target branch has that the source branch does not; 0 where a branch is missing. */
export async function countDiverged(ctx: Context, id: number): Promise<number> {
  const [request] = await selectMergeRequestRefs(ctx.db.read, eq(mergeRequests.id, id))
  if (!request) return 0
  const { head, start } = await headsOf(ctx, request)
  // the head that the merge request shows: its source may have moved on without it (MR-70)
  return head && start ? targetOf(ctx, request).countNew([request.sha ?? head], start, MAX_COUNTED_COMMITS) : 0
}
