import { and, desc, eq, gt, sql } from 'drizzle-orm'
import type { ProjectSubject } from '../../access/rules.js'
import type { Context } from '../../context.js'
import { projectFetches, projects } from '../../db/schema/index.js'
import { statement } from '../../db/statement.js'
import { dayOf } from '../../lib/text/day.js'

/** Days that are shown, and kept. */
const DAYS = 30
/** Milliseconds between two writes for one project. */
const WRITE_GAP_MS = 10_000

export interface FetchStatistics {
  total: number
  days: { count: number; date: string }[]
}

/** Counts a fetch, which does not wait for that: what was not written when a process is killed is lost (RX-10). */
export function countFetch(ctx: Context, projectId: number): void {
  const { fetches } = ctx.process
  fetches.set(projectId, (fetches.get(projectId) ?? 0) + 1)
  ctx.jobs.coalesce(`fetches of project ${projectId}`, WRITE_GAP_MS, 'count fetches', () => writeFetches(ctx, projectId))
}

const firstDay = (ctx: Pick<Context, 'now'>) => dayOf(new Date(ctx.now().getTime() - DAYS * 86_400_000))

async function writeFetches(ctx: Context, projectId: number): Promise<void> {
  const { fetches } = ctx.process
  const count = fetches.get(projectId) ?? 0
  fetches.delete(projectId)
  try {
    // one statement; a day that begins removes the oldest
    await ctx.db.write.execute(sql`with counted as (insert into ${projectFetches} (project_id, day, fetches)
        select p.id, ${dayOf(ctx.now())}::date, ${count}::int from ${projects} p where p.id = ${projectId}
        on conflict (project_id, day) do update set fetches = ${projectFetches.fetches} + excluded.fetches returning (xmax = 0) as added)
      delete from ${projectFetches} where project_id = ${projectId} and day <= ${firstDay(ctx)}::date and (select added from counted)`)
  } catch (error) {
    fetches.set(projectId, (fetches.get(projectId) ?? 0) + count)
    throw error
  }
}

const selectFetches = statement('fetches of a project', (db) =>
  db
    .select({ count: projectFetches.fetches, date: projectFetches.day })
    .from(projectFetches)
    .where(and(eq(projectFetches.project_id, sql.placeholder('project')), gt(projectFetches.day, sql.placeholder('since'))))
    .orderBy(desc(projectFetches.day)),
)

/** How often a project was fetched in the last 30 days, the newest day first (RX-10). */
export async function getFetchStatistics(ctx: Context, { project }: ProjectSubject): Promise<FetchStatistics> {
  const days = await selectFetches(ctx.db, null).execute({ project: project.id, since: firstDay(ctx) })
  return { total: days.reduce((sum, { count }) => sum + count, 0), days }
}
