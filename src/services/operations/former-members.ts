import { eq, type SQL, sql } from 'drizzle-orm'
import { sqlViewer, visibleIssues, visibleMergeRequests } from '../../access/visible.js'
import type { Context, MemberRemovedEvent } from '../../context.js'
import { issues, mergeRequests, namespaceAncestry, projects, todos, users } from '../../db/schema/index.js'
import { touchProjectList } from '../core/project-list-versions.js'
import { targetIsSeen } from '../issuables/todo-list.js'

/**
 * Unassigns a former member from what they no longer see, and deletes their todos about it (ME-12). What they still see
 * in another way stays theirs.
 */
export async function unassignFormerMember(ctx: Context, { tx, userId, ...left }: MemberRemovedEvent): Promise<void> {
  const now = ctx.now()
  const [user] = await tx.select().from(users).where(eq(users.id, userId))
  if (!user) return
  const eyes = sqlViewer(user)
  const own = sql`${userId}::bigint`
  const among = (project: SQL) =>
    left.project_id !== null
      ? sql`${project} = ${left.project_id}`
      : sql`${project} in (select p.id from ${namespaceAncestry} a join ${projects} p on p.namespace_id = a.descendant_id where a.ancestor_id = ${left.namespace_id})`
  for (const { table, kind, seen } of [
    { table: issues, kind: 'issues', seen: visibleIssues, visibleMergeRequests },
    { table: mergeRequests, kind: 'merge_requests', seen: visibleMergeRequests },
  ] as const) {
    const { rows } = await tx.execute<{ project_id: string }>(
      sql`update ${table} set assignee_id = null, updated_at = ${now.toISOString()}::timestamptz from ${projects}
        where ${table.assignee_id} = ${own} and ${among(sql`${table.project_id}`)} and ${projects.id} = ${table.project_id} and not ${seen(eyes, own)}
        returning ${table.project_id} as project_id`,
    )
    // always in the same order, so that two who leave do not wait for each other
    for (const id of [...new Set(rows.map(({ project_id }) => Number(project_id)))].sort((a, b) => a - b)) await touchProjectList(tx, id, kind)
  }
  await tx.execute(
    sql`delete from ${todos} using ${projects} where ${todos.user_id} = ${own} and ${todos.state} = 'pending'
      and ${among(sql`${todos.project_id}`)} and ${projects.id} = ${todos.project_id} and not (${targetIsSeen(eyes, own)})`,
  )
}
