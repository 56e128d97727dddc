import { and, asc, eq, sql } from 'drizzle-orm'
import type { ProjectSubject } from '../../../access/rules.js'
import type { Context } from '../../../context.js'
import { totalCount } from '../../../db/decoded.js'
import { builds, commitStatuses, resourceGroups } from '../../../db/schema/index.js'
import { statement } from '../../../db/statement.js'
import { notFound } from '../../../failures.js'
import { enqueue } from '../../../jobs/enqueue.js'
import type { ProcessMode } from '../../../rules/ci/resource-groups.js'
import { limits, type Page, type Paging, pageFrom } from '../../core/page.js'
import { assigning } from '../builds/later.js'
import { type JobRecord, jobsByIds } from '../jobs.js'
import { UPCOMING } from './assign.js'

export type ResourceGroup = typeof resourceGroups.$inferSelect

const selectGroups = statement('resource groups', (db) =>
  db
    .select({ group: resourceGroups, total: totalCount() })
    .from(resourceGroups)
    .where(eq(resourceGroups.project_id, sql.placeholder('project')))
    .orderBy(asc(resourceGroups.id))
    .limit(sql.placeholder('limit'))
    .offset(sql.placeholder('offset')),
)

/** The resource groups of a project (CI-293). */
export async function listResourceGroups(ctx: Context, { project }: ProjectSubject, paging: Paging): Promise<Page<ResourceGroup>> {
  const { items, total } = await pageFrom(selectGroups(ctx.db, null), { project: project.id }, paging)
  return { items: items.map(({ group }) => group), total }
}

export async function getResourceGroup(ctx: Context, { project }: ProjectSubject, key: string): Promise<ResourceGroup> {
  const [found] = await ctx.db.write
    .select()
    .from(resourceGroups)
    .where(and(eq(resourceGroups.project_id, project.id), eq(resourceGroups.key, key)))
  if (!found) throw notFound('Resource Group')
  return found
}

/** Changes in which order the jobs of a group run; what it means for the next one is seen at once. */
export async function updateResourceGroup(ctx: Context, subject: ProjectSubject, key: string, process_mode: ProcessMode): Promise<ResourceGroup> {
  const { id } = await getResourceGroup(ctx, subject, key)
  await ctx.db.transaction(async (tx) => {
    await tx.update(resourceGroups).set({ process_mode, updated_at: ctx.now() }).where(eq(resourceGroups.id, id))
    await enqueue(tx, assigning, { group: id }, { key: String(id) })
  })
  return getResourceGroup(ctx, subject, key)
}

/** The jobs that get the resource next, in their order. */
export async function listUpcoming(ctx: Context, subject: ProjectSubject, key: string, paging: Paging): Promise<Page<JobRecord>> {
  const group = await getResourceGroup(ctx, subject, key)
  const { states, order } = UPCOMING[group.process_mode]
  const { limit, offset } = limits(paging)
  const { rows } = await ctx.db.write.execute<{ id: string; total: string }>(sql`select s.id, count(*) over () as total
    from ${builds} b join ${commitStatuses} s on s.id = b.job_id
    where b.resource_group_id = ${group.id} and s.latest and s.kind <> 'bridge' and s.status in ${states} order by ${order} limit ${limit} offset ${offset}`)
  const ids = rows.map(({ id }) => Number(id))
  const jobs = await jobsByIds(ctx, subject, ids)
  return { items: ids.flatMap((id) => jobs.get(id) ?? []), total: Number(rows[0]?.total ?? 0) }
}
