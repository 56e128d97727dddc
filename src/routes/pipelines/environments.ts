import { z } from 'zod'
import { fullPathOf, onProjectSignedIn, type ProjectSubject } from '../../access/rules.js'
import {
  Deployment,
  Environment,
  EnvironmentBasic,
  presentDeployment,
  presentEnvironment,
  presentEnvironmentBasic,
} from '../../entities/ci/environment.js'
import { Job, presentJob } from '../../entities/ci/job.js'
import { presentResourceGroup, ResourceGroup } from '../../entities/ci/resource-group.js'
import { endpoint, pageOf } from '../../http/endpoint.js'
import { bool, clearable, datetime, filledIn, idPaging, int, oneOf, opt, orDefault, paging, rowId, str, updateOf } from '../../http/params.js'
import { DEPLOYMENT_STATES, TIERS } from '../../rules/ci/environments.js'
import { PROCESS_MODES } from '../../rules/ci/resource-groups.js'
import {
  createDeployment,
  DEPLOYMENT_ORDERS,
  deleteDeployment,
  getDeployment,
  lastDeployments,
  listDeployments,
  REPORTED_STATES,
  updateDeployment,
} from '../../services/ci/environments/deployments.js'
import {
  createEnvironment,
  deleteEnvironment,
  deleteReviewEnvironments,
  getEnvironment,
  LISTED_STATES,
  listEnvironments,
  updateEnvironment,
} from '../../services/ci/environments/environments.js'
import { stopEnvironment } from '../../services/ci/environments/stop.js'
import { getResourceGroup, listResourceGroups, listUpcoming, updateResourceGroup } from '../../services/ci/resource-groups/list.js'

const read = onProjectSignedIn('read_environment')
const manage = onProjectSignedIn('manage_environment')
const order = onProjectSignedIn('update_build')
const environment_id = rowId()
const deployment_id = rowId()
const projectOf = ({ project }: ProjectSubject) => ({ fullPath: fullPathOf(project) })

/** Environments (CI-284, CI-286). */
const environments = [
  endpoint({
    method: 'GET',
    path: '/projects/:id/environments',
    summary: 'List environments',
    polled: true,
    access: read,
    input: z.object({ name: opt(str()), search: opt(str()), states: opt(oneOf(LISTED_STATES)), ...idPaging }),
    output: z.array(EnvironmentBasic),
    async handler({ ctx, subject, input }) {
      return pageOf(await listEnvironments(ctx, subject, input), input, presentEnvironmentBasic).inOrderOfIds(input)
    },
  }),
  endpoint({
    method: 'GET',
    path: '/projects/:id/environments/:environment_id',
    summary: 'Get an environment',
    polled: true,
    access: read,
    input: z.object({ environment_id }),
    output: Environment,
    async handler({ ctx, subject, input, view }) {
      const environment = await getEnvironment(ctx, subject, input.environment_id)
      const last = await lastDeployments(ctx, subject, [environment.id])
      return presentEnvironment(environment, last.get(environment.id), projectOf(subject), view)
    },
  }),
  endpoint({
    method: 'POST',
    path: '/projects/:id/environments',
    summary: 'Create an environment',
    access: manage,
    input: z.object({ name: filledIn(), external_url: opt(clearable()), tier: opt(oneOf(TIERS)) }),
    output: EnvironmentBasic,
    handler: async ({ ctx, subject, input }) => presentEnvironmentBasic(await createEnvironment(ctx, subject, input)),
  }),
  endpoint({
    method: 'PUT',
    path: '/projects/:id/environments/:environment_id',
    summary: 'Change an environment',
    access: manage,
    input: updateOf(z.object({ environment_id, name: opt(filledIn()), external_url: opt(clearable()), tier: opt(oneOf(TIERS)) })),
    output: EnvironmentBasic,
    async handler({ ctx, subject, caller, input: { environment_id: id, ...given } }) {
      return presentEnvironmentBasic(await updateEnvironment(ctx, subject, caller, id, given))
    },
  }),
  endpoint({
    method: 'DELETE',
    path: '/projects/:id/environments/review_apps',
    summary: 'Delete stopped environments of reviews',
    description: 'Those whose name begins with `review/`, the oldest first, with their deployments.',
    access: manage,
    input: z.object({ before: opt(datetime()), limit: orDefault(int({ min: 1, max: 1_000 }), 100), dry_run: orDefault(bool(), true) }),
    output: z.strictObject({ scheduled_entries: z.array(EnvironmentBasic), unprocessable_entries: z.array(EnvironmentBasic) }),
    status: 200,
    async handler({ ctx, subject, caller, input }) {
      const entries = await deleteReviewEnvironments(ctx, subject, caller, input)
      return { scheduled_entries: entries.map(presentEnvironmentBasic), unprocessable_entries: [] }
    },
  }),
  endpoint({
    method: 'DELETE',
    path: '/projects/:id/environments/:environment_id',
    summary: 'Delete an environment that is stopped',
    access: manage,
    input: z.object({ environment_id }),
    handler: ({ ctx, subject, caller, input }) => deleteEnvironment(ctx, subject, caller, input.environment_id),
  }),
  endpoint({
    method: 'POST',
    path: '/projects/:id/environments/:environment_id/stop',
    summary: 'Stop an environment',
    description: 'By the job that its last deployment names (`on_stop`), which runs as the caller.',
    access: manage,
    input: z.object({ environment_id, force: opt(bool()) }),
    output: EnvironmentBasic,
    status: 200,
    async handler({ ctx, subject, caller, input }) {
      const { environment_id: id, force } = input
      return presentEnvironmentBasic(await stopEnvironment(ctx, subject, caller, id, { force }))
    },
  }),
]

