import type { Context } from '../../../../context.js'
import { checkMergeability } from '../merging/checks.js'
import { makeVersions } from './make.js'

/**
 * Makes a new version of a merge request after its creation, its reopening or a change of its target branch (MR-38,
 * MR-48, MR-52, MR-90): version row, keep-around refs, `sha`, `changes_count`, `version_id`, `head_pipeline_id` and
 * `merge_status`, which is known when this returns. If a branch is missing there is no version, and the merge request
 * cannot be merged (MR-36). Call it outside of transactions, then read the row again. It ignores merge requests that
 * are not open.
 */
export async function updateVersion(ctx: Context, request: { id: number }): Promise<void> {
  const unchecked = await makeVersions(ctx, [request.id], { always: true, checkMerge: true })
  if (unchecked.length > 0) await checkMergeability(ctx, unchecked)
}

/**
 * The same for merge requests whose source branch was pushed to (MR-70): version and head are up to date when this
 * returns. Returns the ids of those whose merge status is still unchecked.
 */
export const updatePushedVersions = (ctx: Context, ids: number[], actorId: number | null): Promise<number[]> =>
  makeVersions(ctx, ids, { byPush: true, actorId })
