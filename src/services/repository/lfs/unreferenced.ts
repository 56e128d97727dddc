import { and, eq, inArray, isNotNull, isNull, lt, sql } from 'drizzle-orm'
import type { Context } from '../../../context.js'
import { lfsObjectProjects, lfsObjects, pendingLfsDeletions, projects } from '../../../db/schema/index.js'
import type { GitRepository } from '../../../git/types.js'
import { repositoryById } from '../repositories.js'
import { finishObjectDeletions } from './objects.js'

/** How long a project keeps an object that no commit points to: as long as Git keeps unreachable commits (SEC-164). */
const GRACE_PERIOD = '14 days'
const BATCH_SIZE = 1_000

/**
 * Removes from a project the objects that no reachable commit has pointed to for two weeks (LF-14). An object named by
 * a client, in an upload or a push, counts as referenced until the next run, so that a concurrent push does not lose
 * it.
 */
export async function dropUnreferenced(ctx: Context, projectId: number, repository: Pick<GitRepository, 'forEachLfsPointer'>): Promise<void> {
  const owned = await ctx.db.write
    .select({ oid: lfsObjectProjects.oid, since: lfsObjectProjects.unreferenced_since })
    .from(lfsObjectProjects)
    .where(eq(lfsObjectProjects.project_id, projectId))
  if (owned.length === 0) return
  const unreferenced = new Map(owned.map(({ oid, since }) => [oid, since]))
  const referencedAgain: string[] = []
  await repository.forEachLfsPointer(({ oid }) => {
    if (unreferenced.get(oid)) referencedAgain.push(oid)
    unreferenced.delete(oid)
  })
  await markReferenced(ctx, projectId, referencedAgain)
  const names = [...unreferenced.keys()]
  for (let at = 0; at < names.length; at += BATCH_SIZE) {
    const oids = names.slice(at, at + BATCH_SIZE)
    await release(ctx, projectId, oids)
    const found = and(eq(lfsObjectProjects.project_id, projectId), inArray(lfsObjectProjects.oid, oids), isNull(lfsObjectProjects.unreferenced_since))
    await ctx.db.write.update(lfsObjectProjects).set({ unreferenced_since: ctx.now() }).where(found)
  }
  await finishObjectDeletions(ctx)
}

/** Marks objects as referenced, or about to be. */
export async function markReferenced(ctx: Context, projectId: number, oids: string[]): Promise<void> {
  if (oids.length === 0) return
  const named = and(
    eq(lfsObjectProjects.project_id, projectId),
    sql`${lfsObjectProjects.oid} = any(${sql.param(oids)}::text[])`,
    isNotNull(lfsObjectProjects.unreferenced_since),
  )
  await ctx.db.write.update(lfsObjectProjects).set({ unreferenced_since: null }).where(named)
}

/** Removes those of the objects from a project that have been unreferenced for the grace period. */
async function release(ctx: Context, projectId: number, oids: string[]): Promise<void> {
  const before = sql`${ctx.now().toISOString()}::timestamptz - ${GRACE_PERIOD}::interval`
  await ctx.db.transaction(async (tx) => {
    const released = await tx
      .delete(lfsObjectProjects)
      .where(and(eq(lfsObjectProjects.project_id, projectId), inArray(lfsObjectProjects.oid, oids), lt(lfsObjectProjects.unreferenced_since, before)))
      .returning({ oid: lfsObjectProjects.oid })
    if (released.length === 0) return
    const named = released.map(({ oid }) => oid)
    const bytes = sql`(select sum(${lfsObjects.size}) from ${lfsObjects} where ${inArray(lfsObjects.oid, named)})`
    await tx
      .update(projects)
      .set({ lfs_objects_size: sql`${projects.lfs_objects_size} - ${bytes}` })
      .where(eq(projects.id, projectId))
    await tx.insert(pendingLfsDeletions).values(released).onConflictDoNothing()
  })
}

/** Removes expired objects of all projects, including those without further pushes. */
export async function dropExpiredObjects(ctx: Context): Promise<void> {
  const before = sql`${ctx.now().toISOString()}::timestamptz - ${GRACE_PERIOD}::interval`
  const due = await ctx.db.write
    .selectDistinct({ id: lfsObjectProjects.project_id })
    .from(lfsObjectProjects)
    .where(lt(lfsObjectProjects.unreferenced_since, before))
  for (const { id } of due) {
    if (ctx.process.stopping.aborted) return
    const repository = await repositoryById(ctx, id)
    if (repository) await dropUnreferenced(ctx, id, repository.git)
  }
}
