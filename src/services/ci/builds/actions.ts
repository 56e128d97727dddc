import { and, eq, sql } from 'drizzle-orm'
import type { SignedIn } from '../../../access/actor.js'
import type { ProjectSubject } from '../../../access/rules.js'
import type { Context } from '../../../context.js'
import type { Transaction } from '../../../db/client.js'
import { artifacts, builds, commitStatuses, pipelines, traceChunks } from '../../../db/schema/index.js'
import { forbidden, notFound, refused } from '../../../failures.js'
import type { Variable } from '../../../rules/ci/types.js'
import type { PipelineState } from '../../../rules/pipeline-states.js'
import { closedEnvironments, requireDeploys } from '../environments/protected.js'
import { mayRunOn } from '../target.js'
import { refuseVariables } from '../variables.js'
import { enqueueBuilds } from './advance.js'
import { cancelJobs, OPEN } from './cancel.js'
import { changeJobs } from './change.js'
import { copyJob } from './report.js'

type Locked = {
  tx: Transaction
  pipeline: typeof pipelines.$inferSelect
  job: typeof commitStatuses.$inferSelect
  build: typeof builds.$inferSelect | null
}

const environmentName = sql<string | null>`${builds.definition} -> 'environment' ->> 'name'`

/** Changes a job with its pipeline locked, and begins what follows. The work returns the id of the job to show. */
async function change(
  ctx: Context,
  subject: ProjectSubject,
  caller: SignedIn,
  id: number,
  work: (locked: Locked) => Promise<number>,
): Promise<number> {
  const { project } = subject
  const [known] = await ctx.db.write
    .select({ pipeline: commitStatuses.pipeline_id, kind: commitStatuses.kind, ref: pipelines.ref, tag: pipelines.tag, environment: environmentName })
    .from(commitStatuses)
    .innerJoin(pipelines, eq(pipelines.id, commitStatuses.pipeline_id))
    .leftJoin(builds, eq(builds.job_id, commitStatuses.id))
    .where(and(eq(commitStatuses.project_id, project.id), eq(commitStatuses.id, id)))
  if (!known) throw notFound()
  if (known.kind !== 'status' && !(await mayRunOn(ctx, subject, known))) throw forbidden()
  if (known.environment !== null) await requireDeploys(ctx, subject, caller, known.environment)
  const shown = await changeJobs(ctx, known.pipeline, async (tx, pipeline) => {
    const [row] = await tx
      .select({ job: commitStatuses, build: builds })
      .from(commitStatuses)
      .leftJoin(builds, eq(builds.job_id, commitStatuses.id))
      .where(eq(commitStatuses.id, id))
    return row ? work({ tx, pipeline, ...row }) : null
  })
  if (shown === null) throw notFound()
  return shown
}

const ENDED: PipelineState[] = ['success', 'failed', 'canceled']

export type JobAction = 'cancel' | 'retry' | 'play' | 'erase'

/** What the state of a job lets those do with it who may change jobs. */
export function possibleActions({
  status: { status },
  latest,
  build,
}: {
  status: { status: PipelineState }
  latest: boolean
  build: { erased_at: Date | null; isBridge: boolean } | null
}): JobAction[] {
  if (!build) return []
  const possible: [JobAction, boolean][] = [
    ['play', status === 'manual' || status === 'scheduled'],
    ['cancel', OPEN.includes(status) && status !== 'manual'],
    ['retry', latest && ENDED.includes(status)],
    ['erase', !build.isBridge && build.erased_at === null && ENDED.includes(status)],
  ]
  return possible.flatMap(([action, can]) => (can ? [action] : []))
}

/** Cancels a job at once, whether its runner answers or not (CI-120). */
export const cancelJob = (ctx: Context, subject: ProjectSubject, caller: SignedIn, id: number): Promise<number> =>
  change(ctx, subject, caller, id, async ({ tx, job }) => {
    if (OPEN.includes(job.status)) await cancelJobs(ctx, tx, [id])
    return id
  })

