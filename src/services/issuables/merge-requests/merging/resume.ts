import type { Context } from '../../../../context.js'
import { mergeWaiting, waitingAmong } from './accept.js'
import { resumeMergeChecks } from './checks.js'
import { finishAcceptedInBackground } from './post-merge.js'
import { rebaseLeftOver } from './rebase.js'

/**
 * At the start: does what rows say is due for merge requests (SEC-158). `merged` are those whose merges have just been
 * found done.
 */
export function resumeMergeRequests(ctx: Context, merged: number[]): void {
  ctx.jobs.add('after merges', () => finishAcceptedInBackground(ctx, merged))
  ctx.jobs.add('merge status', () => resumeMergeChecks(ctx))
  ctx.jobs.add('deferred merges', async () => mergeWaiting(ctx, await waitingAmong(ctx, null)))
  ctx.jobs.add('rebases', () => rebaseLeftOver(ctx))
}