/** Deployments (CI-285). */
const deployments = [
  endpoint({
    method: 'GET',
    path: '/projects/:id/deployments',
    summary: 'List deployments',
    polled: true,
    access: read,
    input: z.object({
      environment: opt(str()),
      status: opt(oneOf(DEPLOYMENT_STATES)),
      updated_after: opt(datetime()),
      updated_before: opt(datetime()),
      finished_after: opt(datetime()),
      finished_before: opt(datetime()),
      order_by: orDefault(oneOf(DEPLOYMENT_ORDERS), 'id'),
      sort: orDefault(oneOf(['asc', 'desc']), 'asc'),
      ...idPaging,
    }),
    output: z.array(Deployment),
    async handler({ ctx, subject, input, view }) {
      const project = projectOf(subject)
      return pageOf(await listDeployments(ctx, subject, input), input, (each) => presentDeployment(each, project, view)).inOrderOfIds(input)
    },
  }),
  endpoint({
    method: 'GET',
    path: '/projects/:id/deployments/:deployment_id',
    summary: 'Get a deployment',
    polled: true,
    access: read,
    input: z.object({ deployment_id }),
    output: Deployment,
    async handler({ ctx, subject, input, view }) {
      return presentDeployment(await getDeployment(ctx, subject, input.deployment_id), projectOf(subject), view)
    },
  }),
  endpoint({
    method: 'POST',
    path: '/projects/:id/deployments',
    summary: 'Report a deployment',
    description: 'By a program that deploys without jobs. An environment that is not there is made.',
    access: manage,
    input: z.object({ environment: filledIn(), sha: filledIn(), ref: filledIn(), tag: orDefault(bool(), false), status: oneOf(REPORTED_STATES) }),
    output: Deployment,
    async handler({ ctx, subject, caller, input, view }) {
      return presentDeployment(await createDeployment(ctx, subject, caller, input), projectOf(subject), view)
    },
  }),
  endpoint({
    method: 'PUT',
    path: '/projects/:id/deployments/:deployment_id',
    summary: 'Change the state of a deployment that was reported',
    access: manage,
    input: z.object({ deployment_id, status: oneOf(REPORTED_STATES) }),
    output: Deployment,
    async handler({ ctx, subject, caller, input, view }) {
      return presentDeployment(await updateDeployment(ctx, subject, caller, input.deployment_id, input.status), projectOf(subject), view)
    },
  }),
  endpoint({
    method: 'DELETE',
    path: '/projects/:id/deployments/:deployment_id',
    summary: 'Delete a deployment',
    access: onProjectSignedIn('delete_deployment'),
    input: z.object({ deployment_id }),
    handler: ({ ctx, subject, input }) => deleteDeployment(ctx, subject, input.deployment_id),
  }),
]

const key = filledIn()

/** Resource groups (CI-293). */
const resourceGroups = [
  endpoint({
    method: 'GET',
    path: '/projects/:id/resource_groups',
    summary: 'List resource groups',
    access: order,
    input: z.object({ ...paging }),
    output: z.array(ResourceGroup),
    handler: async ({ ctx, subject, input }) => pageOf(await listResourceGroups(ctx, subject, input), input, presentResourceGroup),
  }),
  endpoint({
    method: 'GET',
    path: '/projects/:id/resource_groups/:key',
    summary: 'Get a resource group',
    access: order,
    input: z.object({ key }),
    output: ResourceGroup,
    handler: async ({ ctx, subject, input }) => presentResourceGroup(await getResourceGroup(ctx, subject, input.key)),
  }),
  endpoint({
    method: 'PUT',
    path: '/projects/:id/resource_groups/:key',
    summary: 'Change the order in which the jobs of a resource group run',
    access: order,
    input: z.object({ key, process_mode: oneOf(PROCESS_MODES) }),
    output: ResourceGroup,
    async handler({ ctx, subject, input }) {
      return presentResourceGroup(await updateResourceGroup(ctx, subject, input.key, input.process_mode))
    },
  }),
  endpoint({
    method: 'GET',
    path: '/projects/:id/resource_groups/:key/upcoming_jobs',
    summary: 'List the jobs that run next in a resource group',
    access: order,
    input: z.object({ key, ...paging }),
    output: z.array(Job),
    async handler({ ctx, subject, input, view }) {
      const project = projectOf(subject)
      return pageOf(await listUpcoming(ctx, subject, input.key, input), input, (job) => presentJob(job, project, view))
    },
  }),
]

export const deployed = [...environments, ...deployments, ...resourceGroups]
