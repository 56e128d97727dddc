import { asc, gt, sql } from 'drizzle-orm'
import type { Context } from '../../../context.js'
import { decoded } from '../../../db/decoded.js'
import { artifacts } from '../../../db/schema/index.js'
import { mapConcurrently } from '../../../lib/async/concurrency.js'
import { removeIfUnused, unnamedArtifacts } from '../../ci/artifacts/store.js'
import type { Check } from './fault.js'

/** Rows read in one query, and files looked up at once. */
const BATCH_SIZE = 1_000
const CONCURRENCY = 16

/** Files of jobs that are missing or cut in the store, and files there that no row names (CI-257). */
export async function* artifactFiles(ctx: Context): Check {
  for (let last = ''; ; ) {
    const rows = await ctx.db.write
      .select({
        oid: artifacts.oid,
        size: decoded(sql<number>`max(${artifacts.size})`, Number),
        job: decoded(sql<number>`min(${artifacts.job_id})`, Number),
      })
      .from(artifacts)
      .where(gt(artifacts.oid, last))
      .groupBy(artifacts.oid)
      .orderBy(asc(artifacts.oid))
      .limit(BATCH_SIZE)
    const sizes = await mapConcurrently(CONCURRENCY, rows, ({ oid }) => ctx.artifacts.size(oid))
    for (const [at, { oid, size, job }] of rows.entries()) {
      const found = sizes[at] ?? null
      if (found === size) continue
      const text = found === null ? 'is not there' : `has ${found} bytes instead of ${size}`
      yield { kind: 'damaged artifact', of: `job ${job}`, text: `${oid} ${text}; retry the job, or take it from a backup`, repair: null }
    }
    if (rows.length < BATCH_SIZE) break
    last = rows.at(-1)?.oid ?? ''
  }
  for await (const oid of unnamedArtifacts(ctx))
    yield {
      kind: 'orphan artifact',
      of: oid,
      text: 'no row names it',
      async repair() {
        return (await removeIfUnused(ctx, oid)) ? 'removed' : 'left: a job has it now'
      },
    }
}
