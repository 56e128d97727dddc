import { eq, inArray, sql } from 'drizzle-orm'
import type { GroupSubject } from '../../access/rules.js'
import type { Context } from '../../context.js'
import type { Transaction } from '../../db/client.js'
import { namespaceAncestry, namespaces } from '../../db/schema/index.js'
import { audit } from '../core/audit.js'
import { deleteProjectRows } from '../projects/remove.js'

/**
 * Deletes a group with its descendants and all their projects. They are gone when this returns; files are removed in
 * the background (GR-40, SEC-134).
 */
export async function deleteGroup(ctx: Context, { group }: GroupSubject): Promise<void> {
  await ctx.db.transaction((tx) => removeGroup(ctx, tx, group))
}

/** Deletes the rows of a group within the caller's transaction. */
export async function removeGroup(ctx: Context, tx: Transaction, group: { id: number; full_path: string }): Promise<void> {
  const ids = await lockTree(tx, group.id)
  if (ids.length === 0) return
  await deleteProjectRows(tx, sql`p.namespace_id = any(${sql.param(ids)}::bigint[])`)
  await tx.execute(sql`insert into pending_avatar_deletions (kind, id) select 'group', n.id from ${namespaces} n
    where n.id = any(${sql.param(ids)}::bigint[]) and n.avatar is not null on conflict do nothing`)
  await tx.delete(namespaces).where(inArray(namespaces.id, ids))
  await audit(ctx, tx, { action: 'group_deleted', target: { type: 'group', id: group.id, name: group.full_path }, changes: { groups: ids.length } })
}

/**
 * Locks a group and its descendants from the top, so that nothing can be created inside (SEC-132). Repeats until no
 * descendant was added while it waited for locks.
 */
async function lockTree(tx: Transaction, id: number): Promise<number[]> {
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
