import { z } from 'zod'
import { adminFirst, onGroupSignedIn, onProjectSignedIn, signedIn } from '../../access/rules.js'
import type { Context } from '../../context.js'
import { presentRunnerJob, RunnerJob } from '../../entities/ci/job.js'
import { NewRunner, presentNewRunner, presentRunner, presentRunnerDetails, RunnerBasic, RunnerDetails } from '../../entities/ci/runner.js'
import { endpoint, pageOf } from '../../http/endpoint.js'
import { bool, commaList, int, oneOf, opt, paging, rowId, str } from '../../http/params.js'
import { PIPELINE_STATES } from '../../rules/pipeline-states.js'
import { listRunnerJobs } from '../../services/ci/jobs.js'
import { newRunnerOf } from '../../services/ci/runners/create.js'
import { disableRunner, enableRunner, getRunner, listRunners, type RunnerList, updateRunner } from '../../services/ci/runners/list.js'
import { removeRunner, resetRegistrationToken, resetRunnerToken, tagsOf } from '../../services/ci/runners/runners.js'
import { runnerProtocol } from './protocol.js'

const KINDS = ['instance_type', 'group_type', 'project_type'] as const
const LEVELS = ['not_protected', 'ref_protected'] as const
const filter = z.object({
  type: opt(oneOf(KINDS)),
  status: opt(oneOf(['active', 'paused', 'online', 'offline', 'never_contacted'])),
  paused: opt(bool()),
  tag_list: opt(commaList()),
  ...paging,
})

const RegistrationToken = z
  .strictObject({ token: z.string(), token_expires_at: z.null() })
  .meta({ id: 'RegistrationToken', description: 'A token with which runners are registered.' })
const shownToken = (token: string) => ({ token, token_expires_at: null })

const page = async (ctx: Context, of: RunnerList, input: z.infer<typeof filter>) => pageOf(await listRunners(ctx, of, input), input, presentRunner)

const id = rowId()
const INSTANCE = { group_id: null, project_id: null }

