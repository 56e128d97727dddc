import { eq, sql } from 'drizzle-orm'
import { eyesOf, visibleProjects } from '../access/visible.js'
import type { Transaction } from '../db/client.js'
import { issues, mergeRequests, namespaceAncestry, projects, todos, users } from '../db/schema/index.js'
import { touchProjectList } from './project-lists.js'

/** ME-12: in the projects of a source that somebody no longer sees, nothing is assigned to him and nothing waits for him. */
export async function takeFrom(tx: Transaction, source: { kind: 'project' | 'group'; id: number }, userId: number): Promise<void> {
  const [user] = await tx.select({ admin: users.admin, external: users.external }).from(users).where(eq(users.id, userId))
  if (!user) return
  const within =
    source.kind === 'project'
      ? sql`${projects.id} = ${source.id}`
      : sql`${projects.namespace_id} in (select a.descendant_id from ${namespaceAncestry} a where a.ancestor_id = ${source.id})`
  const hidden = sql`(select ${projects.id} from ${projects} where ${within} and not ${visibleProjects(eyesOf(user), sql`${userId}::bigint`)})`
  await tx.execute(sql`delete from ${todos} where user_id = ${userId} and state = 'pending' and project_id in ${hidden}`)
  for (const [table, kind] of [
    [issues, 'issues'],
    [mergeRequests, 'merge_requests'],
  ] as const) {
    const { rows } = await tx.execute<{ project_id: string }>(
      sql`update ${table} set assignee_id = null where assignee_id = ${userId} and project_id in ${hidden} returning project_id`,
    )
    for (const id of [...new Set(rows.map((row) => Number(row.project_id)))].sort((a, b) => a - b)) await touchProjectList(tx, id, kind)
  }
}
