import { createHash } from 'node:crypto'
import type { Readable } from 'node:stream'
import { and, asc, eq, gt, notExists, sql } from 'drizzle-orm'
import type { Context } from '../../../context.js'
import { lfsObjectProjects, lfsObjects, pendingLfsDeletions } from '../../../db/schema/index.js'
import { mapConcurrently } from '../../../lib/async/concurrency.js'
import { STALLED_UPLOAD_AGE_MS } from '../../core/stalled-uploads.js'
import { orphanedObjects, removeIfUnused } from '../../repository/lfs/objects.js'
import type { Check } from './fault.js'
import type { DoctorOptions } from './repositories.js'

/** The number of rows read in one query. */
const BATCH_SIZE = 1_000
/** The number of objects looked up concurrently; with `full` they are read one by one. */
const CONCURRENCY = 16

/** LFS objects whose files are missing or damaged, and files without references; with `full` all objects are read. */
export async function* lfs(ctx: Context, { full = false }: DoctorOptions): Check {
  if (!(await ctx.lfs.claim()))
    yield {
      kind: 'foreign objects',
      of: 'LFS_STORAGE',
      text: 'another installation keeps its objects there: choose a prefix of its own',
      repair: null,
    }
  for (let last = ''; ; ) {
    const rows = await ctx.db.write.select().from(lfsObjects).where(gt(lfsObjects.oid, last)).orderBy(asc(lfsObjects.oid)).limit(BATCH_SIZE)
    const texts = await mapConcurrently(full ? 1 : CONCURRENCY, rows, ({ oid, size }) => faultOf(ctx, oid, size, full))
    for (const [at, { oid }] of rows.entries()) {
      const text = texts[at]
      if (text)
        yield {
          kind: 'damaged LFS object',
          of: await holdersOf(ctx, oid),
          text: `${oid} ${text}; push it again, or take it from a backup`,
          repair: null,
        }
    }
    if (rows.length < BATCH_SIZE) break
    last = rows.at(-1)?.oid ?? ''
  }
  for (const { oid } of await unused(ctx)) yield { kind: 'unused LFS object', of: oid, text: 'no project has it', repair: () => removed(ctx, oid) }
  for await (const oid of orphanedObjects(ctx)) {
    yield { kind: 'orphan LFS object', of: oid, text: 'no row names it', repair: () => removed(ctx, oid) }
  }
  for (const name of await ctx.lfs.leftovers(STALLED_UPLOAD_AGE_MS)) {
    const repair = async () => {
      await ctx.lfs.removeLeftover(name)
      return 'removed'
    }
    yield { kind: 'stale file', of: `lfs/incoming/${name}`, text: 'a broken upload left it behind', repair }
  }
}

const removed = async (ctx: Context, oid: string) => ((await removeIfUnused(ctx, oid)) ? 'removed' : 'left: a project has it now')

/** Objects that no project has and that are not pending deletion. */
const unused = (ctx: Context) =>
  ctx.db.write
    .select({ oid: lfsObjects.oid })
    .from(lfsObjects)
    .where(
      and(
        notExists(ctx.db.write.select({ one: sql`1` }).from(lfsObjectProjects).where(eq(lfsObjectProjects.oid, lfsObjects.oid))),
        notExists(ctx.db.write.select({ one: sql`1` }).from(pendingLfsDeletions).where(eq(pendingLfsDeletions.oid, lfsObjects.oid))),
      ),
    )
    .orderBy(lfsObjects.oid)

async function faultOf(ctx: Pick<Context, 'lfs'>, oid: string, size: number, full: boolean): Promise<string | null> {
  const found = await ctx.lfs.size(oid)
  if (found === null) return 'is not there'
  if (found !== size) return `has ${found} bytes instead of ${size}`
  const content = full ? await ctx.lfs.get(oid) : null
  return content && (await digestOf(content)) !== oid ? 'has other bytes than its id says' : null
}

async function digestOf(content: Readable): Promise<string> {
  const hash = createHash('sha256')
  for await (const chunk of content as AsyncIterable<Buffer>) hash.update(chunk)
  return hash.digest('hex')
}

/** The projects that have an object, for the report. */
async function holdersOf(ctx: Context, oid: string): Promise<string> {
  const rows = await ctx.db.write
    .select({ id: lfsObjectProjects.project_id })
    .from(lfsObjectProjects)
    .where(eq(lfsObjectProjects.oid, oid))
    .orderBy(lfsObjectProjects.project_id)
    .limit(5)
  return rows.length > 0 ? rows.map(({ id }) => `project ${id}`).join(', ') : 'no project'
}
