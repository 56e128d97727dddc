import { and, eq, inArray, sql } from 'drizzle-orm'
import type { SignedIn } from '../../access/actor.js'
import { getGroupFor, type ProjectSubject } from '../../access/rules.js'
import type { Context } from '../../context.js'
import { onlyRow } from '../../db/only-row.js'
import { boardLists, issues, mergeRequests, milestones, projects, releaseMilestones, resourceEvents } from '../../db/schema/index.js'
import { unlessUniqueViolation } from '../../db/unique-violation.js'
import { forbidden, invalidRecord, notFound, refused } from '../../failures.js'
import { nextGroupIid } from '../core/iids.js'
import { getMilestone, type MilestoneRecord } from './milestones.js'

const taken = () => invalidRecord({ title: ['already being used for another group or project milestone.'] })

/**
 * Makes a milestone of a project one of its group. It replaces the milestones with its title of all projects directly in
 * the group, on their issues, merge requests, releases and boards (PT-33).
 */
export async function promoteMilestone(ctx: Context, caller: SignedIn, { project }: ProjectSubject, milestoneId: number): Promise<MilestoneRecord> {
  if (project.namespace.kind !== 'group') throw refused('The project is in no group')
  const group = await getGroupFor(ctx, caller, String(project.namespace_id))
  if (!group.can('manage_milestone')) throw forbidden()
  const promote = () =>
    ctx.db.transaction(async (tx) => {
      const [milestone] = await tx
        .select()
        .from(milestones)
        .where(and(eq(milestones.id, milestoneId), eq(milestones.project_id, project.id)))
        .for('update')
      if (!milestone) throw notFound()
      const { id: _, project_id: __, iid: ___, ...columns } = milestone
      const other = and(eq(milestones.namespace_id, group.group.id), eq(milestones.title, milestone.title))
      if ((await tx.$count(milestones, other)) > 0) throw taken()
      const replaced = await tx
        .select({ id: milestones.id })
        .from(milestones)
        .where(
          sql`${milestones.title} = ${milestone.title} and ${milestones.project_id} in (select p.id from ${projects} p where p.namespace_id = ${group.group.id})`,
        )
        .for('update')
      const iid = await nextGroupIid(tx, group.group.id, 'milestone')
      const values = { ...columns, namespace_id: group.group.id, iid, updated_at: ctx.now() }
      const made = onlyRow(await tx.insert(milestones).values(values).returning({ id: milestones.id }))
      const ids = replaced.map(({ id }) => id)
      for (const table of [issues, mergeRequests, resourceEvents, boardLists])
        await tx.update(table).set({ milestone_id: made.id }).where(inArray(table.milestone_id, ids))
      await tx.execute(sql`insert into ${releaseMilestones} (release_id, milestone_id)
        select release_id, ${made.id} from ${releaseMilestones} where ${inArray(releaseMilestones.milestone_id, ids)} on conflict do nothing`)
      await tx.delete(milestones).where(inArray(milestones.id, ids))
      return made.id
    })
  const id = await unlessUniqueViolation(promote, taken)
  return getMilestone(ctx, { group }, id)
}
