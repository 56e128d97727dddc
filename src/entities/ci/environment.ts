import { z } from 'zod'
import type { View } from '../../http/view.js'
import type { DeploymentRecord } from '../../services/ci/environments/deployments.js'
import type { Environment as Row } from '../../services/ci/environments/environments.js'
import { presentUserRef, UserRef } from '../identity/user.js'
import { Job, presentJob } from './job.js'

export const EnvironmentBasic = z
  .strictObject({
    id: z.int(),
    name: z.string(),
    slug: z.string(),
    external_url: z.string().nullable(),
    state: z.string(),
    tier: z.string(),
    created_at: z.iso.datetime(),
    updated_at: z.iso.datetime(),
    auto_stop_at: z.iso.datetime().nullable(),
  })
  .meta({ id: 'EnvironmentBasic', description: 'Where a project is deployed to.' })

export const Deployment = z
  .strictObject({
    id: z.int(),
    iid: z.int(),
    ref: z.string(),
    sha: z.string(),
    status: z.string(),
    created_at: z.iso.datetime(),
    updated_at: z.iso.datetime(),
    user: UserRef.nullable(),
    environment: EnvironmentBasic,
    deployable: Job.nullable(),
  })
  .meta({ id: 'Deployment', description: 'What was brought to an environment, by a job or another program.' })

export const Environment = z
  .strictObject({ ...EnvironmentBasic.shape, last_deployment: Deployment.nullable() })
  .meta({ id: 'Environment', description: 'An environment with its last deployment.' })

export function presentEnvironmentBasic(row: Row): z.infer<typeof EnvironmentBasic> {
  return {
    id: row.id,
    name: row.name,
    slug: row.slug,
    external_url: row.external_url,
    state: row.state,
    tier: row.tier,
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
    auto_stop_at: row.auto_stop_at?.toISOString() ?? null,
  }
}

export function presentDeployment(
  { deployment, environment, user, job }: DeploymentRecord,
  project: { fullPath: string },
  view: View,
): z.infer<typeof Deployment> {
  return {
    id: deployment.id,
    iid: deployment.iid,
    ref: deployment.ref,
    sha: deployment.sha,
    status: deployment.status,
    created_at: deployment.created_at.toISOString(),
    updated_at: deployment.updated_at.toISOString(),
    user: user && presentUserRef(user, view),
    environment: presentEnvironmentBasic(environment),
    deployable: job && presentJob(job, project, view),
  }
}

export const presentEnvironment = (
  environment: Row,
  last: DeploymentRecord | undefined,
  project: { fullPath: string },
  view: View,
): z.infer<typeof Environment> =>
  Object.assign(presentEnvironmentBasic(environment), { last_deployment: last ? presentDeployment(last, project, view) : null })
