import { and, asc, eq, gt, lt, sql } from 'drizzle-orm'
import type { Context } from '../../../context.js'
import { traceChunks } from '../../../db/schema/index.js'

/** More bytes than a chunk has: a piece of a runner, and what was held back before it. */
const MAX_CHUNK = 8 * 1_048_576

/** The bytes of a log from `start` to before `end`. */
export async function readTrace(ctx: Context, job: number, start: number, end: number): Promise<Buffer> {
  const rows = await ctx.db.write
    .select({ first: traceChunks.first, bytes: traceChunks.bytes })
    .from(traceChunks)
    .where(
      and(
        eq(traceChunks.job_id, job),
        gt(traceChunks.first, start - MAX_CHUNK),
        lt(traceChunks.first, end),
        gt(sql`${traceChunks.first} + octet_length(${traceChunks.bytes})`, start),
      ),
    )
    .orderBy(asc(traceChunks.first))
  return Buffer.concat(rows.map(({ first, bytes }) => bytes.subarray(Math.max(0, start - first), Math.max(0, end - first))))
}

const PIECE = 1_048_576

/** The same in pieces, which are read one after the other. */
export async function* streamTrace(ctx: Context, job: number, start: number, end: number): AsyncGenerator<Buffer> {
  for (let at = start; at < end; at += PIECE) yield await readTrace(ctx, job, at, Math.min(at + PIECE, end))
}
