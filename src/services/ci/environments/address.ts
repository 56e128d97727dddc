import { eq } from 'drizzle-orm'
import type { Context } from '../../../context.js'
import { deployments } from '../../../db/schema/index.js'
import { expandVariables } from '../../../rules/ci/expand-variables.js'
import type { RunningBuild } from '../builds/running.js'
import { dotenvOf } from '../reports/dotenv.js'

/** Completes the address of what a job has deployed by the variables that the job itself has made (CI-283). */
export async function lateAddress(ctx: Context, { job, definition }: RunningBuild): Promise<void> {
  if (!definition.environment?.url?.includes('$')) return
  const [found] = await ctx.db.write.select({ url: deployments.url }).from(deployments).where(eq(deployments.job_id, job))
  if (!found?.url?.includes('$')) return
  const variables = await dotenvOf(ctx, job)
  if (variables.length > 0)
    await ctx.db.write
      .update(deployments)
      .set({ url: expandVariables(found.url, variables) })
      .where(eq(deployments.job_id, job))
}
