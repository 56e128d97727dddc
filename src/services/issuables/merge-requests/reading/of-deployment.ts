import { and, desc, eq, lt } from 'drizzle-orm'
import type { Caller } from '../../../../access/actor.js'
import type { ProjectSubject } from '../../../../access/rules.js'
import type { Context } from '../../../../context.js'
import { deployments } from '../../../../db/schema/index.js'
import { getDeployment } from '../../../ci/environments/deployments.js'
import type { Page } from '../../../core/page.js'
import { repositoryOf } from '../../../repository/repositories.js'
import { listMergeRequests, type MergeRequestFilter } from './list.js'
import type { MergeRequestRecord } from './load.js'

/** The newest commits of a deployment that are looked at. */
const MAX_COMMITS = 5_000

/**
 * The merge requests that a deployment has brought to its environment: whose merges are among its commits since the former
 * deployment that succeeded (CI-265). None, if it has not succeeded.
 */
export async function listRequestsOfDeployment(
  ctx: Context,
  caller: Pick<Caller, 'user'>,
  subject: ProjectSubject,
  { deployment_id, ...filter }: MergeRequestFilter & { deployment_id: number },
): Promise<Page<MergeRequestRecord>> {
  const { deployment } = await getDeployment(ctx, subject, deployment_id)
  const merged_by = deployment.status === 'success' ? await commitsOf(ctx, subject, deployment) : []
  return listMergeRequests(ctx, caller, { project: subject }, { ...filter, merged_by })
}

async function commitsOf(ctx: Context, { project }: ProjectSubject, { id, environment_id, sha }: typeof deployments.$inferSelect): Promise<string[]> {
  const [former] = await ctx.db.write
    .select({ sha: deployments.sha })
    .from(deployments)
    .where(and(eq(deployments.environment_id, environment_id), eq(deployments.status, 'success'), lt(deployments.id, id)))
    .orderBy(desc(deployments.id))
    .limit(1)
  const repository = repositoryOf(ctx, project)
  const [head, base] = await Promise.all([repository.commit(sha), former ? repository.commit(former.sha) : null])
  // commits of branches that were deleted may be gone
  if (!head) return []
  const { oids } = await repository.range(base ? [base.oid] : [], head.oid, MAX_COMMITS)
  return oids
}
