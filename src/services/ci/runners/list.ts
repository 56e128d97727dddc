import { and, desc, eq, type SQL, sql } from 'drizzle-orm'
import type { ActorUser } from '../../../access/actor.js'
import { LEVELS } from '../../../access/can.js'
import { groupLevel, projectLevel } from '../../../access/roles.js'
import type { Context } from '../../../context.js'
import { totalCount } from '../../../db/decoded.js'
import { namespaceAncestry, namespaces, projects, runnerProjects, runners } from '../../../db/schema/index.js'
import { forbidden, invalidRecord, notFound, refused } from '../../../failures.js'
import type { Page, Paging } from '../../core/page.js'
import { ONLINE_S, type RunnerAttributes, type RunnerKind, runnerFaults, type SeenRunner, seenRunner } from './runners.js'

/** Which runners a list has: all, those of a user, of a project with what serves it, or of a group. */
export type RunnerList = { of: 'all' } | { of: 'user'; user: number } | { of: 'project'; project: number } | { of: 'group'; group: number }

export interface RunnerFilter extends Paging {
  type?: RunnerKind | undefined
  status?: 'active' | 'paused' | 'online' | 'offline' | 'never_contacted' | undefined
  paused?: boolean | undefined
  tag_list?: string[] | undefined
}

/** The runners that a user may change: of projects of which they are maintainer, and of groups that they own. */
const manages = (user: number) => {
  const self = sql`${user}::bigint`
  return sql`(exists (select 1 from ${runnerProjects} rp join ${projects} p on p.id = rp.project_id
      where rp.runner_id = ${runners.id} and ${projectLevel({ id: sql`p.id`, namespace_id: sql`p.namespace_id` }, self)} >= ${LEVELS.maintainer})
    or ${runners.group_id} is not null and ${groupLevel(runners.group_id, self)} >= ${LEVELS.owner})`
}

const within = (list: RunnerList): SQL | undefined => {
  if (list.of === 'user') return manages(list.user)
  if (list.of === 'group') return sql`${runners.group_id} in (select a.ancestor_id from ${namespaceAncestry} a where a.descendant_id = ${list.group})`
  if (list.of === 'all') return undefined
  return sql`(exists (select 1 from ${runnerProjects} rp where rp.runner_id = ${runners.id} and rp.project_id = ${list.project})
    or ${runners.group_id} in (select a.ancestor_id from ${namespaceAncestry} a join ${projects} p on p.namespace_id = a.descendant_id where p.id = ${list.project})
    or ${runners.kind} = 'instance_type' and exists (select 1 from ${projects} p where p.id = ${list.project} and p.shared_runners_enabled))`
}

/** Runners, the newest first (CI-118). */
export async function listRunners(ctx: Context, list: RunnerList, filter: RunnerFilter): Promise<Page<SeenRunner>> {
  const seen = new Date(ctx.now().getTime() - ONLINE_S * 1_000).toISOString()
  const states: Record<NonNullable<RunnerFilter['status']>, SQL> = {
    active: sql`not ${runners.paused}`,
    paused: sql`${runners.paused}`,
    online: sql`${runners.contacted_at} > ${seen}::timestamptz`,
    offline: sql`${runners.contacted_at} <= ${seen}::timestamptz`,
    never_contacted: sql`${runners.contacted_at} is null`,
  }
  const rows = await ctx.db.write
    .select({ runner: runners, total: totalCount() })
    .from(runners)
    .where(
      and(
        within(list),
        filter.type && eq(runners.kind, filter.type),
        filter.status && states[filter.status],
        filter.paused === undefined ? undefined : eq(runners.paused, filter.paused),
        filter.tag_list?.length ? sql`${runners.tags} @> ${sql.param(filter.tag_list)}::text[]` : undefined,
      ),
    )
    .orderBy(desc(runners.id))
    .limit(filter.per_page)
    .offset((filter.page - 1) * filter.per_page)
  return { items: rows.map(({ runner }) => seenRunner(ctx, runner)), total: rows[0]?.total ?? 0 }
}

/** What a runner serves, for those who may see it. */
export interface RunnerRecord {
  runner: SeenRunner
  projects: { id: number; name: string; path: string; full_path: string }[]
  groups: { id: number; name: string; full_path: string }[]
}

/** A runner that the user may change; 404 if there is none, 403 for others. */
export async function getRunner(ctx: Context, user: ActorUser, id: number): Promise<RunnerRecord> {
  const [runner] = await ctx.db.write.select().from(runners).where(eq(runners.id, id))
  if (!runner) throw notFound('Runner')
  if (!user.admin) {
    const [mine] = await ctx.db.write
      .select({ id: runners.id })
      .from(runners)
      .where(and(eq(runners.id, id), manages(user.id)))
    if (!mine) throw forbidden()
  }
  const [served, groups] = await Promise.all([
    ctx.db.write
      .select({ id: projects.id, name: projects.name, path: projects.path, namespace: namespaces.full_path })
      .from(runnerProjects)
      .innerJoin(projects, eq(projects.id, runnerProjects.project_id))
      .innerJoin(namespaces, eq(namespaces.id, projects.namespace_id))
      .where(eq(runnerProjects.runner_id, id))
      .orderBy(projects.id)
      .limit(100),
    runner.group_id === null
      ? []
      : ctx.db.write
          .select({ id: namespaces.id, name: namespaces.name, full_path: namespaces.full_path })
          .from(namespaces)
          .where(eq(namespaces.id, runner.group_id)),
  ])
  return {
    runner: seenRunner(ctx, runner),
    projects: served.map(({ namespace, ...project }) => ({ ...project, full_path: `${namespace}/${project.path}` })),
    groups,
  }
}

/** Changes a runner (CI-118). */
export async function updateRunner(ctx: Context, user: ActorUser, id: number, given: RunnerAttributes): Promise<RunnerRecord> {
  const { runner } = await getRunner(ctx, user, id)
  const faults = runnerFaults({ run_untagged: runner.run_untagged, tags: runner.tags, ...given })
  if (Object.keys(faults).length > 0) throw invalidRecord(faults)
  await ctx.db.write
    .update(runners)
    .set({ ...given, updated_at: ctx.now() })
    .where(eq(runners.id, id))
  return getRunner(ctx, user, id)
}

/** Lets a project's runner serve another project. */
export async function enableRunner(ctx: Context, user: ActorUser, project: number, id: number): Promise<SeenRunner> {
  const { runner } = await getRunner(ctx, user, id)
  if (runner.kind !== 'project_type') throw refused('Runner is an instance or group runner')
  if (runner.locked) throw forbidden('Runner is locked')
  const added = await ctx.db.write.insert(runnerProjects).values({ runner_id: id, project_id: project }).onConflictDoNothing().returning()
  if (added.length === 0) throw invalidRecord({ runner_id: ['has already been taken'] })
  return runner
}

/** Takes a project from a runner, which must serve another one. */
export async function disableRunner(ctx: Context, project: number, id: number): Promise<void> {
  await ctx.db.transaction(async (tx) => {
    const rows = await tx.select().from(runnerProjects).where(eq(runnerProjects.runner_id, id)).for('update')
    if (!rows.some(({ project_id }) => project_id === project)) throw notFound('Runner')
    if (rows.length === 1) throw forbidden('Only one project associated with the runner. Please remove the runner instead')
    await tx.delete(runnerProjects).where(and(eq(runnerProjects.runner_id, id), eq(runnerProjects.project_id, project)))
  })
}
