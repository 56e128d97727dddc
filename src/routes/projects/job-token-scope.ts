import { z } from 'zod'
import { hasJobTokenScope } from '../../access/jobs/job-tokens.js'
import { onProjectSignedIn } from '../../access/rules.js'
import { GroupRef, presentGroupRef } from '../../entities/groups/group.js'
import { BasicProject, presentBasicProject } from '../../entities/projects/project.js'
import { endpoint, pageOf } from '../../http/endpoint.js'
import { bool, paging, rowId } from '../../http/params.js'
import { allowJobs, disallowJobs, listAllowedGroups, listAllowedProjects, setJobTokenScope } from '../../services/projects/job-token-scope.js'

const access = onProjectSignedIn('manage_project')
const AT = '/projects/:id/job_token_scope'

const JobTokenScope = z
  .strictObject({ inbound_enabled: z.boolean(), outbound_enabled: z.boolean() })
  .meta({ id: 'JobTokenScope', description: 'Which jobs may use a project with their token.' })
const AllowedProject = z
  .strictObject({ source_project_id: z.int(), target_project_id: z.int() })
  .meta({ id: 'AllowedProject', description: 'A project whose jobs may use another one.' })
const AllowedGroup = z
  .strictObject({ source_project_id: z.int(), target_group_id: z.int() })
  .meta({ id: 'AllowedGroup', description: 'A group whose jobs may use a project.' })

/** Which jobs may use a project with their token (CI-244, CI-245). */
export const jobTokenScope = [
  endpoint({
    method: 'GET',
    path: AT,
    summary: 'Get the job token scope of a project',
    access,
    output: JobTokenScope,
    handler: async ({ ctx, subject }) => ({ inbound_enabled: await hasJobTokenScope(ctx, subject.project), outbound_enabled: false }),
  }),
  endpoint({
    method: 'PATCH',
    path: AT,
    summary: 'Update the job token scope of a project',
    access,
    input: z.object({ enabled: bool() }),
    status: 204,
    handler: ({ ctx, subject, input }) => setJobTokenScope(ctx, subject, input.enabled),
  }),
  endpoint({
    method: 'GET',
    path: `${AT}/allowlist`,
    summary: 'List the projects whose jobs may use a project',
    access,
    input: z.object(paging),
    output: z.array(BasicProject),
    handler: async ({ ctx, caller, subject, input, view }) =>
      pageOf(await listAllowedProjects(ctx, caller, subject, input), input, (record) => presentBasicProject(record, view)),
  }),
  endpoint({
    method: 'POST',
    path: `${AT}/allowlist`,
    summary: 'Let the jobs of another project use a project',
    access,
    input: z.object({ target_project_id: rowId() }),
    output: AllowedProject,
    async handler({ ctx, caller, subject, input }) {
      await allowJobs(ctx, caller, subject, { project: input.target_project_id })
      return { source_project_id: subject.project.id, target_project_id: input.target_project_id }
    },
  }),
  endpoint({
    method: 'DELETE',
    path: `${AT}/allowlist/:target_project_id`,
    summary: 'Take a project from those whose jobs may use a project',
    access,
    input: z.object({ target_project_id: rowId() }),
    handler: ({ ctx, subject, input }) => disallowJobs(ctx, subject, { project: input.target_project_id }),
  }),
  endpoint({
    method: 'GET',
    path: `${AT}/groups_allowlist`,
    summary: 'List the groups whose jobs may use a project',
    access,
    input: z.object(paging),
    output: z.array(GroupRef),
    handler: async ({ ctx, caller, subject, input, view }) =>
      pageOf(await listAllowedGroups(ctx, caller, subject, input), input, (group) => presentGroupRef(group, view)),
  }),
  endpoint({
    method: 'POST',
    path: `${AT}/groups_allowlist`,
    summary: 'Let the jobs of the projects of a group use a project',
    access,
    input: z.object({ target_group_id: rowId() }),
    output: AllowedGroup,
    async handler({ ctx, caller, subject, input }) {
      await allowJobs(ctx, caller, subject, { group: input.target_group_id })
      return { source_project_id: subject.project.id, target_group_id: input.target_group_id }
    },
  }),
  endpoint({
    method: 'DELETE',
    path: `${AT}/groups_allowlist/:target_group_id`,
    summary: 'Take a group from those whose jobs may use a project',
    access,
    input: z.object({ target_group_id: rowId() }),
    handler: ({ ctx, subject, input }) => disallowJobs(ctx, subject, { group: input.target_group_id }),
  }),
]
