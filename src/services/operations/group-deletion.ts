import { and, eq, inArray, isNull, sql } from 'drizzle-orm'
import type { GroupSubject, Namespace } from '../../access/rules.js'
import type { Context } from '../../context.js'
import type { Transaction } from '../../db/client.js'
import { groupShares, namespaceAncestry, namespaces, projectShares, projects } from '../../db/schema/index.js'
import { retryOnUniqueViolation } from '../../db/unique-violation.js'
import { invalidRecord, notFound, refused } from '../../failures.js'
import { deletionSuffix, formerPath } from '../../rules/path.js'
import { audit } from '../core/audit.js'
import { hasSibling, TAKEN } from '../groups/attributes.js'
import { retireBots } from '../groups/bots.js'
import { isRouteTaken, lockNamespace, renameNamespace } from '../identity/namespaces.js'
import { type DeletionOptions, deletionDue } from '../projects/deletion.js'
import { lowerForks } from '../projects/fork-network.js'
import { deleteProjectRows, detachProjects } from '../projects/remove.js'

/**
 * Deletes a group with its descendants and all their projects: they are hidden now and removed when the group is due, or
 * removed now (GR-44). Files are removed in the background (SEC-134).
 */
export async function deleteGroup(ctx: Context, { group }: GroupSubject, given: DeletionOptions): Promise<void> {
  if (group.marked_for_deletion_at && !given.permanently_remove) throw notFound('Group')
  const due = await deletionDue(ctx, group.full_path, given)
  await ctx.db.transaction(async (tx) => {
    if (due !== null) await scheduleDeletion(ctx, tx, group.id, due)
    else if (!(await removeGroup(ctx, tx, group))) throw notFound('Group')
  })
}

/** Hides a group with its tree, and renames it so that its path and name are free; 404 if it waits already (GR-44). */
async function scheduleDeletion(ctx: Context, tx: Transaction, id: number, due: Date): Promise<void> {
  const ids = await lockTree(tx, id)
  const [group] = await tx.select().from(namespaces).where(eq(namespaces.id, id))
  if (!group || group.marked_for_deletion_at) throw notFound('Group')
  const now = ctx.now()
  const suffix = deletionSuffix(id)
  await renameNamespace(tx, id, { path: group.path + suffix, name: group.name + suffix, redirect: false })
  const inTree = inArray(projects.namespace_id, ids)
  await detachProjects(tx, sql`p.namespace_id = any(${sql.param(ids)}::bigint[])`)
  await tx
    .update(projects)
    .set({ marked_for_deletion_at: now })
    .where(and(inTree, isNull(projects.marked_for_deletion_at)))
  await tx
    .update(namespaces)
    .set({ marked_for_deletion_at: now })
    .where(and(inArray(namespaces.id, ids), isNull(namespaces.marked_for_deletion_at)))
  await tx.update(namespaces).set({ deletion_due_at: due }).where(eq(namespaces.id, id))
  await tx.update(projectShares).set({ suspended: true }).where(inArray(projectShares.group_id, ids))
  await tx.update(groupShares).set({ suspended: true }).where(inArray(groupShares.shared_with_group_id, ids))
  await audit(ctx, tx, {
    action: 'group_deletion_scheduled',
    target: { type: 'group', id, name: group.full_path },
    changes: { groups: ids.length, deletion_due_at: [null, due.toISOString()] },
  })
}

/**
 * Gives a deleted group back with its tree, under its former path and name (GR-45). What was deleted in it before still
 * waits.
 */
export const restoreGroup = (ctx: Context, id: number): Promise<void> =>
  retryOnUniqueViolation(() => ctx.db.transaction((tx) => restore(ctx, tx, id)))

async function restore(ctx: Context, tx: Transaction, id: number): Promise<void> {
  const [found] = await tx.select({ parent_id: namespaces.parent_id }).from(namespaces).where(eq(namespaces.id, id))
  // the parent first: namespaces are always locked from the top down
  const parent = found?.parent_id ? await lockNamespace(tx, found.parent_id) : null
  const ids = await lockTree(tx, id)
  const [group] = await tx.select().from(namespaces).where(eq(namespaces.id, id))
  if (!group) throw notFound('Group')
  if (!group.marked_for_deletion_at) throw refused('Group has not been marked for deletion')
  if (!group.deletion_due_at || (group.parent_id !== null && !parent))
    throw refused('A group above it has been marked for deletion: restore that group')
  const names = { name: formerPath(group.name), path: formerPath(group.path) }
  const fullPath = parent ? `${parent.full_path}/${names.path}` : names.path
  await checkFree(tx, parent, { ...names, id, fullPath })
  await renameNamespace(tx, id, { ...names, redirect: false })
  await showTree(ctx, tx, id, ids)
  await audit(ctx, tx, { action: 'group_restored', target: { type: 'group', id, name: fullPath }, changes: { groups: ids.length } })
}

