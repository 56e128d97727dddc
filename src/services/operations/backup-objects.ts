import { createReadStream, createWriteStream } from 'node:fs'
import { mkdir, readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { pipeline } from 'node:stream/promises'
import { sql } from 'drizzle-orm'
import type { Context } from '../../context.js'
import { type DatabaseDump, dumpFileName } from '../../db/copies/dump.js'
import { lfsObjectProjects, lfsObjects, pendingLfsDeletions } from '../../db/schema/index.js'
import { ignoreMissing } from '../../lib/files/missing.js'
import { isObjectId, type ObjectStore } from '../../lib/files/object-store.js'

/**
 * Copies the objects of a store that the saved rows of a table name into a folder. An object without a file belonged to
 * a project that was deleted meanwhile, or is missing, which the doctor reports of LFS objects.
 */
export async function saveObjects(
  store: ObjectStore,
  { database, table }: { database: DatabaseDump; table: string },
  dump: string,
  folder: string,
): Promise<void> {
  const column = database.tables.find(({ name }) => name === table)?.columns.indexOf('oid') ?? -1
  const rows = createInterface({ input: createReadStream(join(dump, dumpFileName(table))), crlfDelay: Number.POSITIVE_INFINITY })
  for await (const row of rows) {
    const oid = row.split('\t')[column]
    if (!isObjectId(oid)) continue
    const shard = join(folder, oid.slice(0, 2))
    // several rows of artifacts and packages may have the same bytes
    const content = (await stat(join(shard, oid)).catch(ignoreMissing(null))) ? null : await store.get(oid)
    if (!content) continue
    await mkdir(shard, { recursive: true })
    await pipeline(content, createWriteStream(join(shard, oid), { flags: 'wx', mode: 0o600, flush: true }))
  }
}

/** Restores saved objects that do not exist: a bucket may still have them. */
export async function restoreObjects(store: ObjectStore, folder: string): Promise<void> {
  for (const shard of (await readdir(folder).catch(() => [] as string[])).sort())
    for (const oid of await readdir(join(folder, shard))) await restoreObject(store, join(folder, shard, oid), oid)
}

/**
 * Restores saved LFS objects, then schedules the deletion of objects that
 * no project has any more.
 */
export async function restoreLfsObjects(ctx: Context, folder: string): Promise<void> {
  await restoreObjects(ctx.lfs, folder)
  await ctx.db.write.execute(sql`insert into ${pendingLfsDeletions} (oid) select o.oid from ${lfsObjects} o
    where not exists (select 1 from ${lfsObjectProjects} l where l.oid = o.oid) on conflict do nothing`)
}

export async function restoreObject(store: ObjectStore, path: string, oid: string): Promise<void> {
  if ((await store.size(oid)) === (await stat(path)).size) return
  const staged = await store.stage(createReadStream(path), oid, Number.POSITIVE_INFINITY)
  try {
    await staged.commit()
  } finally {
    await staged.discard()
  }
}
