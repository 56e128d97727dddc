import { and, eq } from 'drizzle-orm'
import type { SignedIn } from '../../access/actor.js'
import { fullPathOf, getGroupFor, type ProjectSubject } from '../../access/rules.js'
import type { Context } from '../../context.js'
import { projectShares, projects } from '../../db/schema/index.js'
import { conflict, notFound, refused } from '../../failures.js'
import { dayOf } from '../../lib/text/day.js'
import { audit, changesOf } from '../core/audit.js'
import { ancestorsOf, checkLastDay, isCurrent, type NewShare } from '../groups/shares.js'
import { lockNamespace } from '../identity/namespaces.js'

/** Shares a project with a group: its members get access up to a level from the next request on (PR-23, AC-15). */
export async function shareProject(
  ctx: Context,
  caller: SignedIn,
  subject: ProjectSubject,
  given: NewShare,
): Promise<typeof projectShares.$inferSelect> {
  const { id } = subject.project
  const { group } = await getGroupFor(ctx, caller, String(given.group_id))
  checkLastDay(ctx, given.expires_at)
  return ctx.db.transaction(async (tx) => {
    const [project] = await tx.select({ namespace_id: projects.namespace_id }).from(projects).where(eq(projects.id, id)).for('update')
    if (!project) throw notFound('Project')
    // locked, so that its deletion either suspends the share or prevents it
    if (!(await lockNamespace(tx, group.id))) throw notFound('Group')
    const ancestors = await ancestorsOf(tx, project.namespace_id)
    // the lock of a group also applies to its subgroups, whose owners cannot undo it
    if (ancestors.some(({ locked }) => locked)) throw refused('The project sharing with group is disabled')
    if (ancestors.some((ancestor) => ancestor.id === group.id))
      throw conflict('Project cannot be shared with the group it is in or one of its ancestors.')
    const [existing] = await tx
      .select()
      .from(projectShares)
      .where(and(eq(projectShares.project_id, id), eq(projectShares.group_id, group.id)))
    if (existing && (existing.expires_at === null || existing.expires_at > dayOf(ctx.now())))
      throw conflict('Project is already shared with this group')
    if (existing) await tx.delete(projectShares).where(eq(projectShares.id, existing.id))
    const [share] = await tx
      .insert(projectShares)
      .values({ project_id: id, group_id: group.id, group_access: given.group_access, expires_at: given.expires_at ?? null, created_at: ctx.now() })
      .returning()
    await audit(ctx, tx, {
      action: 'project_shared',
      target: { type: 'project', id, name: fullPathOf(subject.project) },
      changes: { group_id: group.id, group: group.full_path, group_access: given.group_access, expires_at: given.expires_at ?? null },
    })
    return share as typeof projectShares.$inferSelect
  })
}

const currentShare = (projectId: number, groupId: number) =>
  and(eq(projectShares.project_id, projectId), eq(projectShares.group_id, groupId), isCurrent(projectShares.expires_at))

/** Changes the level and the last day of a share; 404 when there is none or it has expired. */
export async function changeShare(ctx: Context, subject: ProjectSubject, { group_id, group_access, expires_at = null }: NewShare): Promise<void> {
  const { id } = subject.project
  checkLastDay(ctx, expires_at)
  await ctx.db.transaction(async (tx) => {
    const [before] = await tx.select().from(projectShares).where(currentShare(id, group_id)).for('update')
    if (!before) throw notFound('Group Link')
    const changes = changesOf(before, { group_access, expires_at })
    if (Object.keys(changes).length === 0) return
    await tx.update(projectShares).set({ group_access, expires_at }).where(eq(projectShares.id, before.id))
    await audit(ctx, tx, {
      action: 'project_shared',
      target: { type: 'project', id, name: fullPathOf(subject.project) },
      changes: { group_id, ...changes },
    })
  })
}

/** Ends a share; 404 when there is none or it has expired (PR-24). */
export async function unshareProject(ctx: Context, subject: ProjectSubject, groupId: number): Promise<void> {
  const { id } = subject.project
  await ctx.db.transaction(async (tx) => {
    const [removed] = await tx.delete(projectShares).where(currentShare(id, groupId)).returning()
    if (!removed) throw notFound('Group Link')
    await audit(ctx, tx, {
      action: 'project_unshared',
      target: { type: 'project', id, name: fullPathOf(subject.project) },
      changes: { group_id: groupId, group_access: removed.group_access },
    })
  })
}
