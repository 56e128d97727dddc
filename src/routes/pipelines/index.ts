import { z } from 'zod'
import { fullPathOf, onProjectSignedIn } from '../../access/rules.js'
import { Pipeline, PipelineBasic, presentPipeline, presentPipelineBasic } from '../../entities/ci/pipeline.js'
import { endpoint, pageOf } from '../../http/endpoint.js'
import { datetime, idPaging, oneOf, opt, orDefault, rowId, str } from '../../http/params.js'
import { PIPELINE_STATES } from '../../rules/pipeline-states.js'
import { cancelPipeline, getPipeline, latestPipeline, listPipelines, ORDERS, SCOPES } from '../../services/ci/pipelines.js'
import { jobs } from './jobs.js'

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
  ...jobs,
]
