import { and, eq, inArray } from 'drizzle-orm'
import type { Context } from '../../../context.js'
import type { Transaction } from '../../../db/client.js'
import { builds, commitStatuses, pendingBuilds, type pipelines } from '../../../db/schema/index.js'
import { enqueue, enqueueAll } from '../../../jobs/enqueue.js'
import type { PipelineState } from '../../../rules/pipeline-states.js'
import { canceling } from './later.js'
import { endLogs } from './masking.js'

/** What it takes to end jobs with their logs. */
type CancelContext = Pick<Context, 'now' | 'encryption' | 'log'>

/** States of jobs and statuses that have not ended. */
export const OPEN: PipelineState[] = ['created', 'waiting_for_resource', 'preparing', 'pending', 'running', 'manual', 'scheduled']

/** Cancels jobs and statuses of a locked pipeline that have not ended. */
export async function cancelJobs(ctx: CancelContext, tx: Transaction, ids: number[]): Promise<void> {
  if (ids.length === 0) return
  await tx.delete(pendingBuilds).where(inArray(pendingBuilds.job_id, ids))
  const canceled = await tx
    .update(commitStatuses)
    .set({ status: 'canceled', finished_at: ctx.now() })
    .where(inArray(commitStatuses.id, ids))
    .returning({ id: commitStatuses.id, kind: commitStatuses.kind })
  const bridges = canceled.filter(({ kind }) => kind === 'bridge')
  await enqueueAll(
    tx,
    canceling,
    bridges.map(({ id: job }) => ({ input: { job }, key: `job ${job}` })),
  )
  await tx.update(builds).set({ scheduled_at: null }).where(inArray(builds.job_id, ids))
  await endLogs(ctx, tx, ids)
}

/** The jobs and statuses of a pipeline that have not ended, older attempts included. */
export const openJobs = async (tx: Transaction, { id, project_id }: Pick<typeof pipelines.$inferSelect, 'id' | 'project_id'>): Promise<number[]> =>
  (
    await tx
      .select({ id: commitStatuses.id })
      .from(commitStatuses)
      .where(and(eq(commitStatuses.project_id, project_id), eq(commitStatuses.pipeline_id, id), inArray(commitStatuses.status, OPEN)))
  ).map(({ id: job }) => job)

/** Cancels all of a locked pipeline that has not ended, and its child pipelines. */
export async function cancelAll(ctx: CancelContext, tx: Transaction, pipeline: typeof pipelines.$inferSelect): Promise<void> {
  await cancelJobs(ctx, tx, await openJobs(tx, pipeline))
  await enqueue(tx, canceling, { pipeline: pipeline.id }, { key: `pipeline ${pipeline.id}` })
}
