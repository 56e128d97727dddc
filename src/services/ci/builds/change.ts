import type { Context } from '../../../context.js'
import type { Transaction } from '../../../db/client.js'
import type { pipelines } from '../../../db/schema/index.js'
import { announce } from '../events.js'
import { advance, lockJobs } from './advance.js'

/**
 * Changes jobs of a pipeline with it locked, begins what can begin then, and tells the rooms above its new state (CI-101).
 * Resolves with what `work` answers; null: there is no such pipeline, or `work` found nothing to change.
 */
export async function changeJobs<T>(
  ctx: Context,
  pipelineId: number,
  work: (tx: Transaction, pipeline: typeof pipelines.$inferSelect) => Promise<T | null>,
): Promise<T | null> {
  const changed = await ctx.db.transaction(async (tx) => {
    const pipeline = await lockJobs(tx, pipelineId)
    const result = pipeline && (await work(tx, pipeline))
    return pipeline && result !== null ? { pipeline, result, status: await advance(ctx, tx, pipeline) } : null
  })
  if (!changed) return null
  await announce(ctx, changed.pipeline, changed.status)
  return changed.result
}
