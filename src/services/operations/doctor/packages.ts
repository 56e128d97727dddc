import { asc, gt, sql } from 'drizzle-orm'
import type { Context } from '../../../context.js'
import { decoded } from '../../../db/decoded.js'
import { containerBlobs, packageFiles } from '../../../db/schema/index.js'
import { mapConcurrently } from '../../../lib/async/concurrency.js'
import { removeIfUnused, unnamedFiles } from '../../packages/files.js'
import type { Check } from './fault.js'

/** Rows read in one query, and files looked up at once. */
const BATCH_SIZE = 1_000
const CONCURRENCY = 16

/** Files of packages and layers of images that are missing or cut in the store, and files there that no row names (PK-9, OCI-9). */
export async function* packageContents(ctx: Context): Check {
  for (const of of ['package', 'image'] as const)
    for (let last = ''; ; ) {
      const rows = await storedAfter(ctx, of, last)
      const sizes = await mapConcurrently(CONCURRENCY, rows, ({ oid }) => ctx.packages.size(oid))
      for (const [at, { oid, size, holder }] of rows.entries()) {
        const found = sizes[at] ?? null
        if (found === size) continue
        const text = found === null ? 'is not there' : `has ${found} bytes instead of ${size}`
        const kind = of === 'package' ? 'damaged package' : 'damaged image'
        yield { kind, of: `${of} ${holder}`, text: `${oid} ${text}; publish it again, or take it from a backup`, repair: null }
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

/** The next objects that packages, or repositories of images, have, each with its size and one that has it. */
const storedAfter = (ctx: Context, of: 'package' | 'image', last: string): Promise<{ oid: string; size: number; holder: number }[]> => {
  const { table, holder } =
    of === 'package' ? { table: packageFiles, holder: packageFiles.package_id } : { table: containerBlobs, holder: containerBlobs.repository_id }
  return ctx.db.write
    .select({
      oid: table.oid,
      size: decoded(sql<number>`max(${table.size})`, Number),
      holder: decoded(sql<number>`min(${holder})`, Number),
    })
    .from(table)
    .where(gt(table.oid, last))
    .groupBy(table.oid)
    .orderBy(asc(table.oid))
    .limit(BATCH_SIZE)
}
