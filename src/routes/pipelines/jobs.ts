import { z } from 'zod'
import { fullPathOf, getProjectFor, onProjectSignedIn, type ProjectSubject, signedIn } from '../../access/rules.js'
import type { Context } from '../../context.js'
import { Bridge, Job, presentBridge, presentJob } from '../../entities/ci/job.js'
import { notFound } from '../../failures.js'
import { Content } from '../../http/content.js'
import { endpoint, pageOf } from '../../http/endpoint.js'
import { bool, idPaging, list, oneOf, opt, rowId } from '../../http/params.js'
import type { View } from '../../http/view.js'
import { PIPELINE_STATES } from '../../rules/pipeline-states.js'
import { listBridges } from '../../services/ci/bridges/list.js'
import { cancelJob, eraseJob, playJob, retryJob } from '../../services/ci/builds/actions.js'
import { traceOf } from '../../services/ci/builds/trace.js'
import { getJob, listJobs, listPipelineJobs } from '../../services/ci/jobs.js'

const read = onProjectSignedIn('read_pipeline')

const shown = async (ctx: Context, subject: ProjectSubject, view: View, id: number) =>
  presentJob(await getJob(ctx, subject, id), { fullPath: fullPathOf(subject.project) }, view)

const scope = opt(list(oneOf(PIPELINE_STATES)))

const change = onProjectSignedIn('update_build')
const job_id = rowId()
const variable = z.strictObject({ key: z.string().min(1).max(255), value: z.string().max(65_536) })

/** Jobs (PL-10, PL-11, CI-120 to CI-123). */
export const jobs = [
  endpoint({
    method: 'GET',
    path: '/job',
    summary: 'Get the job that calls',
    description: 'With the token of a job that runs.',
    access: signedIn,
    jobToken: true,
    output: Job,
    async handler({ ctx, caller, view }) {
      if (!caller.job) throw notFound('Job')
      return shown(ctx, await getProjectFor(ctx, caller, String(caller.job.project)), view, caller.job.id)
    },
  }),
  endpoint({
    method: 'GET',
    path: '/projects/:id/jobs/:job_id/trace',
    summary: 'Get the log of a job',
    polled: true,
    access: read,
    input: z.object({ job_id }),
    raw: ['text/plain'],
    answers: [206, 304, 416],
    async handler({ ctx, subject, input }) {
      const { size, open } = await traceOf(ctx, subject, input.job_id)
      return new Content({
        etag: `"${input.job_id}-${size}"`,
        size,
        headers: { 'content-type': 'text/plain; charset=utf-8', 'content-disposition': `inline; filename="${input.job_id}.log"` },
        open: async ({ start, end } = { start: 0, end: size - 1 }) => open(start, end + 1),
      })
    },
  }),
  endpoint({
    method: 'POST',
    path: '/projects/:id/jobs/:job_id/cancel',
    summary: 'Cancel a job',
    access: change,
    input: z.object({ job_id }),
    output: Job,
    handler: async ({ ctx, subject, caller, input, view }) => shown(ctx, subject, view, await cancelJob(ctx, subject, caller, input.job_id)),
  }),
  endpoint({
    method: 'POST',
    path: '/projects/:id/jobs/:job_id/retry',
    summary: 'Retry a job',
    access: change,
    input: z.object({ job_id }),
    output: Job,
    handler: async ({ ctx, subject, caller, input, view }) => shown(ctx, subject, view, await retryJob(ctx, subject, caller, input.job_id)),
  }),
  endpoint({
    method: 'POST',
    path: '/projects/:id/jobs/:job_id/play',
    summary: 'Start a manual or delayed job',
    access: change,
    input: z.object({ job_id, job_variables_attributes: z.array(variable).max(100).optional() }),
    output: Job,
    status: 200,
    async handler({ ctx, subject, caller, input, view }) {
      return shown(ctx, subject, view, await playJob(ctx, subject, caller, input.job_id, input.job_variables_attributes ?? []))
    },
  }),
  endpoint({
    method: 'POST',
    path: '/projects/:id/jobs/:job_id/erase',
    summary: 'Erase the log of a job',
    access: change,
    input: z.object({ job_id }),
    output: Job,
    handler: async ({ ctx, subject, caller, input, view }) => shown(ctx, subject, view, await eraseJob(ctx, subject, caller, input.job_id)),
  }),
  endpoint({
    method: 'GET',
    path: '/projects/:id/pipelines/:pipeline_id/jobs',
    summary: 'List the jobs of a pipeline',
    polled: true,
    access: read,
    input: z.object({ pipeline_id: rowId(), scope, include_retried: opt(bool()), ...idPaging }),
    output: z.array(Job),
    async handler({ ctx, subject, input, view }) {
      const project = { fullPath: fullPathOf(subject.project) }
      return pageOf(await listPipelineJobs(ctx, subject, input.pipeline_id, input), input, (job) => presentJob(job, project, view)).inOrderOfIds(
        input,
      )
    },
  }),
  endpoint({
    method: 'GET',
    path: '/projects/:id/pipelines/:pipeline_id/bridges',
    summary: 'List the jobs of a pipeline that trigger others',
    polled: true,
    access: read,
    input: z.object({ pipeline_id: rowId(), scope, include_retried: opt(bool()), ...idPaging }),
    output: z.array(Bridge),
    async handler({ ctx, subject, caller, input, view }) {
      const project = { fullPath: fullPathOf(subject.project) }
      const found = await listBridges(ctx, subject, caller, input.pipeline_id, input)
      return pageOf(found, input, (bridge) => presentBridge(bridge, project, view)).inOrderOfIds(input)
    },
  }),
  endpoint({
    method: 'GET',
    path: '/projects/:id/jobs',
    summary: 'List the jobs of a project',
    polled: true,
    access: read,
    input: z.object({ scope, ...idPaging }),
    output: z.array(Job),
    async handler({ ctx, subject, input, view }) {
      const project = { fullPath: fullPathOf(subject.project) }
      const found = await listJobs(ctx, subject, { ...input, newestFirst: true })
      return pageOf(found, input, (job) => presentJob(job, project, view)).inOrderOfIds(input, 'desc')
    },
  }),
  endpoint({
    method: 'GET',
    path: '/projects/:id/jobs/:job_id',
    summary: 'Get a job',
    polled: true,
    access: read,
    input: z.object({ job_id: rowId() }),
    output: Job,
    async handler({ ctx, subject, input, view }) {
      return presentJob(await getJob(ctx, subject, input.job_id), { fullPath: fullPathOf(subject.project) }, view)
    },
  }),
]
