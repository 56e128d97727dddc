import { and, eq, inArray, type SQL, sql } from 'drizzle-orm'
import type { Project } from '../../../access/rules.js'
import type { Context } from '../../../context.js'
import type { Transaction } from '../../../db/client.js'
import { lfsObjectProjects, lfsObjects, pendingLfsDeletions, projects } from '../../../db/schema/index.js'
import { Failure, tooLarge } from '../../../failures.js'
import type { StagedObject } from '../../../lib/files/object-store.js'
import { lockName } from '../../core/lock-name.js'
import { readSettings } from '../../core/settings.js'

/** An object as in pointer files: the SHA-256 of its content in hex, and its size in bytes. */
export interface LfsObject {
  oid: string
  size: number
}

const MEBIBYTE = 1024 * 1024
const MAX_CONCURRENT_STORES = 4
const BATCH_SIZE = 1_000
/** Age at which a file without a row counts as left behind by a killed upload. */
const UNREFERENCED_FILE_AGE_MS = 86_400_000

/** Maximum bytes of one object, and of all objects of a project; infinite when unlimited (LF-11). */
export async function lfsLimits(ctx: Context): Promise<{ object: number; project: number }> {
  const { lfs_object_size_limit, project_lfs_size_limit } = await readSettings(ctx)
  const bytes = (limit: number) => (limit > 0 ? limit * MEBIBYTE : Number.POSITIVE_INFINITY)
  return { object: bytes(lfs_object_size_limit), project: bytes(project_lfs_size_limit) }
}

/** Whether LFS is enabled for a project: its own setting and that of its group must be on (LF-1). */
export const servesLfs = ({ lfs_enabled, namespace }: Pick<Project, 'lfs_enabled' | 'namespace'>): boolean => lfs_enabled && namespace.lfs_enabled

/** The sizes of those of the objects that belong to a project, by oid. */
export async function objectsOf(ctx: Context, projectId: number, oids: string[]): Promise<Map<string, number>> {
  if (oids.length === 0) return new Map()
  const rows = await ctx.db.write
    .select({ oid: lfsObjects.oid, size: lfsObjects.size })
    .from(lfsObjectProjects)
    .innerJoin(lfsObjects, eq(lfsObjects.oid, lfsObjectProjects.oid))
    .where(and(eq(lfsObjectProjects.project_id, projectId), sql`${lfsObjectProjects.oid} = any(${sql.param(oids)}::text[])`))
  return new Map(rows.map(({ oid, size }) => [oid, size]))
}

/** Serialises adding and removing an object until the transaction ends. */
const lockObject = (tx: Transaction, oid: string) => lockName(tx, `lfs ${oid}`)

/**
 * Stores an uploaded object and adds it to a project. The file is stored before the row is committed; a file left
 * without a row is removed after a day. Throws 413 beyond the project's quota.
 */
export async function storeObject(ctx: Context, projectId: number, oid: string, staged: StagedObject): Promise<void> {
  const limits = await lfsLimits(ctx)
  // a slow store must not occupy all database connections
  await ctx.process.mutex.runHere(`lfs keep ${Number.parseInt(oid.slice(0, 2), 16) % MAX_CONCURRENT_STORES}`, () =>
    ctx.db.transaction(async (tx) => {
      await lockObject(tx, oid)
      const has = and(eq(lfsObjectProjects.project_id, projectId), eq(lfsObjectProjects.oid, oid))
      const known =
        (await tx.update(lfsObjectProjects).set({ unreferenced_since: null }).where(has).returning({ oid: lfsObjectProjects.oid })).length > 0
      // checked before the file is stored, and again with the project locked
      const check = (used: number) => {
        if (!known && used + staged.size > limits.project) throw tooLarge()
      }
      check(await sizeOf(tx, projectId))
      await staged.commit()
      const used = await sizeOf(tx, projectId, { lock: true })
      check(used)
      await tx.insert(lfsObjects).values({ oid, size: staged.size, created_at: ctx.now() }).onConflictDoNothing()
      const added = await tx.insert(lfsObjectProjects).values({ project_id: projectId, oid }).onConflictDoNothing().returning()
      if (added.length === 0) return
      await tx
        .update(projects)
        .set({ lfs_objects_size: used + staged.size })
        .where(eq(projects.id, projectId))
    }),
  )
}

