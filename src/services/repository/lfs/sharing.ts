import { sql } from 'drizzle-orm'
import type { Context } from '../../../context.js'
import { lfsObjectProjects, projects } from '../../../db/schema/index.js'
import type { LfsPointer, Oid, RepositoryKey } from '../../../git/types.js'
import { mayReadCode } from '../reading.js'
import { objectsOf, shareObjects } from './objects.js'
import { markReferenced } from './unreferenced.js'

/** Projects of a fork network that are asked for objects. */
const MAX_SOURCES = 10

/**
 * Gives a project the objects that commits copied into its repository point to, as far as the source has them. Whoever
 * copied them may read the source's code.
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
 * Those of these objects that a project does not have. What another project of its fork network has, whose code the
 * user may read at this moment, it gets from there: nothing has to be sent again (LF-3). Those it has will be referred
 * to.
 */
export async function missingObjects(ctx: Context, userId: number | null, projectId: number, objects: LfsPointer[]): Promise<LfsPointer[]> {
  const missing = async () => {
    const there = await objectsOf(
      ctx,
      projectId,
      objects.map(({ oid }) => oid),
    )
    return objects.filter(({ oid }) => !there.has(oid))
  }
  await markReferenced(
    ctx,
    projectId,
    objects.map(({ oid }) => oid),
  )
  let wanted = await missing()
  if (wanted.length === 0 || userId === null) return wanted
  for (const source of await sourcesIn(ctx, projectId, wanted)) {
    if (!(await mayReadCode(ctx, userId, source))) continue
    const oids = wanted.map(({ oid }) => oid)
    await ctx.db.transaction((tx) => shareObjects(tx, source, projectId, oids))
    wanted = await missing()
    if (wanted.length === 0) break
  }
  return wanted
}

/** Other projects of the fork network that have one of these objects, the oldest first. */
async function sourcesIn(ctx: Context, projectId: number, objects: LfsPointer[]): Promise<number[]> {
  const oids = objects.map(({ oid }) => oid)
  const { rows } = await ctx.db.write.execute<{ id: string }>(sql`with recursive
    up (id, above) as (select p.id, p.forked_from_id from ${projects} p where p.id = ${projectId}
      union select p.id, p.forked_from_id from ${projects} p join up on p.id = up.above),
    network (id) as (select up.id from up union select p.id from ${projects} p join network on p.forked_from_id = network.id)
    select distinct l.project_id as id from ${lfsObjectProjects} l join network on network.id = l.project_id
      where l.oid = any(${sql.param(oids)}::text[]) and l.project_id <> ${projectId} order by 1 limit ${MAX_SOURCES}`)
  return rows.map(({ id }) => Number(id))
}
