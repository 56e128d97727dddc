import { z } from 'zod'
import { fullPathOf, onProjectSignedIn } from '../../access/rules.js'
import { Job, presentJob } from '../../entities/ci/job.js'
import { endpoint, pageOf } from '../../http/endpoint.js'
import { idPaging, list, oneOf, opt, rowId } from '../../http/params.js'
import { PIPELINE_STATES } from '../../rules/pipeline-states.js'
import { getJob, listJobs, listPipelineJobs } from '../../services/ci/jobs.js'

const read = onProjectSignedIn('read_pipeline')
const scope = opt(list(oneOf(PIPELINE_STATES)))

/** Jobs (PL-10, PL-11). */
export const jobs = [
  endpoint({
    method: 'GET',
    path: '/projects/:id/pipelines/:pipeline_id/jobs',
    summary: 'List the jobs of a pipeline',
    polled: true,
    access: read,
    input: z.object({ pipeline_id: rowId(), scope, ...idPaging }),
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
    path: '/projects/:id/jobs',
    summary: 'List the jobs of a project',
    polled: true,
    access: read,
    input: z.object({ scope, ...idPaging }),
    output: z.array(Job),
    async handler({ ctx, subject, input, view }) {
      const project = { fullPath: fullPathOf(subject.project) }
      return pageOf(await listJobs(ctx, subject, input), input, (job) => presentJob(job, project, view)).inOrderOfIds(input)
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
