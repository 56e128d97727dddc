import { eq, sql } from 'drizzle-orm'
import type { Context } from '../../../context.js'
import type { Transaction } from '../../../db/client.js'
import { builds, commitStatuses, pendingBuilds, type pipelines } from '../../../db/schema/index.js'
import type { PlannedJob } from '../../../rules/ci/types.js'
import { lateAddress } from '../environments/address.js'
import { copyDeployment, stoppedByJob } from '../environments/of-jobs.js'
import { enqueueBuilds } from './advance.js'
import { cancelJobs, openJobs } from './cancel.js'
import { changeJobs } from './change.js'
import { coverageOf } from './coverage.js'
import { endLogs } from './masking.js'
import { notRunning, type RunningBuild } from './running.js'

/** Reasons that runners may give; others become `unknown_failure`. */
const REASONS = new Set([
  'unknown_failure',
  'script_failure',
  'runner_system_failure',
  'job_execution_timeout',
  'stuck_or_timeout_failure',
  'runner_unsupported',
  'missing_dependency_failure',
  'forward_deployment_failure',
  'stale_schedule',
  'scheduler_failure',
  'data_integrity_failure',
  'trace_size_exceeded',
  'builds_disabled',
  'user_blocked',
  'downstream_bridge_project_not_found',
  'insufficient_bridge_permissions',
  'downstream_pipeline_creation_failed',
  'reached_max_descendant_pipelines_depth',
  'reached_max_pipeline_hierarchy_size',
  'pipeline_loop_detected',
])

/** What a runner says about the end of a job. */
export interface BuildEnd {
  state: 'success' | 'failed'
  failure_reason?: string | undefined
  exit_code?: number | undefined
}

/** Ends a job as its runner says. A repeated report of the same state is answered as the first (CI-113). */
export async function reportEnd(ctx: Context, build: RunningBuild, end: BuildEnd): Promise<void> {
  if (build.state === end.state) return
  if (build.state !== 'running') throw notRunning(build.state)
  const coverage = await coverageOf(ctx, build)
  if (end.state === 'success') await lateAddress(ctx, build)
  await endBuild(ctx, build.pipeline, build.job, { ...end, coverage })
}

/** Ends a job that runs or waits, begins what follows it, and tries it again if it should be. */
export async function endBuild(ctx: Context, pipelineId: number, job: number, end: BuildEnd & { coverage?: number | null }): Promise<void> {
  const now = ctx.now()
  const reason = end.state === 'failed' ? (REASONS.has(end.failure_reason ?? '') ? (end.failure_reason as string) : 'unknown_failure') : null
  await changeJobs(ctx, pipelineId, async (tx, pipeline) => {
    const [row] = await tx
      .select({ status: commitStatuses.status, definition: builds.definition, retries: builds.retries })
      .from(commitStatuses)
      .innerJoin(builds, eq(builds.job_id, commitStatuses.id))
      .where(eq(commitStatuses.id, job))
      .for('no key update', { of: commitStatuses })
    if (row?.status !== 'running' && row?.status !== 'pending') return null
    await tx.delete(pendingBuilds).where(eq(pendingBuilds.job_id, job))
    const allowed = end.exit_code !== undefined && row.definition.allow_failure_exit_codes?.includes(end.exit_code)
    await tx
      .update(commitStatuses)
      .set({
        status: end.state,
        failure_reason: reason,
        finished_at: now,
        ...(allowed && { allow_failure: true }),
        ...(end.coverage != null && { coverage: end.coverage }),
      })
      .where(eq(commitStatuses.id, job))
    await tx
      .update(builds)
      .set({ exit_code: end.exit_code ?? null })
      .where(eq(builds.job_id, job))
    await endLogs(ctx, tx, [job])
    if (end.state === 'success') await stoppedByJob(ctx, tx, pipeline.project_id, row.definition)
    if (reason !== null && triesAgain(row.definition, row.retries, reason, end.exit_code))
      await copyJob(ctx, tx, pipeline, job, { retries: row.retries + 1 })
    else if (reason !== null && !allowed && !row.definition.allow_failure && pipeline.auto_cancel?.on_job_failure === 'all')
      await cancelJobs(ctx, tx, await openJobs(tx, pipeline))
    return true
  })
}

/** Whether a job that failed is tried again by itself. */
function triesAgain({ retry }: PlannedJob, retries: number, reason: string, exitCode: number | undefined): boolean {
  if (retries >= retry.max) return false
  const { when, exit_codes: codes } = retry
  if (when.length === 0 && codes.length === 0) return true
  return when.includes('always') || when.includes(reason) || (exitCode !== undefined && codes.includes(exitCode))
}

/** Adds a new attempt of a job, which waits for a runner; the former one is kept and no longer counts. */
export async function copyJob(
  ctx: Pick<Context, 'now'>,
  tx: Transaction,
  pipeline: typeof pipelines.$inferSelect,
  job: number,
  { retries = 0, user = null }: { retries?: number; user?: number | null },
): Promise<number> {
  const now = ctx.now().toISOString()
  await tx.update(commitStatuses).set({ latest: false }).where(eq(commitStatuses.id, job))
  const { rows } = await tx.execute<{ id: string }>(sql`with copy as (
      insert into ${commitStatuses} (project_id, pipeline_id, user_id, kind, name, stage, stage_index, status, allow_failure, created_at, queued_at)
      select s.project_id, s.pipeline_id, coalesce(${user}::bigint, s.user_id), s.kind, s.name, s.stage, s.stage_index, 'pending',
        (b.definition ->> 'allow_failure')::boolean, ${now}::timestamptz, ${now}::timestamptz
      from ${commitStatuses} s join ${builds} b on b.job_id = s.id where s.id = ${job} returning id)
    insert into ${builds} (job_id, definition, needs, retries, variables, resource_group_id)
    select copy.id, b.definition, b.needs, ${retries}::integer, b.variables, b.resource_group_id from copy, ${builds} b where b.job_id = ${job} returning job_id as id`)
  const id = Number(rows[0]?.id)
  await copyDeployment(tx, job, id, ctx.now())
  await enqueueBuilds(tx, pipeline, [id])
  return id
}
