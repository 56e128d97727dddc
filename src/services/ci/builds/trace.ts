import { Readable } from 'node:stream'
import { and, eq } from 'drizzle-orm'
import type { ProjectSubject } from '../../../access/rules.js'
import type { Context } from '../../../context.js'
import { builds, commitStatuses, traceChunks } from '../../../db/schema/index.js'
import { Failure, notFound } from '../../../failures.js'
import { streamTrace } from './chunks.js'
import { heldOf, maskerOf, maskPiece } from './masking.js'
import { endBuild } from './report.js'
import type { RunningBuild } from './running.js'

/** Bytes of a log, beyond which its job ends. */
export const MAX_TRACE_BYTES = 100 * 1_048_576

/** The log does not go on where a piece begins: the runner sends what is missing. */
export const wrongRange = (size: number) => new Failure('range', { message: '416 Range Not Satisfiable' }, { range: `0-${size}` })

type Refused = 'trace_size_exceeded' | 'data_integrity_failure'

/**
 * Appends a piece to the log of a job, which is durable when this returns; answers the length of the log. A piece that was
 * stored before changes nothing, and one beyond the end is refused (CI-114). Values that are not to be shown are masked
 * before they are stored (CI-240).
 */
export async function appendTrace(ctx: Context, build: RunningBuild, first: number, bytes: Buffer): Promise<number> {
  const size = await ctx.db.transaction(async (tx): Promise<number | Refused> => {
    const [row] = await tx
      .select({ size: builds.trace_size, masks: builds.masks, held: builds.trace_held })
      .from(builds)
      .where(eq(builds.job_id, build.job))
      .for('no key update')
    if (!row || first > row.size) throw wrongRange(row?.size ?? 0)
    const fresh = bytes.subarray(row.size - first)
    if (fresh.length === 0) return row.size
    const end = row.size + fresh.length
    if (end > MAX_TRACE_BYTES) return 'trace_size_exceeded'
    const masker = maskerOf(ctx, build.job, row.masks)
    // what must not be shown is not known any more
    if (!masker) return 'data_integrity_failure'
    const before = heldOf(row.held)
    const masked = await maskPiece(masker, fresh, before)
    if (masked.bytes.length > 0)
      await tx.insert(traceChunks).values({ job_id: build.job, first: row.size - (before?.length ?? 0), bytes: masked.bytes })
    await tx
      .update(builds)
      .set({ trace_size: end, trace_held: masked.held && [masked.held.mask, masked.held.length, masked.held.covered], seen_at: ctx.now() })
      .where(eq(builds.job_id, build.job))
    return end
  })
  if (typeof size === 'number') return size
  await endBuild(ctx, build.pipeline, build.job, { state: 'failed', failure_reason: size })
  throw new Failure('forbidden', { message: '403 Forbidden - Job is not running' }, { 'job-status': 'failed' })
}

/** The log of a job. */
export interface Trace {
  size: number
  /** Its bytes from `start` to before `end`. */
  open(start: number, end: number): Readable
}

/** The log of a job of a project; empty while there is none. Its end may be held back (CI-240). */
export async function traceOf(ctx: Context, { project }: ProjectSubject, job: number): Promise<Trace> {
  const [found] = await ctx.db.write
    .select({ size: builds.trace_size, held: builds.trace_held })
    .from(commitStatuses)
    .leftJoin(builds, eq(builds.job_id, commitStatuses.id))
    .where(and(eq(commitStatuses.project_id, project.id), eq(commitStatuses.id, job)))
  if (!found) throw notFound()
  const size = (found.size ?? 0) - (heldOf(found.held)?.length ?? 0)
  return { size, open: (start, end) => Readable.from(streamTrace(ctx, job, start, end)) }
}
