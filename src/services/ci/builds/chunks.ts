import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { and, asc, eq, gt, lt, sql } from 'drizzle-orm'
import type { Context } from '../../../context.js'
import { artifacts, traceChunks } from '../../../db/schema/index.js'

/** More bytes than a chunk has: a piece of a runner, and what was held back before it. */
const MAX_CHUNK = 8 * 1_048_576

/** The bytes of a log from `start` to before `end` that are in the database. */
async function readChunks(ctx: Context, job: number, start: number, end: number): Promise<Buffer> {
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

/** The bytes of a log that are in the database, in pieces. */
export async function* streamChunks(ctx: Context, job: number): AsyncGenerator<Buffer> {
  for (let at = 0; ; at += PIECE) {
    const piece = await readChunks(ctx, job, at, at + PIECE)
    if (piece.length > 0) yield piece
    if (piece.length < PIECE) return
  }
}

/**
 * The bytes of a log from `start` to before `end` in pieces, which are read one after the other: from the database, or
 * from the store once it is there (CI-260).
 */
export async function* streamTrace(ctx: Context, job: number, start: number, end: number): AsyncGenerator<Buffer> {
  for (let at = start; at < end; at += PIECE) {
    const until = Math.min(at + PIECE, end)
    const piece = await readChunks(ctx, job, at, until)
    if (piece.length === until - at) {
      yield piece
      continue
    }
    // it may have been moved between two pieces
    const archived = await archivedTrace(ctx, job)
    if (!archived) yield piece
    else {
      yield* (await ctx.artifacts.get(archived, { start: at, end: end - 1 })) ?? []
      return
    }
  }
}

/** The bytes of a log from `start` to before `end`. */
export const readTrace = (ctx: Context, job: number, start: number, end: number): Promise<Buffer> =>
  buffer(Readable.from(streamTrace(ctx, job, start, end)))

async function archivedTrace(ctx: Context, job: number): Promise<string | null> {
  const [found] = await ctx.db.write
    .select({ oid: artifacts.oid })
    .from(artifacts)
    .where(and(eq(artifacts.job_id, job), eq(artifacts.file_type, 'trace')))
  return found?.oid ?? null
}
