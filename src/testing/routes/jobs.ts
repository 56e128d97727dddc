import type { FastifyInstance } from 'fastify'
import { JobRun, runJob } from '../jobs/run-job.js'
import { parsed, worldOf } from '../parameters.js'
import type { Worlds } from '../worlds.js'

/** The jobs of pipelines, which run as the caller says. */
export function jobRoutes(control: FastifyInstance, worlds: Worlds): void {
  control.post('/worlds/:name/jobs', async (request) => runJob(await worldOf(worlds, request), parsed(JobRun, request.body)))
}
