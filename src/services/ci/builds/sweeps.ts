import { and, asc, eq, isNotNull, lt, not, sql } from 'drizzle-orm'
import { z } from 'zod'
import type { Context } from '../../../context.js'
import { builds, commitStatuses, pendingBuilds } from '../../../db/schema/index.js'
import { defineJob } from '../../../jobs/kinds.js'
import { enqueueBuilds } from './advance.js'
import { changeJobs } from './change.js'
import { endBuild } from './report.js'

/** Jobs that one run of a sweep looks at. */
const BATCH = 500
/** Seconds without a sign of its runner after which a job has failed; runners give one every half minute. */
const SILENT_S = 3_600
/** Seconds beyond its own time after which a job has failed: its runner should have ended it. */
const GRACE_S = 600
/** Seconds without any sign after a job was given away: the answer was lost, or its runner ended; the job waits again. */
const LOST_S = 300
/** Seconds after which a job that no runner has taken has failed. */
const PENDING_S = 86_400

const ago = (ctx: Pick<Context, 'now'>, seconds: number) => new Date(ctx.now().getTime() - seconds * 1_000)

/** Every minute: fails jobs whose runner is gone, whose time is over, or that no runner takes (CI-125). */
export const endStaleBuilds = defineJob({
  kind: 'end stale jobs',
  input: z.object({}),
  every: 60_000,
  async run(ctx: Context) {
    const late = sql`${commitStatuses.started_at} + (${builds.timeout} + ${GRACE_S}) * interval '1 second' < ${ctx.now().toISOString()}::timestamptz`
    const silent = await ctx.db.write
      .select({ job: builds.job_id, pipeline: commitStatuses.pipeline_id })
      .from(builds)
      .innerJoin(commitStatuses, eq(commitStatuses.id, builds.job_id))
      .where(and(isNotNull(builds.seen_at), sql`(${lt(builds.seen_at, ago(ctx, SILENT_S))} or ${late})`, not(unheard(ctx))))
      .orderBy(asc(builds.seen_at))
      .limit(BATCH)
    const waiting = await ctx.db.write.execute<{ job: string; pipeline: string }>(sql`select p.job_id as job, s.pipeline_id as pipeline
      from ${pendingBuilds} p join ${commitStatuses} s on s.id = p.job_id
      where s.queued_at < ${ago(ctx, PENDING_S).toISOString()}::timestamptz order by p.job_id limit ${BATCH}`)
    const found = [...silent, ...waiting.rows.map(({ job, pipeline }) => ({ job: Number(job), pipeline: Number(pipeline) }))]
    for (const { job, pipeline } of found) await endBuild(ctx, pipeline, job, { state: 'failed', failure_reason: 'stuck_or_timeout_failure' })
  },
})

/** Every minute: jobs of whose runner nothing was ever heard wait again, with another token (CI-127). */
export const returnLostBuilds = defineJob({
  kind: 'return lost jobs',
  input: z.object({}),
  every: 60_000,
  async run(ctx: Context) {
    const lost = await ctx.db.write
      .select({ job: builds.job_id, pipeline: commitStatuses.pipeline_id })
      .from(builds)
      .innerJoin(commitStatuses, eq(commitStatuses.id, builds.job_id))
      .where(unheard(ctx))
      .orderBy(asc(builds.seen_at))
      .limit(BATCH)
    for (const { job, pipeline } of lost) await waitAgain(ctx, pipeline, job)
  },
})

/** The condition for jobs that were given away and of which nothing was heard since. */
const unheard = (ctx: Pick<Context, 'now'>) =>
  sql`(${lt(builds.seen_at, ago(ctx, LOST_S))} and ${eq(builds.seen_at, commitStatuses.started_at)} and ${eq(builds.trace_size, 0)})`

async function waitAgain(ctx: Context, pipelineId: number, job: number): Promise<void> {
  await changeJobs(ctx, pipelineId, async (tx, pipeline) => {
    const returned = await tx
      .update(builds)
      .set({ runner_id: null, digest: null, timeout: null, seen_at: null, masks: null })
      .from(commitStatuses)
      .where(and(eq(builds.job_id, job), eq(commitStatuses.id, job), eq(commitStatuses.status, 'running'), unheard(ctx)))
      .returning({ id: builds.job_id })
    if (returned.length === 0) return null
    await tx.update(commitStatuses).set({ status: 'pending', started_at: null }).where(eq(commitStatuses.id, job))
    await enqueueBuilds(tx, pipeline, [job])
    return true
  })
}

/** Every few seconds: begins delayed jobs whose time has come (CI-126). */
export const startDelayed = defineJob({
  kind: 'start delayed jobs',
  input: z.object({}),
  every: 5_000,
  async run(ctx: Context) {
    const due = await ctx.db.write
      .select({ job: builds.job_id, pipeline: commitStatuses.pipeline_id })
      .from(builds)
      .innerJoin(commitStatuses, eq(commitStatuses.id, builds.job_id))
      .where(and(isNotNull(builds.scheduled_at), lt(builds.scheduled_at, ctx.now())))
      .orderBy(asc(builds.scheduled_at))
      .limit(BATCH)
    for (const { job, pipeline } of due) await startNow(ctx, pipeline, job)
  },
})

async function startNow(ctx: Context, pipelineId: number, job: number): Promise<void> {
  await changeJobs(ctx, pipelineId, async (tx, pipeline) => {
    const started = await tx
      .update(commitStatuses)
      .set({ status: 'pending', queued_at: ctx.now() })
      .where(and(eq(commitStatuses.id, job), eq(commitStatuses.status, 'scheduled')))
      .returning({ id: commitStatuses.id })
    await tx.update(builds).set({ scheduled_at: null }).where(eq(builds.job_id, job))
    if (started.length > 0) await enqueueBuilds(tx, pipeline, [job])
    return true
  })
}
