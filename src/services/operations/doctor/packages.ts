import { asc, gt, sql } from 'drizzle-orm'
import type { Context } from '../../../context.js'
import { decoded } from '../../../db/decoded.js'
import { packageFiles } from '../../../db/schema/index.js'
import { mapConcurrently } from '../../../lib/async/concurrency.js'
import { removeIfUnused, unnamedFiles } from '../../packages/files.js'
import type { Check } from './fault.js'

/** Rows read in one query, and files looked up at once. */
const BATCH_SIZE = 1_000
const CONCURRENCY = 16

/** Files of packages that are missing or cut in the store, and files there that no row names (PK-9). */
export async function* packageContents(ctx: Context): Check {
  for (let last = ''; ; ) {
    const rows = await ctx.db.write
      .select({
        oid: packageFiles.oid,
        size: decoded(sql<number>`max(${packageFiles.size})`, Number),
        package: decoded(sql<number>`min(${packageFiles.package_id})`, Number),
      })
      .from(packageFiles)
      .where(gt(packageFiles.oid, last))
      .groupBy(packageFiles.oid)
      .orderBy(asc(packageFiles.oid))
      .limit(BATCH_SIZE)
    const sizes = await mapConcurrently(CONCURRENCY, rows, ({ oid }) => ctx.packages.size(oid))
    for (const [at, { oid, size, package: id }] of rows.entries()) {
      const found = sizes[at] ?? null
      if (found === size) continue
      const text = found === null ? 'is not there' : `has ${found} bytes instead of ${size}`
      yield { kind: 'damaged package', of: `package ${id}`, text: `${oid} ${text}; publish it again, or take it from a backup`, repair: null }
    }
    if (rows.length < BATCH_SIZE) break
    last = rows.at(-1)?.oid ?? ''
  }
  for await (const oid of unnamedFiles(ctx))
    yield {
      kind: 'orphan package file',
      of: oid,
      text: 'no row names it',
      async repair() {
        return (await removeIfUnused(ctx, oid)) ? 'removed' : 'left: a package has it now'
      },
    }
}
