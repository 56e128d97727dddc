import { and, eq, inArray, sql } from 'drizzle-orm'
import type { SignedIn } from '../../access/actor.js'
import { getGroupFor, type ProjectSubject } from '../../access/rules.js'
import type { Context } from '../../context.js'
import { onlyRow } from '../../db/only-row.js'
import {
  boardLists,
  issueLabels,
  labels,
  mergeRequestLabels,
  namespaceAncestry,
  projects,
  resourceEvents,
  subscriptions,
} from '../../db/schema/index.js'
import { unlessUniqueViolation } from '../../db/unique-violation.js'
import { conflict, forbidden, notFound, refused } from '../../failures.js'
import type { Label } from './labels.js'

/**
 * Makes a label of a project one of its group. It replaces the labels with its name of all projects below the group,
 * whose issues, merge requests and boards get it; each project's own is deleted. Returns the path of the group.
 */
export async function promoteLabel(
  ctx: Context,
  caller: SignedIn,
  { project }: ProjectSubject,
  { id, title }: Pick<Label, 'id' | 'title'>,
): Promise<string> {
  if (project.namespace.kind !== 'group') throw refused('The project is in no group')
  const { group, can } = await getGroupFor(ctx, caller, String(project.namespace_id))
  if (!can('manage_label')) throw forbidden()
  const taken = () => conflict('A group above has a label of this name')
  await unlessUniqueViolation(
    () =>
      ctx.db.transaction(async (tx) => {
        const [label] = await tx.select().from(labels).where(eq(labels.id, id)).for('update')
        if (!label) throw notFound('Label')
        const above = sql`${labels.namespace_id} in (select a.ancestor_id from ${namespaceAncestry} a where a.descendant_id = ${group.id})`
        const [other] = await tx
          .select({ id: labels.id })
          .from(labels)
          .where(and(eq(labels.title, title), above))
          .limit(1)
        if (other) throw taken()
        const { id: _, ...columns } = label
        const now = ctx.now()
        const values = { ...columns, project_id: null, namespace_id: group.id, created_at: now, updated_at: now }
        const made = onlyRow(await tx.insert(labels).values(values).returning({ id: labels.id }))
        const below = sql`select p.id from ${projects} p join ${namespaceAncestry} a on a.descendant_id = p.namespace_id where a.ancestor_id = ${group.id}`
        const replaced = await tx
          .select({ id: labels.id })
          .from(labels)
          .where(sql`${labels.title} = ${title} and ${labels.project_id} in (${below})`)
          .for('update')
        const ids = replaced.map((each) => each.id)
        for (const [table, owner] of [
          [issueLabels, issueLabels.issue_id],
          [mergeRequestLabels, mergeRequestLabels.merge_request_id],
        ] as const) {
          const owned = sql.identifier(owner.name)
          await tx.execute(sql`insert into ${table} (project_id, ${owned}, label_id)
            select project_id, ${owned}, ${made.id} from ${table} where ${inArray(table.label_id, ids)} on conflict do nothing`)
        }
        // a board has one of them at most
        await tx.update(boardLists).set({ label_id: made.id }).where(inArray(boardLists.label_id, ids))
        await tx.update(resourceEvents).set({ label_id: made.id }).where(inArray(resourceEvents.label_id, ids))
        await tx.delete(subscriptions).where(and(eq(subscriptions.target_type, 'Label'), inArray(subscriptions.target_id, ids)))
        await tx.delete(labels).where(inArray(labels.id, ids))
      }),
    taken,
  )
  return group.full_path
}
