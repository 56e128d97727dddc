import { createReadStream, createWriteStream } from 'node:fs'
import { mkdir, readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { pipeline } from 'node:stream/promises'
import { sql } from 'drizzle-orm'
import type { Context } from '../../context.js'
import { dumpFileName } from '../../db/copies/dump.js'
import { lfsObjectProjects, lfsObjects, pendingLfsDeletions } from '../../db/schema/index.js'
import { isObjectId } from '../../lib/files/object-store.js'

/**
 * Copies the LFS objects that the saved rows name into a folder. An object without a file belonged to a project that
 * was deleted meanwhile, or is missing, which the doctor reports.
 */
export async function saveObjects(ctx: Pick<Context, 'lfs'>, database: string, folder: string): Promise<void> {
  const rows = createInterface({ input: createReadStream(join(database, dumpFileName('lfs_objects'))), crlfDelay: Number.POSITIVE_INFINITY })
  for await (const row of rows) {
    const oid = row.split('\t').find(isObjectId)
    const content = oid === undefined ? null : await ctx.lfs.get(oid)
    if (oid === undefined || !content) continue
    const shard = join(folder, oid.slice(0, 2))
    await mkdir(shard, { recursive: true })
    await pipeline(content, createWriteStream(join(shard, oid), { flags: 'wx', mode: 0o600, flush: true }))
  }
}

/**
 * Restores saved objects that do not exist: a bucket may still have them. Then schedules the deletion of objects that
 * no project has any more.
 */
export async function restoreObjects(ctx: Context, folder: string): Promise<void> {
  for (const shard of (await readdir(folder).catch(() => [] as string[])).sort())
    for (const oid of await readdir(join(folder, shard))) await restoreObject(ctx, join(folder, shard, oid), oid)
  await ctx.db.write.execute(sql`insert into ${pendingLfsDeletions} (oid) select o.oid from ${lfsObjects} o
    where not exists (select 1 from ${lfsObjectProjects} l where l.oid = o.oid) on conflict do nothing`)
}

export async function restoreObject(ctx: Pick<Context, 'lfs'>, path: string, oid: string): Promise<void> {
  if ((await ctx.lfs.size(oid)) === (await stat(path)).size) return
  const staged = await ctx.lfs.stage(createReadStream(path), oid, Number.POSITIVE_INFINITY)
  try {
    await staged.commit()
  } finally {
    await staged.discard()
  }
}