/** Throws 400 when another group has the name or path meanwhile. */
async function checkFree(
  tx: Transaction,
  parent: Namespace | null,
  { id, name, fullPath }: { id: number; name: string; fullPath: string },
): Promise<void> {
  const faults = {
    ...(parent && (await hasSibling(tx, parent, name, id)) && { name: [TAKEN] }),
    ...((await isRouteTaken(tx, fullPath)) && { path: [TAKEN] }),
  }
  if (Object.keys(faults).length > 0) throw invalidRecord(faults)
}

/** Shows the groups and projects that were hidden with the group, not more visible than the groups above them are now. */
async function showTree(ctx: Context, tx: Transaction, id: number, ids: number[]): Promise<void> {
  const tree = sql.param(ids)
  const { rows: groups } = await tx.execute<{ id: string }>(sql`update ${namespaces} n
    set marked_for_deletion_at = null, deletion_due_at = null, updated_at = ${ctx.now().toISOString()}, visibility = (select min(v.visibility)
      from ${namespaceAncestry} a join ${namespaces} v on v.id = a.ancestor_id where a.descendant_id = n.id)
    where n.id = any(${tree}::bigint[]) and not exists (select from ${namespaceAncestry} a join ${namespaces} r on r.id = a.ancestor_id
      where a.descendant_id = n.id and r.deletion_due_at is not null and r.id <> ${id})
    returning n.id`)
  const shown = groups.map((group) => Number(group.id))
  const hidden = sql`p.namespace_id = any(${sql.param(shown)}::bigint[]) and p.marked_for_deletion_at is not null and p.deletion_due_at is null`
  await tx.execute(sql`update ${projects} s set forks_count = s.forks_count + f.back
    from (select p.forked_from_id as id, count(*) as back from ${projects} p where ${hidden} and p.forked_from_id is not null group by 1) f where s.id = f.id`)
  const { rows: lowered } = await tx.execute<{ id: string; visibility: number }>(sql`select p.id, n.visibility from ${projects} p
    join ${namespaces} n on n.id = p.namespace_id where ${hidden} and p.visibility > n.visibility order by p.id`)
  await tx.execute(sql`update ${projects} p set marked_for_deletion_at = null, visibility = least(p.visibility, n.visibility)
    from ${namespaces} n where n.id = p.namespace_id and ${hidden}`)
  await tx.update(projectShares).set({ suspended: false }).where(inArray(projectShares.group_id, shown))
  await tx.update(groupShares).set({ suspended: false }).where(inArray(groupShares.shared_with_group_id, shown))
  for (const project of lowered) await lowerForks(ctx, tx, Number(project.id), project.visibility)
}

/** Deletes the rows of a group within the caller's transaction; false if they are gone already. */
export async function removeGroup(ctx: Context, tx: Transaction, group: { id: number; full_path: string }): Promise<boolean> {
  const ids = await lockTree(tx, group.id)
  if (ids.length === 0) return false
  await deleteProjectRows(ctx, tx, sql`p.namespace_id = any(${sql.param(ids)}::bigint[])`)
  await tx.execute(sql`insert into pending_avatar_deletions (kind, id) select 'group', n.id from ${namespaces} n
    where n.id = any(${sql.param(ids)}::bigint[]) and n.avatar is not null on conflict do nothing`)
  await retireBots(tx, sql`b.group_id = any(${sql.param(ids)}::bigint[])`)
  await tx.delete(namespaces).where(inArray(namespaces.id, ids))
  await audit(ctx, tx, { action: 'group_deleted', target: { type: 'group', id: group.id, name: group.full_path }, changes: { groups: ids.length } })
  return true
}

/** Removes a group if it is still due. */
export async function removeDueGroup(ctx: Context, id: number): Promise<void> {
  await ctx.db.transaction(async (tx) => {
    const [due] = await tx
      .select({ id: namespaces.id, full_path: namespaces.full_path })
      .from(namespaces)
      .where(and(eq(namespaces.id, id), sql`${namespaces.deletion_due_at} <= ${ctx.now().toISOString()}`))
      .for('update')
    if (due) await removeGroup(ctx, tx, due)
  })
}

/**
 * Locks a group and its descendants from the top, so that nothing can be created inside (SEC-132). Repeats until no
 * descendant was added while it waited for locks.
 */
export async function lockTree(tx: Transaction, id: number): Promise<number[]> {
  for (let known = 0; ; ) {
    const rows = await tx
      .select({ id: namespaces.id })
      .from(namespaces)
      .innerJoin(namespaceAncestry, eq(namespaceAncestry.descendant_id, namespaces.id))
      .where(eq(namespaceAncestry.ancestor_id, id))
      .orderBy(namespaces.id)
      .for('update', { of: namespaces })
    if (rows.length === known) return rows.map((row) => row.id)
    known = rows.length
  }
}
