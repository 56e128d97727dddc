import { eq, sql } from 'drizzle-orm'
import { z } from 'zod'
import type { Context } from '../../../context.js'
import { builds, commitStatuses, pipelines } from '../../../db/schema/index.js'
import { enqueue, enqueueAll } from '../../../jobs/enqueue.js'
import { defineJob } from '../../../jobs/kinds.js'
import type { PipelineState } from '../../../rules/pipeline-states.js'
import { revive } from '../builds/actions.js'
import { cancelAll } from '../builds/cancel.js'
import { changeJobs } from '../builds/change.js'
import { canceling, mirroring, triggering } from '../builds/later.js'
import { endBuild } from '../builds/report.js'

/** Jobs that one run of the sweep looks at. */
const BATCH = 500

/** The state of a job that waits for the pipeline that it has triggered. */
const mirrored = (status: PipelineState): 'success' | 'failed' | 'canceled' | 'running' =>
  status === 'success' || status === 'canceled' ? status : status === 'failed' || status === 'skipped' ? 'failed' : 'running'

/** Brings the job that has triggered a pipeline up to date with it, if it waits for it (CI-305). */
export const mirrorPipeline = defineJob({
  ...mirroring,
  async run(ctx: Context, { pipeline: id }) {
    const [known] = await ctx.db.write
      .select({ bridge: commitStatuses.id, pipeline: commitStatuses.pipeline_id, definition: builds.definition })
      .from(pipelines)
      .innerJoin(commitStatuses, eq(commitStatuses.id, pipelines.bridge_id))
      .innerJoin(builds, eq(builds.job_id, commitStatuses.id))
      .where(eq(pipelines.id, id))
    if (!known?.definition.trigger?.strategy) return
    await changeJobs(ctx, known.pipeline, async (tx, pipeline) => {
      const [downstream] = await tx.select({ status: pipelines.status }).from(pipelines).where(eq(pipelines.id, id))
      const [job] = await tx.select().from(commitStatuses).where(eq(commitStatuses.id, known.bridge))
      if (!downstream || !job?.latest || job.status === 'canceled') return null
      const status = mirrored(downstream.status)
      if (job.status === status || (job.status === 'pending' && status === 'running')) return null
      const goesOn = status === 'running'
      const columns = { status, finished_at: goesOn ? null : ctx.now(), failure_reason: status === 'failed' ? 'downstream_pipeline_failed' : null }
      await tx.update(commitStatuses).set(columns).where(eq(commitStatuses.id, job.id))
      // the pipeline was retried: what was skipped behind the job waits again
      if (goesOn) await revive(tx, pipeline, [job])
      return true
    })
  },
})

/** Cancels the child pipelines of a job or pipeline that was canceled (CI-306). */
export const cancelChildren = defineJob({
  ...canceling,
  async run(ctx: Context, of) {
    const parent = of.job === undefined ? sql`s.pipeline_id = ${of.pipeline}` : sql`s.id = ${of.job}`
    const { rows } = await ctx.db.write.execute<{ id: string }>(sql`select p.id from ${commitStatuses} s join ${pipelines} p on p.bridge_id = s.id
      where ${parent} and s.kind = 'bridge' and p.source = 'parent_pipeline' and p.status not in ('success', 'failed', 'canceled', 'skipped')`)
    for (const { id } of rows)
      await changeJobs(ctx, Number(id), async (tx, pipeline) => {
        await cancelAll(ctx, tx, pipeline)
        return true
      })
  },
})

/** Every minute: goes on with jobs that trigger pipelines, where that was lost, or their pipeline was deleted (CI-305). */
export const sweepBridges = defineJob({
  kind: 'go on with trigger jobs',
  input: z.object({}),
  every: 60_000,
  async run(ctx: Context) {
    const { rows } = await ctx.db.write.execute<{
      id: string
      status: string
      pipeline: string
      downstream: string | null
    }>(sql`select s.id, s.status,
        s.pipeline_id as pipeline, p.id as downstream
      from ${commitStatuses} s left join ${pipelines} p on p.bridge_id = s.id
      where s.kind = 'bridge' and s.status in ('pending', 'running') and (s.status = 'pending' or p.id is null or p.status in ('success', 'failed', 'canceled', 'skipped'))
      order by s.id limit ${BATCH}`)
    await enqueueAll(
      ctx.db,
      triggering,
      rows.flatMap(({ id, status }) => (status === 'pending' ? [{ input: { job: Number(id) }, key: id }] : [])),
    )
    for (const { id, status, pipeline, downstream } of rows) {
      if (status !== 'running') continue
      if (downstream === null)
        await endBuild(ctx, Number(pipeline), Number(id), { state: 'failed', failure_reason: 'downstream_pipeline_creation_failed' })
      else await enqueue(ctx.db, mirroring, { pipeline: Number(downstream) }, { key: downstream })
    }
  },
})
