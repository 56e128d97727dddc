import { and, asc, eq, gt, lt, sql } from 'drizzle-orm'
import type { Context } from '../../../context.js'
import { traceChunks } from '../../../db/schema/index.js'

/** The bytes of a log from `start` to before `end`. */
export async function readTrace(ctx: Context, job: number, start: number, end: number): Promise<Buffer> {
  const rows = await ctx.db.write
    .select({ first: traceChunks.first, bytes: traceChunks.bytes })
    .from(traceChunks)
    .where(and(eq(traceChunks.job_id, job), lt(traceChunks.first, end), gt(sql`${traceChunks.first} + octet_length(${traceChunks.bytes})`, start)))
    .orderBy(asc(traceChunks.first))
  return Buffer.concat(rows.map(({ first, bytes }) => bytes.subarray(Math.max(0, start - first), Math.max(0, end - first))))
}
