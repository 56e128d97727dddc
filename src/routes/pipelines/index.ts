import { z } from 'zod'
import { fullPathOf, onProjectSignedIn } from '../../access/rules.js'
import { Pipeline, PipelineBasic, presentPipeline, presentPipelineBasic } from '../../entities/ci/pipeline.js'
import { GivenVariable, presentGivenVariable } from '../../entities/ci/schedule.js'
import { endpoint, pageOf } from '../../http/endpoint.js'
import { bool, datetime, filledIn, idPaging, oneOf, opt, orDefault, rowId, str } from '../../http/params.js'
import { PIPELINE_STATES } from '../../rules/pipeline-states.js'
import { retryPipeline } from '../../services/ci/builds/actions.js'
import { runPipeline } from '../../services/ci/create.js'
import {
  cancelPipeline,
  deletePipeline,
  getPipeline,
  latestPipeline,
  listPipelines,
  ORDERS,
  SCOPES,
  variablesOfPipeline,
} from '../../services/ci/pipelines.js'
import { artifacts } from './artifacts.js'
import { jobs } from './jobs.js'
import { reports } from './reports.js'

const read = onProjectSignedIn('read_pipeline')

/** Pipelines (PL-8 to PL-12). */
export const pipelines = [
  endpoint({
    method: 'GET',
    path: '/projects/:id/pipelines',
    summary: 'List pipelines',
    polled: true,
    access: read,
    input: z.object({
      scope: opt(oneOf(SCOPES)),
      status: opt(oneOf(PIPELINE_STATES)),
      ref: opt(str()),
      sha: opt(str()),
      username: opt(str()),
      name: opt(str()),
      yaml_errors: opt(bool()),
      source: opt(str()),
      updated_after: opt(datetime()),
      updated_before: opt(datetime()),
      order_by: orDefault(oneOf(ORDERS), 'id'),
      sort: orDefault(oneOf(['asc', 'desc']), 'desc'),
      ...idPaging,
    }),
    output: z.array(PipelineBasic),
    async handler({ ctx, subject, input, view }) {
      const project = { fullPath: fullPathOf(subject.project) }
      return pageOf(await listPipelines(ctx, subject, input), input, (pipeline) => presentPipelineBasic(pipeline, project, view)).inOrderOfIds(input)
    },
  }),
  endpoint({
    method: 'GET',
    path: '/projects/:id/pipelines/latest',
    summary: 'Get the latest pipeline of a ref',
    polled: true,
    access: read,
    input: z.object({ ref: opt(str()) }),
    output: Pipeline,
    async handler({ ctx, subject, input, view }) {
      return presentPipeline(await latestPipeline(ctx, subject, input.ref), { fullPath: fullPathOf(subject.project) }, view)
    },
  }),
  endpoint({
    method: 'GET',
    path: '/projects/:id/pipelines/:pipeline_id',
    summary: 'Get a pipeline',
    polled: true,
    access: read,
    input: z.object({ pipeline_id: rowId() }),
    output: Pipeline,
    async handler({ ctx, subject, input, view }) {
      return presentPipeline(await getPipeline(ctx, subject, input.pipeline_id), { fullPath: fullPathOf(subject.project) }, view)
    },
  }),
  endpoint({
    method: 'GET',
    path: '/projects/:id/pipelines/:pipeline_id/variables',
    summary: 'List the variables that were given with a pipeline',
    access: read,
    input: z.object({ pipeline_id: rowId() }),
    output: z.array(GivenVariable),
    async handler({ ctx, caller, subject, input }) {
      return (await variablesOfPipeline(ctx, caller, subject, input.pipeline_id)).map(presentGivenVariable)
    },
  }),
  endpoint({
    method: 'POST',
    path: '/projects/:id/pipelines/:pipeline_id/cancel',
    summary: 'Cancel a pipeline',
    access: onProjectSignedIn('cancel_pipeline'),
    input: z.object({ pipeline_id: rowId() }),
    output: Pipeline,
    status: 200,
    async handler({ ctx, subject, input, view }) {
      return presentPipeline(await cancelPipeline(ctx, subject, input.pipeline_id), { fullPath: fullPathOf(subject.project) }, view)
    },
  }),
  endpoint({
    method: 'POST',
    path: '/projects/:id/pipeline',
    summary: 'Create a pipeline',
    description: 'Of the configuration in the repository.',
    access: onProjectSignedIn('create_pipeline'),
    input: z.object({
      ref: filledIn(),
      variables: z
        .array(
          z.strictObject({ key: z.string().min(1).max(255), value: z.string().max(65_536), variable_type: z.enum(['env_var', 'file']).optional() }),
        )
        .max(100)
        .optional(),
    }),
    output: Pipeline,
    async handler({ ctx, subject, caller, input, view }) {
      const variables = (input.variables ?? []).map(({ key, value, variable_type }) => ({ key, value, file: variable_type === 'file' }))
      const id = await runPipeline(ctx, caller, subject, { ref: input.ref, variables, source: 'api' })
      return presentPipeline(await getPipeline(ctx, subject, id), { fullPath: fullPathOf(subject.project) }, view)
    },
  }),
  endpoint({
    method: 'POST',
    path: '/projects/:id/pipelines/:pipeline_id/retry',
    summary: 'Retry the jobs of a pipeline that failed or were canceled',
    access: onProjectSignedIn('update_build'),
    input: z.object({ pipeline_id: rowId() }),
    output: Pipeline,
    async handler({ ctx, subject, caller, input, view }) {
      await retryPipeline(ctx, subject, caller, input.pipeline_id)
      return presentPipeline(await getPipeline(ctx, subject, input.pipeline_id), { fullPath: fullPathOf(subject.project) }, view)
    },
  }),
  endpoint({
    method: 'DELETE',
    path: '/projects/:id/pipelines/:pipeline_id',
    summary: 'Delete a pipeline with its jobs and logs',
    access: onProjectSignedIn('delete_pipeline'),
    input: z.object({ pipeline_id: rowId() }),
    handler: ({ ctx, subject, input }) => deletePipeline(ctx, subject, input.pipeline_id),
  }),
  ...jobs,
  ...reports,
  ...artifacts,
]
