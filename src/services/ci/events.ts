import { actingAs, actorOf } from '../../access/actor.js'
import type { Context } from '../../context.js'
import { nullOnFailure } from '../../failures.js'
import type { PipelineState } from '../../rules/pipeline-states.js'
import { getUser } from '../identity/users.js'

/** Tells the rooms above that a pipeline has another state, if it has. */
export async function announce(
  ctx: Context,
  pipeline: { id: number; project_id: number; sha: string; user_id: number | null; status: PipelineState },
  status: PipelineState,
): Promise<void> {
  if (status === pipeline.status || pipeline.user_id === null) return
  const user = await nullOnFailure(getUser(ctx, pipeline.user_id))
  if (!user) return
  const event = { caller: actingAs(actorOf(user)), projectId: pipeline.project_id, sha: pipeline.sha, pipeline: pipeline.id, status }
  for (const follow of ctx.listeners.status) await follow(ctx, event)
}
