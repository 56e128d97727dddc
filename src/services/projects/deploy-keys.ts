import { and, eq } from 'drizzle-orm'
import type { Context } from '../../context.js'
import { deployKeysProjects } from '../../db/schema/index.js'

/** What a deploy key may do in a project; null: nothing. */
export async function deployKeyReach(ctx: Context, keyId: number, projectId: number): Promise<{ can_push: boolean } | null> {
  const [row] = await ctx.db.read
    .select({ can_push: deployKeysProjects.can_push })
    .from(deployKeysProjects)
    .where(and(eq(deployKeysProjects.key_id, keyId), eq(deployKeysProjects.project_id, projectId)))
  return row ?? null
}
