import { and, eq, inArray, type SQL, sql } from 'drizzle-orm'
import type { Project } from '../../../access/rules.js'
import type { Context } from '../../../context.js'
import type { Transaction } from '../../../db/client.js'
import { lfsObjectProjects, lfsObjects, pendingLfsDeletions, projects } from '../../../db/schema/index.js'
import { Failure, tooLarge } from '../../../failures.js'
import type { StagedObject } from '../../../lib/files/object-store.js'
import { readSettings } from '../../core/settings.js'

/** An object as pointers and clients name it: the SHA-256 of its bytes in hex, and their number. */
export interface LfsObject {
  oid: string
  size: number
}

const MEBIBYTE = 1024 * 1024
/** Objects that are put in their place at a time. */
const KEPT_AT_ONCE = 4
/** Objects whose deletion is looked up at a time. */
const BATCH = 1_000
/** Milliseconds after which a file that no row names counts as left by a killed upload. */
const UNNAMED = 86_400_000
/** Milliseconds without a write after which an upload is broken: a slower client has been sent away long before. */
export const BROKEN_UPLOAD = 600_000

/** Bytes that one object may have, and the objects of one project together; infinite: no limit (LF-11). */
export async function lfsLimits(ctx: Context): Promise<{ object: number; project: number }> {
  const { lfs_object_size_limit, project_lfs_size_limit } = await readSettings(ctx)
  const bytes = (limit: number) => (limit > 0 ? limit * MEBIBYTE : Number.POSITIVE_INFINITY)
  return { object: bytes(lfs_object_size_limit), project: bytes(project_lfs_size_limit) }
}

/** Whether LFS is served for a project: its own switch and that of its group must be on (LF-1). */
export const servesLfs = ({ lfs_enabled, namespace }: Pick<Project, 'lfs_enabled' | 'namespace'>): boolean => lfs_enabled && namespace.lfs_enabled

/** Those of these objects that belong to a project, with their sizes. */
export async function objectsOf(ctx: Context, projectId: number, oids: string[]): Promise<Map<string, number>> {
  if (oids.length === 0) return new Map()
  const rows = await ctx.db.write
    .select({ oid: lfsObjects.oid, size: lfsObjects.size })
    .from(lfsObjectProjects)
    .innerJoin(lfsObjects, eq(lfsObjects.oid, lfsObjectProjects.oid))
    .where(and(eq(lfsObjectProjects.project_id, projectId), sql`${lfsObjectProjects.oid} = any(${sql.param(oids)}::text[])`))
  return new Map(rows.map(({ oid, size }) => [oid, size]))
}

/** Nobody else adds or removes this object until the transaction ends. */
const holdObject = (tx: Transaction, oid: string) => tx.execute(sql`select pg_advisory_xact_lock(hashtextextended(${`lfs ${oid}`}, 0))`)

/**
 * Puts an object that has arrived in its place and gives it to a project. File and row are there together, or neither:
 * a file without a row is removed after a day. Throws 413 beyond the project's quota.
 */
