import { and, eq, inArray, isNotNull, isNull, lt, sql } from 'drizzle-orm'
import type { Context } from '../../../context.js'
import { lfsObjectProjects, lfsObjects, pendingLfsDeletions, projects } from '../../../db/schema/index.js'
import type { GitRepository } from '../../../git/types.js'
import { repositoryById } from '../repositories.js'
import { finishObjectDeletions } from './objects.js'

/**
 * How long a project keeps an object that no commit points to any more: as long as Git keeps such commits (SEC-164).
 */
const GRACE = '14 days'
/** Objects of one statement. */
const BATCH = 1_000

/**
 * Takes from a project the objects that no commit of any ref has pointed to for two weeks (LF-14). A client that names
 * an object, to upload or in a push, makes it count as referred to until the next look, so that no push in flight loses
 * what it needs.
 */
export async function dropUnreferenced(ctx: Context, projectId: number, repository: Pick<GitRepository, 'eachLfsPointer'>): Promise<void> {
  const held = await ctx.db.write
    .select({ oid: lfsObjectProjects.oid, since: lfsObjectProjects.unreferenced_since })
    .from(lfsObjectProjects)
    .where(eq(lfsObjectProjects.project_id, projectId))
  if (held.length === 0) return
  const unreferenced = new Map(held.map(({ oid, since }) => [oid, since]))
  const back: string[] = []
  await repository.eachLfsPointer(({ oid }) => {
    if (unreferenced.get(oid)) back.push(oid)
    unreferenced.delete(oid)
  })
  await markReferenced(ctx, projectId, back)
  const names = [...unreferenced.keys()]
  for (let at = 0; at < names.length; at += BATCH) {
    const oids = names.slice(at, at + BATCH)
    await release(ctx, projectId, oids)
    const found = and(eq(lfsObjectProjects.project_id, projectId), inArray(lfsObjectProjects.oid, oids), isNull(lfsObjectProjects.unreferenced_since))
    await ctx.db.write.update(lfsObjectProjects).set({ unreferenced_since: ctx.now() }).where(found)
  }
  await finishObjectDeletions(ctx)
}

/** Somebody refers to these objects, or is about to. */
export async function markReferenced(ctx: Context, projectId: number, oids: string[]): Promise<void> {
  if (oids.length === 0) return
  const named = and(
    eq(lfsObjectProjects.project_id, projectId),
    sql`${lfsObjectProjects.oid} = any(${sql.param(oids)}::text[])`,
    isNotNull(lfsObjectProjects.unreferenced_since),
  )
  await ctx.db.write.update(lfsObjectProjects).set({ unreferenced_since: null }).where(named)
}

/** Takes those of these objects from a project that are still unreferenced after the grace. */
async function release(ctx: Context, projectId: number, oids: string[]): Promise<void> {
  const before = sql`${ctx.now().toISOString()}::timestamptz - ${GRACE}::interval`
  await ctx.db.transaction(async (tx) => {
    const gone = await tx
      .delete(lfsObjectProjects)
      .where(and(eq(lfsObjectProjects.project_id, projectId), inArray(lfsObjectProjects.oid, oids), lt(lfsObjectProjects.unreferenced_since, before)))
      .returning({ oid: lfsObjectProjects.oid })
    if (gone.length === 0) return
    const named = gone.map(({ oid }) => oid)
    const bytes = sql`(select sum(${lfsObjects.size}) from ${lfsObjects} where ${inArray(lfsObjects.oid, named)})`
    await tx
      .update(projects)
      .set({ lfs_objects_size: sql`${projects.lfs_objects_size} - ${bytes}` })
      .where(eq(projects.id, projectId))
    await tx.insert(pendingLfsDeletions).values(gone).onConflictDoNothing()
  })
}

/** Looks again at projects with objects whose time is over, also where nobody pushes any more. */
export async function dropDueObjects(ctx: Context): Promise<void> {
  const before = sql`${ctx.now().toISOString()}::timestamptz - ${GRACE}::interval`
  const due = await ctx.db.write
    .selectDistinct({ id: lfsObjectProjects.project_id })
    .from(lfsObjectProjects)
    .where(lt(lfsObjectProjects.unreferenced_since, before))
  for (const { id } of due) {
    if (ctx.stopping.aborted) return
    const repository = await repositoryById(ctx, id)
    if (repository) await dropUnreferenced(ctx, id, repository.git)
  }
}
