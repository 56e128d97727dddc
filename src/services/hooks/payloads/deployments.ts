import { sql } from 'drizzle-orm'
import { environments, type RowImage } from '../../../db/schema/index.js'
import type { HookChange } from '../../outbox/changes.js'
import type { WebhookEvent } from '../event.js'
import { type PayloadData, projectObject, stamp, userById } from '../payload-data.js'
import { repositoryIn } from './commits.js'

/** The event of a deployment that begins or ends (CI-289). */
export async function deploymentOf(data: PayloadData, deployment: RowImage): Promise<WebhookEvent[]> {
  const { ctx } = data
  const project = await data.project(deployment['project_id'])
  const [environment] = await ctx.db.write.select().from(environments).where(sql`${environments.id} = ${deployment['environment_id']}`)
  if (!project || !environment) return []
  const url = ctx.links.project(project.fullPath)
  const sha = String(deployment['sha'])
  const commit = await repositoryIn(data, project).commit(sha)
  const user = await userById(data, deployment['user_id'])
  const job = deployment['job_id']
  const body = {
    object_kind: 'deployment',
    status: deployment['status'],
    status_changed_at: stamp(deployment['updated_at']),
    deployment_id: deployment['id'],
    deployable_id: job,
    deployable_url: job === null ? null : `${url}/-/jobs/${job}`,
    environment: environment.name,
    environment_tier: environment.tier,
    environment_slug: environment.slug,
    environment_external_url: environment.external_url,
    project: projectObject(data, project),
    ref: deployment['ref'],
    short_sha: sha.slice(0, 8),
    user,
    user_url: user && `${ctx.links.base}/${user.username}`,
    commit_url: `${url}/-/commit/${sha}`,
    commit_title: commit?.message.split('\n')[0] ?? null,
  }
  return [{ listens: 'deployment', event: 'Deployment Hook', project: project.id, body }]
}

/** The event of a changed row. */
export const deploymentsOf = (data: PayloadData, { after }: HookChange): Promise<WebhookEvent[]> =>
  after ? deploymentOf(data, after) : Promise.resolve([])
