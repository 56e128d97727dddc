import { and, eq, inArray, or, sql } from 'drizzle-orm'
import type { ProjectSubject } from '../../access/rules.js'
import type { Context } from '../../context.js'
import type { Transaction } from '../../db/client.js'
import { completeTexts, LONG_TEXTS, READ_COLUMNS } from '../../db/long-text.js'
import { milestones, namespaces, projects, releaseMilestones } from '../../db/schema/index.js'
import { statement } from '../../db/statement.js'
import { refused } from '../../failures.js'
import type { MilestoneRecord } from '../issuables/milestones.js'

/** The most milestones of a release. */
const MAX_MILESTONES = 100

/** Ids of the milestones with these titles in the project or its group (MI-8); 400 if one is not found (RL-3). */
export async function milestonesOfTitles(db: Pick<Transaction, 'select'>, { project, can }: ProjectSubject, given: string[]): Promise<number[]> {
  const titles = [...new Set(given.filter((title) => title.trim() !== ''))]
  if (titles.length === 0) return []
  if (titles.length > MAX_MILESTONES) throw refused(`A release has at most ${MAX_MILESTONES} milestones`)
  const usable = or(eq(milestones.project_id, project.id), eq(milestones.namespace_id, project.namespace_id))
  const query = db.select({ id: milestones.id, title: milestones.title }).from(milestones)
  const found = can('read_milestone') ? await query.where(and(inArray(milestones.title, titles), usable)) : []
  const missing = titles.filter((title) => !found.some((each) => each.title === title))
  if (missing.length > 0) throw refused(`Milestone(s) not found: ${missing.join(', ')}`)
  return found.map(({ id }) => id)
}

/** Replaces the milestones of a release. */
export async function setReleaseMilestones(tx: Transaction, releaseId: number, milestoneIds: number[]): Promise<void> {
  await tx.delete(releaseMilestones).where(eq(releaseMilestones.release_id, releaseId))
  // milestones that were deleted meanwhile are left out
  if (milestoneIds.length > 0)
    await tx.execute(sql`insert into ${releaseMilestones} (release_id, milestone_id)
      select ${releaseId}::bigint, m.id from ${milestones} m where m.id = any(${sql.param(milestoneIds)}::bigint[]) order by m.id for key share`)
}

const selectMilestones = statement('milestones of releases', (db) =>
  db
    .select({
      release: releaseMilestones.release_id,
      milestone: READ_COLUMNS.milestones,
      path: sql<string>`case when ${milestones.project_id} is null then (select n.full_path from ${namespaces} n where n.id = ${milestones.namespace_id})
        else (select n.full_path || '/' || p.path from ${projects} p join ${namespaces} n on n.id = p.namespace_id where p.id = ${milestones.project_id}) end`,
    })
    .from(releaseMilestones)
    .innerJoin(milestones, eq(milestones.id, releaseMilestones.milestone_id))
    .where(sql`${releaseMilestones.release_id} = any(${sql.placeholder('releases')}::bigint[])`)
    .orderBy(milestones.id),
)

/** The milestones of releases, by release id. */
export async function milestonesOfReleases(ctx: Context, releaseIds: number[]): Promise<Map<number, MilestoneRecord[]>> {
  const found = new Map<number, MilestoneRecord[]>(releaseIds.map((id) => [id, []]))
  if (releaseIds.length === 0) return found
  const rows = await selectMilestones(ctx.db, null).execute({ releases: releaseIds })
  const texts = rows.map(({ milestone }) => milestone)
  await completeTexts(ctx, LONG_TEXTS.milestones, texts, 'page')
  for (const { release, ...record } of rows) found.get(release)?.push(record)
  return found
}
