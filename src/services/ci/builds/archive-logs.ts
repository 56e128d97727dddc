import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import { and, asc, eq, lt } from 'drizzle-orm'
import { z } from 'zod'
import type { Context } from '../../../context.js'
import { artifacts, commitStatuses, traceChunks } from '../../../db/schema/index.js'
import { defineJob } from '../../../jobs/kinds.js'
import { lockName } from '../../core/lock-name.js'
import { streamChunks } from './chunks.js'
import { MAX_TRACE_BYTES } from './trace.js'

/** Logs of one run. */
const BATCH = 500
/** How long after its end a log is moved, in milliseconds: most are read before. */
const AGE_MS = 300_000

/** Every minute: logs of jobs that have ended move from the database to the store of artifacts (CI-260). */
export const archiveLogs = defineJob({
  kind: 'archive logs',
  input: z.object({}),
  priority: 'low',
  slots: 'upkeep',
  every: 60_000,
  async run(ctx: Context) {
    const ended = await ctx.db.write
      .select({ job: traceChunks.job_id, project: commitStatuses.project_id })
      .from(traceChunks)
      .innerJoin(commitStatuses, eq(commitStatuses.id, traceChunks.job_id))
      .where(and(eq(traceChunks.first, 0), lt(commitStatuses.finished_at, new Date(ctx.now().getTime() - AGE_MS))))
      .orderBy(asc(traceChunks.job_id))
      .limit(BATCH)
    for (const { job, project } of ended) await archiveLog(ctx, job, project)
  },
})

async function archiveLog(ctx: Context, job: number, project: number): Promise<void> {
  const hash = createHash('sha256')
  for await (const piece of streamChunks(ctx, job)) hash.update(piece)
  const oid = hash.digest('hex')
  const staged = await ctx.artifacts.stage(Readable.from(streamChunks(ctx, job)), oid, MAX_TRACE_BYTES)
  try {
    await ctx.db.transaction(async (tx) => {
      await lockName(tx, `artifact ${oid}`)
      const moved = await tx.delete(traceChunks).where(eq(traceChunks.job_id, job)).returning({ first: traceChunks.first })
      // it was erased meanwhile
      if (moved.length === 0) return
      await staged.commit()
      const values = { file_type: 'trace', file_format: 'raw', filename: 'job.log', size: staged.size, oid, created_at: ctx.now() }
      await tx.insert(artifacts).values({ job_id: job, project_id: project, ...values })
    })
  } finally {
    await staged.discard()
  }
}