/** Runners: their administration, and what they call themselves (CI-110 to CI-118). */
export const runners = [
  ...runnerProtocol,
  endpoint({
    method: 'GET',
    path: '/runners',
    summary: 'List the runners that you may change',
    access: signedIn,
    input: filter,
    output: z.array(RunnerBasic),
    handler: ({ ctx, caller, input }) => page(ctx, { of: 'user', user: caller.user.id }, input),
  }),
  endpoint({
    method: 'GET',
    path: '/runners/all',
    summary: 'List all runners',
    access: adminFirst,
    input: filter,
    output: z.array(RunnerBasic),
    handler: ({ ctx, input }) => page(ctx, { of: 'all' }, input),
  }),
  endpoint({
    method: 'POST',
    path: '/user/runners',
    summary: 'Create a runner',
    description: 'GitLab Runner is then registered with the token, which is shown only in this response.',
    access: signedIn,
    input: z.object({
      runner_type: oneOf(KINDS),
      group_id: opt(rowId()),
      project_id: opt(rowId()),
      description: opt(str()),
      maintenance_note: opt(str()),
      paused: opt(bool()),
      locked: opt(bool()),
      run_untagged: opt(bool()),
      access_level: opt(oneOf(LEVELS)),
      maximum_timeout: opt(int({ min: 1 })),
      tag_list: opt(commaList()),
    }),
    output: NewRunner,
    answers: [403],
    async handler({ ctx, caller, input }) {
      const { runner, token } = await newRunnerOf(ctx, caller, {
        kind: input.runner_type,
        group_id: input.group_id ?? null,
        project_id: input.project_id ?? null,
        description: input.description,
        maintenance_note: input.maintenance_note,
        paused: input.paused,
        locked: input.locked,
        run_untagged: input.run_untagged,
        protected: input.access_level === 'ref_protected',
        maximum_timeout: input.maximum_timeout,
        tags: tagsOf(input.tag_list ?? []),
      })
      return presentNewRunner(runner.id, token)
    },
  }),
  endpoint({
    method: 'GET',
    path: '/runners/:id',
    summary: 'Get a runner',
    access: signedIn,
    input: z.object({ id }),
    output: RunnerDetails,
    answers: [403],
    handler: async ({ ctx, caller, input, view }) => presentRunnerDetails(await getRunner(ctx, caller.user, input.id), view),
  }),
  endpoint({
    method: 'GET',
    path: '/runners/:id/jobs',
    summary: 'List the jobs of a runner',
    description: 'Those of projects in which you are a reporter; administrators see all.',
    access: signedIn,
    input: z.object({ id, status: opt(oneOf(PIPELINE_STATES)), order_by: opt(oneOf(['id'])), sort: opt(oneOf(['asc', 'desc'])), ...paging }),
    output: z.array(RunnerJob),
    answers: [403],
    async handler({ ctx, caller, input, view }) {
      const { runner } = await getRunner(ctx, caller.user, input.id)
      return pageOf(await listRunnerJobs(ctx, caller.user, runner.id, input), input, (job) => presentRunnerJob(job, view))
    },
  }),
  endpoint({
    method: 'PUT',
    path: '/runners/:id',
    summary: 'Update a runner',
    access: signedIn,
    input: z.object({
      id,
      description: opt(str()),
      maintenance_note: opt(str()),
      active: opt(bool()),
      paused: opt(bool()),
      locked: opt(bool()),
      run_untagged: opt(bool()),
      access_level: opt(oneOf(LEVELS)),
      maximum_timeout: opt(int({ min: 1 })),
      tag_list: opt(commaList()),
    }),
    output: RunnerDetails,
    answers: [403],
    async handler({ ctx, caller, input, view }) {
      const { id: runner, active, paused, access_level, tag_list, ...given } = input
      const off = paused ?? (active === undefined ? undefined : !active)
      const changed = await updateRunner(ctx, caller.user, runner, {
        ...given,
        ...(off !== undefined && { paused: off }),
        ...(access_level && { protected: access_level === 'ref_protected' }),
        ...(tag_list && { tags: tagsOf(tag_list) }),
      })
      return presentRunnerDetails(changed, view)
    },
  }),
  endpoint({
    method: 'DELETE',
    path: '/runners/:id',
    summary: 'Remove a runner',
    access: signedIn,
    input: z.object({ id }),
    answers: [403],
    async handler({ ctx, caller, input }) {
      await removeRunner(ctx, (await getRunner(ctx, caller.user, input.id)).runner.id)
    },
  }),
  endpoint({
    method: 'POST',
    path: '/runners/:id/reset_authentication_token',
    summary: "Replace a runner's token",
    access: signedIn,
    input: z.object({ id }),
    output: RegistrationToken,
    answers: [403],
    handler: async ({ ctx, caller, input }) => shownToken(await resetRunnerToken(ctx, (await getRunner(ctx, caller.user, input.id)).runner)),
  }),
  endpoint({
    method: 'POST',
    path: '/runners/reset_registration_token',
    summary: 'Replace the registration token of the instance',
    access: adminFirst,
    output: RegistrationToken,
    handler: async ({ ctx }) => shownToken(await resetRegistrationToken(ctx, INSTANCE)),
  }),
  endpoint({
    method: 'GET',
    path: '/projects/:id/runners',
    summary: 'List the runners that serve a project',
    access: onProjectSignedIn('manage_runners'),
    input: filter,
    output: z.array(RunnerBasic),
    handler: ({ ctx, subject, input }) => page(ctx, { of: 'project', project: subject.project.id }, input),
  }),
  endpoint({
    method: 'POST',
    path: '/projects/:id/runners',
    summary: 'Let a runner serve a project',
    access: onProjectSignedIn('manage_runners'),
    input: z.object({ runner_id: rowId() }),
    output: RunnerBasic,
    handler: async ({ ctx, caller, subject, input }) => presentRunner(await enableRunner(ctx, caller.user, subject.project.id, input.runner_id)),
  }),
  endpoint({
    method: 'DELETE',
    path: '/projects/:id/runners/:runner_id',
    summary: 'Take a project from a runner',
    access: onProjectSignedIn('manage_runners'),
    input: z.object({ runner_id: rowId() }),
    handler: ({ ctx, subject, input }) => disableRunner(ctx, subject.project.id, input.runner_id),
  }),
  endpoint({
    method: 'POST',
    path: '/projects/:id/runners/reset_registration_token',
    summary: 'Replace the registration token of a project',
    access: onProjectSignedIn('manage_runners'),
    output: RegistrationToken,
    handler: async ({ ctx, subject }) => shownToken(await resetRegistrationToken(ctx, { group_id: null, project_id: subject.project.id })),
  }),
  endpoint({
    method: 'GET',
    path: '/groups/:id/runners',
    summary: 'List the runners of a group',
    access: onGroupSignedIn('manage_runners'),
    input: filter,
    output: z.array(RunnerBasic),
    handler: ({ ctx, subject, input }) => page(ctx, { of: 'group', group: subject.group.id }, input),
  }),
  endpoint({
    method: 'POST',
    path: '/groups/:id/runners/reset_registration_token',
    summary: 'Replace the registration token of a group',
    access: onGroupSignedIn('manage_runners'),
    output: RegistrationToken,
    handler: async ({ ctx, subject }) => shownToken(await resetRegistrationToken(ctx, { group_id: subject.group.id, project_id: null })),
  }),
]
