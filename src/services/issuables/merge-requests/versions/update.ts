import type { Context } from '../../../../context.js'
import { checkMergeability } from '../merging/checks.js'
import { makeVersions } from './make.js'

/**
 * Makes the newest version of an existing merge request, as creation, reopening and a change of the target branch
 * require (MR-38, MR-48, MR-52, MR-90): version row, refs that keep its commits, `sha`, `changes_count`, `version_id`,
 * `head_pipeline_id` and `merge_status`, which is decided when this returns. Where a branch is missing there is no
 * version, and the request cannot be merged (MR-36). Call it outside of transactions, then read the row again; a merge
 * request that is not open is left alone.
 */
export async function updateVersion(ctx: Context, request: { id: number }): Promise<void> {
  const unchecked = await makeVersions(ctx, [request.id], { always: true, checkMerge: true })
  if (unchecked.length > 0) await checkMergeability(ctx, unchecked)
}

/**
 * The same for merge requests whose source branch was pushed to (MR-70): version and head are up to date when this
 * returns. Returns those of which it is not known whether they can be merged.
 */
export const updatePushedVersions = (ctx: Context, ids: number[], actorId: number | null): Promise<number[]> =>
  makeVersions(ctx, ids, { byPush: true, actorId: actorId })
