import { eq, type SQL, sql } from 'drizzle-orm'
import type { Context } from '../../../context.js'
import { builds, commitStatuses } from '../../../db/schema/index.js'
import { Failure } from '../../../failures.js'
import { digestOf } from '../../../lib/crypto/secret.js'
import type { PlannedJob } from '../../../rules/ci/types.js'
import type { PipelineState } from '../../../rules/pipeline-states.js'

/** A job as its runner names it. */
export interface RunningBuild {
  job: number
  project: number
  pipeline: number
  state: PipelineState
  definition: PlannedJob
  trace_size: number
  retries: number
}

/** The answer to a job that the runner must stop, or has lost: it kills what runs (CI-113). */
export const notRunning = (state?: PipelineState) =>
  new Failure('forbidden', { message: state ? '403 Forbidden - Job is not running' : '403 Forbidden' }, state ? { 'job-status': state } : {})

async function findBuild(ctx: Context, condition: SQL): Promise<RunningBuild | undefined> {
  const [found] = await ctx.db.write
    .select({
      job: builds.job_id,
      project: commitStatuses.project_id,
      pipeline: commitStatuses.pipeline_id,
      state: commitStatuses.status,
      definition: builds.definition,
      trace_size: builds.trace_size,
      retries: builds.retries,
    })
    .from(builds)
    .innerJoin(commitStatuses, eq(commitStatuses.id, builds.job_id))
    .where(condition)
  return found
}

/** The job with this id. */
export const buildById = (ctx: Context, id: number) => findBuild(ctx, eq(builds.job_id, id))

/** The job with a token; 403 if there is none, as runners expect. */
async function findByToken(ctx: Context, token: string): Promise<RunningBuild> {
  const found = await findBuild(ctx, eq(builds.digest, digestOf(token)))
  if (!found) throw notRunning()
  return found
}

/** The job with this id and token; 403 for any other. */
export async function buildByToken(ctx: Context, id: number, token: string): Promise<RunningBuild> {
  const found = await findByToken(ctx, token)
  if (found.job !== id) throw notRunning()
  return found
}

/** The same, if it still runs. */
export async function runningBuild(ctx: Context, id: number, token: string): Promise<RunningBuild> {
  const found = await buildByToken(ctx, id, token)
  if (found.state !== 'running') throw notRunning(found.state)
  return found
}

/** The job with a token, if it still runs. */
export async function runningByToken(ctx: Context, token: string): Promise<RunningBuild> {
  const found = await findByToken(ctx, token)
  if (found.state !== 'running') throw notRunning(found.state)
  return found
}

/** Takes note that a runner still works on a job, at most every few seconds. */
export const recordSign = async (ctx: Context, { job }: Pick<RunningBuild, 'job'>): Promise<void> =>
  void (await ctx.db.write
    .update(builds)
    .set({ seen_at: ctx.now() })
    .where(sql`${builds.job_id} = ${job} and ${builds.seen_at} < ${new Date(ctx.now().getTime() - 5_000).toISOString()}::timestamptz`))