/** Adds another attempt of a job that has ended (CI-121). */
export const retryJob = (ctx: Context, subject: ProjectSubject, caller: SignedIn, id: number): Promise<number> =>
  change(ctx, subject, caller, id, async ({ tx, pipeline, job, build }) => {
    if (!build || !job.latest || !ENDED.includes(job.status)) throw forbidden('Job is not retryable')
    const copy = await copyJob(ctx, tx, pipeline, id, { user: caller.user.id })
    await revive(tx, pipeline, [job])
    return copy
  })

/** What was skipped after a job waits again for the new attempt. */
export const revive = (tx: Transaction, pipeline: typeof pipelines.$inferSelect, jobs: { stage_index: number }[]) =>
  tx
    .update(commitStatuses)
    .set({ status: 'created', finished_at: null })
    .where(
      and(
        eq(commitStatuses.project_id, pipeline.project_id),
        eq(commitStatuses.pipeline_id, pipeline.id),
        sql`${commitStatuses.latest} and ${commitStatuses.kind} <> 'status' and ${commitStatuses.status} = 'skipped'`,
        sql`${commitStatuses.stage_index} >= ${Math.min(...jobs.map(({ stage_index }) => stage_index))}`,
      ),
    )

/** Starts a job that waits for somebody, or for its time (CI-122). */
export const playJob = (ctx: Context, subject: ProjectSubject, caller: SignedIn, id: number, variables: Variable[]): Promise<number> =>
  change(ctx, subject, caller, id, async ({ tx, pipeline, job, build }) => {
    if (!build || (job.status !== 'manual' && job.status !== 'scheduled')) throw refused('Unplayable Job')
    if (variables.length > 0) refuseVariables(subject)
    await tx.update(commitStatuses).set({ status: 'pending', queued_at: ctx.now(), user_id: caller.user.id }).where(eq(commitStatuses.id, id))
    await tx.update(builds).set({ variables, scheduled_at: null }).where(eq(builds.job_id, id))
    await enqueueBuilds(tx, pipeline, [id])
    // what was decided while it waited is decided again
    await revive(tx, pipeline, [{ stage_index: job.stage_index + 1 }])
    return id
  })

/** Removes the log and the files of a job that has ended (CI-123). */
export const eraseJob = (ctx: Context, subject: ProjectSubject, caller: SignedIn, id: number): Promise<number> =>
  change(ctx, subject, caller, id, async ({ tx, job, build }) => {
    if (!build || job.kind === 'bridge' || build.erased_at || !ENDED.includes(job.status)) throw forbidden('Job is not erasable!')
    await tx.delete(traceChunks).where(eq(traceChunks.job_id, id))
    await tx.delete(artifacts).where(eq(artifacts.job_id, id))
    await tx.update(builds).set({ trace_size: 0, trace_held: null, erased_at: ctx.now(), erased_by: caller.user.id }).where(eq(builds.job_id, id))
    return id
  })

/** Adds other attempts of all jobs of a pipeline that failed or were canceled (CI-124). */
export async function retryPipeline(ctx: Context, subject: ProjectSubject, caller: SignedIn, id: number): Promise<void> {
  const { project } = subject
  const [known] = await ctx.db.write
    .select()
    .from(pipelines)
    .where(and(eq(pipelines.project_id, project.id), eq(pipelines.id, id)))
  if (known && !(await mayRunOn(ctx, subject, known))) throw forbidden()
  const closed = await closedEnvironments(ctx, subject, caller)
  const changed = await changeJobs(ctx, id, async (tx, pipeline) => {
    if (pipeline.project_id !== project.id) return null
    const ended = await tx
      .select({ id: commitStatuses.id, stage_index: commitStatuses.stage_index, environment: environmentName })
      .from(commitStatuses)
      .leftJoin(builds, eq(builds.job_id, commitStatuses.id))
      .where(
        and(
          eq(commitStatuses.project_id, project.id),
          eq(commitStatuses.pipeline_id, id),
          sql`${commitStatuses.latest} and ${commitStatuses.kind} <> 'status' and ${commitStatuses.status} in ('failed', 'canceled')`,
        ),
      )
    // those whose environment is protected from the caller stay as they are
    const failed = ended.filter(({ environment }) => environment === null || !closed.has(environment))
    for (const job of failed) await copyJob(ctx, tx, pipeline, job.id, { user: caller.user.id })
    if (failed.length > 0) await revive(tx, pipeline, failed)
    return true
  })
  if (!changed) throw notFound()
}