/** Total bytes of the objects of a project; 404 when the project is gone. */
async function sizeOf(tx: Transaction, projectId: number, { lock = false } = {}): Promise<number> {
  const query = tx.select({ size: projects.lfs_objects_size }).from(projects).where(eq(projects.id, projectId))
  const [project] = await (lock ? query.for('no key update') : query)
  if (!project) throw new Failure('not_found', { message: '404 Project Not Found' })
  return project.size
}

/**
 * Adds objects of one project to another without copying files: all of them, or those in `oids`. The caller has checked
 * that the acting user may read the source's code (SEC-43).
 */
export async function shareObjects(tx: Transaction, from: number, to: number, oids?: string[]): Promise<void> {
  const condition: SQL = oids ? sql`and l.oid = any(${sql.param(oids)}::text[])` : sql``
  // locks the rows, so that a deletion in the source waits; only added objects count towards the size
  await tx.execute(sql`with shared as (
      select l.oid from ${lfsObjectProjects} l where l.project_id = ${from} ${condition} order by l.oid for key share),
    added as (insert into ${lfsObjectProjects} (project_id, oid) select ${to}::bigint, s.oid from shared s on conflict do nothing returning oid),
    more as (select coalesce(sum(o.size), 0) as bytes from added a join ${lfsObjects} o on o.oid = a.oid)
    update ${projects} set lfs_objects_size = lfs_objects_size + more.bytes from more where id = ${to} and more.bytes > 0`)
}

/**
 * Records the objects of projects about to be deleted as candidates for removal. `condition` is a condition on
 * `projects p`.
 */
export const releaseObjects = (tx: Transaction, condition: SQL) =>
  tx.execute(sql`insert into ${pendingLfsDeletions} (oid)
    select distinct l.oid from ${lfsObjectProjects} l join projects p on p.id = l.project_id where ${condition} on conflict do nothing`)

/** Removes objects of deleted projects that no other project uses (LF-12). */
export async function finishObjectDeletions(ctx: Context): Promise<void> {
  for (;;) {
    const pending = await ctx.db.write.select().from(pendingLfsDeletions).orderBy(pendingLfsDeletions.oid).limit(BATCH_SIZE)
    for (const { oid } of pending) {
      if (ctx.process.stopping.aborted) return
      await removeIfUnused(ctx, oid)
    }
    if (pending.length < BATCH_SIZE) return
  }
}

/**
 * Removes an object, row and file, unless a project uses it; returns whether it was removed. The file is deleted before
 * the transaction commits, so a kill in between leaves the row.
 */
export async function removeIfUnused(ctx: Context, oid: string): Promise<boolean> {
  return ctx.db.transaction(async (tx) => {
    await lockObject(tx, oid)
    const used = await tx.select({ oid: lfsObjectProjects.oid }).from(lfsObjectProjects).where(eq(lfsObjectProjects.oid, oid)).limit(1)
    if (used.length === 0) {
      await ctx.lfs.delete(oid)
      await tx.delete(lfsObjects).where(eq(lfsObjects.oid, oid))
    }
    await tx.delete(pendingLfsDeletions).where(eq(pendingLfsDeletions.oid, oid))
    return used.length === 0
  })
}

/** Files without a row that are older than a day; an upload inserts its row right after its file. */
export async function* orphanedObjects(ctx: Context): AsyncGenerator<string> {
  let batch: string[] = []
  for await (const { oid, storedAt } of ctx.lfs.list()) {
    if (Date.now() - storedAt >= UNREFERENCED_FILE_AGE_MS) batch.push(oid)
    if (batch.length < BATCH_SIZE) continue
    yield* await filterOrphaned(ctx, batch)
    batch = []
  }
  yield* await filterOrphaned(ctx, batch)
}

async function filterOrphaned(ctx: Context, oids: string[]): Promise<string[]> {
  if (oids.length === 0) return []
  const rows = await ctx.db.write.select({ oid: lfsObjects.oid }).from(lfsObjects).where(inArray(lfsObjects.oid, oids))
  const known = new Set(rows.map(({ oid }) => oid))
  return oids.filter((oid) => !known.has(oid))
}

/** Removes files of objects that never got their row. */
export async function removeOrphanedObjects(ctx: Context): Promise<void> {
  let removed = 0
  for await (const oid of orphanedObjects(ctx)) if (await removeIfUnused(ctx, oid)) removed++
  if (removed > 0) ctx.log.warn({ removed }, 'removed LFS objects without a database row')
}
