import { eq } from 'drizzle-orm'
import type { Context, Move } from '../../../context.js'
import { onlyRow } from '../../../db/only-row.js'
import { type MergeIntent, refIntents } from '../../../db/schema/index.js'
import { RefChanged, RefNameConflict, RepositoryMoving } from '../../../git/errors.js'
import { isUnavailable } from '../../../lib/unavailable.js'
import type { Door } from './rules.js'

interface NewIntent {
  projectId: number
  actorId: number
  door: Door
  moves: Move[]
  merge?: MergeIntent | null
}

/** Records ref updates after their objects are written and before the refs move (SEC-158). Returns the intent's id. */
export async function recordIntent(ctx: Context, { projectId, actorId, door, moves, merge = null }: NewIntent): Promise<number> {
  const { id } = onlyRow(
    await ctx.db.write
      .insert(refIntents)
      .values({
        project_id: projectId,
        actor_id: actorId,
        origin: door,
        updates: moves.map(({ ref, old, new: to, skip_ci, without_ci, ci_variables }) => ({
          ref,
          old,
          new: to,
          ...(skip_ci && { skip_ci }),
          ...(without_ci && { without_ci }),
          ...(ci_variables !== undefined && { ci_variables }),
        })),
        merge,
        owner: ctx.jobs.id,
      })
      .returning({ id: refIntents.id }),
  )
  ctx.process.intents.set(id, 'moving')
  return id
}

/**
 * Ends an intent whose refs did not move because of `error`. If the error leaves open whether they moved, the intent is
 * kept and resolved later by looking at the refs.
 */
export async function cancelIntent(ctx: Context, intent: number, error: unknown): Promise<void> {
  releaseIntent(ctx, intent)
  if (!(error instanceof RefChanged || error instanceof RefNameConflict || error instanceof RepositoryMoving)) return
  try {
    await ctx.db.write.delete(refIntents).where(eq(refIntents.id, intent))
    ctx.process.intents.delete(intent)
  } catch (thrown) {
    if (!isUnavailable(thrown)) throw thrown
  }
}

/** Marks an intent as abandoned by this process; it is resolved in the background by looking at its refs. */
export function releaseIntent(ctx: Pick<Context, 'process'>, intent: number): void {
  if (ctx.process.intents.has(intent)) ctx.process.intents.set(intent, 'abandoned')
}
