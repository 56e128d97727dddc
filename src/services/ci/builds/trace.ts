import { and, eq } from 'drizzle-orm'
import type { ProjectSubject } from '../../../access/rules.js'
import type { Context } from '../../../context.js'
import { builds, commitStatuses, traceChunks } from '../../../db/schema/index.js'
import { Failure, notFound } from '../../../failures.js'
import { readTrace } from './chunks.js'
import { endBuild } from './report.js'
import type { RunningBuild } from './running.js'

/** Bytes of a log, beyond which its job ends. */
export const MAX_TRACE_BYTES = 100 * 1_048_576

/** The log does not go on where a piece begins: the runner sends what is missing. */
export const wrongRange = (size: number) => new Failure('range', { message: '416 Range Not Satisfiable' }, { range: `0-${size}` })

/**
 * Appends a piece to the log of a job, which is durable when this returns; answers the length of the log. A piece that was
 * stored before changes nothing, and one beyond the end is refused (CI-114).
 */
export async function appendTrace(ctx: Context, build: RunningBuild, first: number, bytes: Buffer): Promise<number> {
  const size = await ctx.db.transaction(async (tx) => {
    const [row] = await tx.select({ size: builds.trace_size }).from(builds).where(eq(builds.job_id, build.job)).for('no key update')
    if (!row || first > row.size) throw wrongRange(row?.size ?? 0)
    const fresh = bytes.subarray(row.size - first)
    if (fresh.length === 0) return row.size
    const end = row.size + fresh.length
    if (end > MAX_TRACE_BYTES) return null
    await tx.insert(traceChunks).values({ job_id: build.job, first: row.size, bytes: fresh })
    await tx.update(builds).set({ trace_size: end, seen_at: ctx.now() }).where(eq(builds.job_id, build.job))
    return end
  })
  if (size !== null) return size
  await endBuild(ctx, build.pipeline, build.job, { state: 'failed', failure_reason: 'trace_size_exceeded' })
  throw new Failure('forbidden', { message: '403 Forbidden - Job is not running' }, { 'job-status': 'failed' })
}

/** The log of a job of a project; empty while there is none. */
export async function traceOf(ctx: Context, { project }: ProjectSubject, job: number): Promise<{ bytes: Buffer; size: number }> {
  const [found] = await ctx.db.write
    .select({ size: builds.trace_size })
    .from(commitStatuses)
    .leftJoin(builds, eq(builds.job_id, commitStatuses.id))
    .where(and(eq(commitStatuses.project_id, project.id), eq(commitStatuses.id, job)))
  if (!found) throw notFound()
  const size = found.size ?? 0
  return { bytes: size === 0 ? Buffer.alloc(0) : await readTrace(ctx, job, 0, size), size }
}
