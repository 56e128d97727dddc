import { eq } from 'drizzle-orm'
import type { Context } from '../../../context.js'
import { onlyRow } from '../../../db/only-row.js'
import { type MergeIntent, refIntents } from '../../../db/schema/index.js'
import { RefChanged, RefNameConflict, RepositoryMoving } from '../../../git/errors.js'
import type { RefUpdate } from '../../../git/types.js'
import { isUnavailable } from '../../../lib/unavailable.js'
import type { Door } from './rules.js'

interface Intent {
  projectId: number
  actorId: number
  door: Door
  moves: RefUpdate[]
  merge?: MergeIntent | null
}

/** Records what is about to move, after the objects and before the refs (SEC-158). Returns the row's id. */
export async function recordIntent(ctx: Context, { projectId, actorId, door, moves, merge = null }: Intent): Promise<number> {
  const { id } = onlyRow(
    await ctx.db.write
      .insert(refIntents)
      .values({
        project_id: projectId,
        actor_id: actorId,
        origin: door,
        updates: moves.map(({ ref, old, new: to }) => ({ ref, old, new: to })),
        merge,
        owner: ctx.jobs.id,
      })
      .returning({ id: refIntents.id }),
  )
  ctx.intents.set(id, 'moving')
  return id
}

/**
 * Ends an intent whose refs were not moved because of `error`. Where git does not say that nothing moved, the refs are
 * examined later.
 */
export async function abandonIntent(ctx: Context, intent: number, error: unknown): Promise<void> {
  leaveIntent(ctx, intent)
  if (!(error instanceof RefChanged || error instanceof RefNameConflict || error instanceof RepositoryMoving)) return
  try {
    await ctx.db.write.delete(refIntents).where(eq(refIntents.id, intent))
    ctx.intents.delete(intent)
  } catch (thrown) {
    if (!isUnavailable(thrown)) throw thrown
  }
}

/** Nobody works on this intent any more: it is settled in the background, according to the refs. */
export function leaveIntent(ctx: Context, intent: number): void {
  if (ctx.intents.has(intent)) ctx.intents.set(intent, 'left')
}
