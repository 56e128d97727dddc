import { sql } from 'drizzle-orm'
import type { Context } from '../../../context.js'
import { lfsObjectProjects, projects } from '../../../db/schema/index.js'
import type { LfsPointer, Oid, RepositoryKey } from '../../../git/types.js'
import { mayReadCode } from '../reading.js'
import { objectsOf, shareObjects } from './objects.js'
import { markReferenced } from './unreferenced.js'

/** Maximum number of projects of a fork network that are searched for objects. */
const MAX_SOURCES = 10

/**
 * Adds to a project those objects of the source that commits copied into its repository point to. The caller has
 * checked that the user may read the source's code.
 */
export async function sharePointedObjects(ctx: Context, from: number, to: RepositoryKey, commits: Oid[], have: Oid[]): Promise<void> {
  await ctx.db.write.execute(sql`update ${lfsObjectProjects} t set unreferenced_since = null
    where t.project_id = ${to.id} and t.unreferenced_since is not null
      and exists (select 1 from ${lfsObjectProjects} l where l.project_id = ${from} and l.oid = t.oid)`)
  const { rows } = await ctx.db.write.execute(sql`select 1 from ${lfsObjectProjects} l where l.project_id = ${from}
    and not exists (select 1 from ${lfsObjectProjects} t where t.project_id = ${to.id} and t.oid = l.oid) limit 1`)
  if (rows.length === 0) return
  const pointers = await ctx.git.open(to).lfsPointers(commits, have)
  if (pointers.length === 0) return
  const oids = pointers.map(({ oid }) => oid)
  await ctx.db.transaction((tx) => shareObjects(tx, from, to.id, oids))
}

/**
 * The objects that a project does not have. Objects are first shared from other projects of its fork network whose code
 * the user may currently read, so that they need not be uploaded again (LF-3). Existing ones are marked as referenced.
 */
export async function missingObjects(ctx: Context, userId: number | null, projectId: number, objects: LfsPointer[]): Promise<LfsPointer[]> {
  const missing = async () => {
    const owned = await objectsOf(
      ctx,
      projectId,
      objects.map(({ oid }) => oid),
    )
    return objects.filter(({ oid }) => !owned.has(oid))
  }
  await markReferenced(
    ctx,
    projectId,
    objects.map(({ oid }) => oid),
  )
  let stillMissing = await missing()
  if (stillMissing.length === 0 || userId === null) return stillMissing
  for (const source of await findSources(ctx, projectId, stillMissing)) {
    if (!(await mayReadCode(ctx, userId, source))) continue
    const oids = stillMissing.map(({ oid }) => oid)
    await ctx.db.transaction((tx) => shareObjects(tx, source, projectId, oids))
    stillMissing = await missing()
    if (stillMissing.length === 0) break
  }
  return stillMissing
}

/** Other projects of the fork network that have any of the objects, the oldest first. */
async function findSources(ctx: Context, projectId: number, objects: LfsPointer[]): Promise<number[]> {
  const oids = objects.map(({ oid }) => oid)
  // in SQL: the builder has no recursive queries
  const { rows } = await ctx.db.write.execute<{ id: string }>(sql`with recursive
    up (id, above) as (select p.id, p.forked_from_id from ${projects} p where p.id = ${projectId}
      union select p.id, p.forked_from_id from ${projects} p join up on p.id = up.above),
    network (id) as (select up.id from up union select p.id from ${projects} p join network on p.forked_from_id = network.id)
    select distinct l.project_id as id from ${lfsObjectProjects} l join network on network.id = l.project_id
      where l.oid = any(${sql.param(oids)}::text[]) and l.project_id <> ${projectId} order by 1 limit ${MAX_SOURCES}`)
  return rows.map(({ id }) => Number(id))
}