export async function keepObject(ctx: Context, projectId: number, oid: string, staged: StagedObject): Promise<void> {
  const limits = await lfsLimits(ctx)
  // a slow store must not hold all connections to the database
  await ctx.mutex.runHere(`lfs keep ${Number.parseInt(oid.slice(0, 2), 16) % KEPT_AT_ONCE}`, () =>
    ctx.db.transaction(async (tx) => {
      await holdObject(tx, oid)
      const has = and(eq(lfsObjectProjects.project_id, projectId), eq(lfsObjectProjects.oid, oid))
      const known =
        (await tx.update(lfsObjectProjects).set({ unreferenced_since: null }).where(has).returning({ oid: lfsObjectProjects.oid })).length > 0
      // looked at before, and again once nobody else can change it
      const check = (used: number) => {
        if (!known && used + staged.size > limits.project) throw tooLarge()
      }
      check(await sizeOf(tx, projectId))
      await staged.keep()
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

/** Bytes of the objects of a project. */
async function sizeOf(tx: Transaction, projectId: number, { lock = false } = {}): Promise<number> {
  const query = tx.select({ size: projects.lfs_objects_size }).from(projects).where(eq(projects.id, projectId))
  const [project] = await (lock ? query.for('no key update') : query)
  if (!project) throw new Failure('not_found', { message: '404 Project Not Found' })
  return project.size
}

/**
 * Gives objects of one project to another, without copying a byte: all of them, or those in `oids`. Whoever calls this
 * has found that the acting user may read the source's code (SEC-43).
 */
export async function shareObjects(tx: Transaction, from: number, to: number, oids?: string[]): Promise<void> {
  const which: SQL = oids ? sql`and l.oid = any(${sql.param(oids)}::text[])` : sql``
  // locked, so that a deletion of the source waits; the sum is that of what was added
  await tx.execute(sql`with shared as (
      select l.oid from ${lfsObjectProjects} l where l.project_id = ${from} ${which} order by l.oid for key share),
    added as (insert into ${lfsObjectProjects} (project_id, oid) select ${to}::bigint, s.oid from shared s on conflict do nothing returning oid),
    more as (select coalesce(sum(o.size), 0) as bytes from added a join ${lfsObjects} o on o.oid = a.oid)
    update ${projects} set lfs_objects_size = lfs_objects_size + more.bytes from more where id = ${to} and more.bytes > 0`)
}

/**
 * Records that the objects of projects about to be deleted may be needed no more. `which` is a condition on
 * `projects p`.
 */
export const releaseObjects = (tx: Transaction, which: SQL) =>
  tx.execute(sql`insert into ${pendingLfsDeletions} (oid)
    select distinct l.oid from ${lfsObjectProjects} l join projects p on p.id = l.project_id where ${which} on conflict do nothing`)

/** Removes objects of deleted projects that no other project has (LF-12). */
export async function finishObjectDeletions(ctx: Context): Promise<void> {
  for (;;) {
    const pending = await ctx.db.write.select().from(pendingLfsDeletions).orderBy(pendingLfsDeletions.oid).limit(BATCH)
    for (const { oid } of pending) {
      if (ctx.stopping.aborted) return
      await removeUnused(ctx, oid)
    }
    if (pending.length < BATCH) return
  }
}

/**
 * Removes an object, row and file, unless a project has it; whether it is gone. The file goes first: a kill in between
 * leaves the row.
 */
export async function removeUnused(ctx: Context, oid: string): Promise<boolean> {
  return ctx.db.transaction(async (tx) => {
    await holdObject(tx, oid)
    const used = await tx.select({ oid: lfsObjectProjects.oid }).from(lfsObjectProjects).where(eq(lfsObjectProjects.oid, oid)).limit(1)
    if (used.length === 0) {
      await ctx.lfs.delete(oid)
      await tx.delete(lfsObjects).where(eq(lfsObjects.oid, oid))
    }
    await tx.delete(pendingLfsDeletions).where(eq(pendingLfsDeletions.oid, oid))
    return used.length === 0
  })
}

/** Files without a row that are older than a day; an upload gets its row right after its file. */
export async function* unnamedObjects(ctx: Context): AsyncGenerator<string> {
  let batch: string[] = []
  for await (const { oid, keptAt } of ctx.lfs.list()) {
    if (Date.now() - keptAt >= UNNAMED) batch.push(oid)
    if (batch.length < BATCH) continue
    yield* await withoutRow(ctx, batch)
    batch = []
  }
  yield* await withoutRow(ctx, batch)
}

async function withoutRow(ctx: Context, oids: string[]): Promise<string[]> {
  if (oids.length === 0) return []
  const rows = await ctx.db.write.select({ oid: lfsObjects.oid }).from(lfsObjects).where(inArray(lfsObjects.oid, oids))
  const known = new Set(rows.map(({ oid }) => oid))
  return oids.filter((oid) => !known.has(oid))
}

/** Removes what killed uploads left behind: files that are not whole, and files that never got their row. */
export async function clearBrokenUploads(ctx: Context, unchanged = BROKEN_UPLOAD): Promise<void> {
  for (const name of await ctx.lfs.leftovers(unchanged))
    await ctx.lfs.removeLeftover(name).catch((fault: unknown) => ctx.log.warn({ err: fault, name }, 'a broken LFS upload cannot be removed'))
}

export async function clearUnnamedObjects(ctx: Context): Promise<void> {
  let removed = 0
  for await (const oid of unnamedObjects(ctx)) if (await removeUnused(ctx, oid)) removed++
  if (removed > 0) ctx.log.warn({ removed }, 'removed LFS objects that no row names')
}
