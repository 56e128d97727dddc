import { eq, type SQL, sql } from 'drizzle-orm'
import { eyesOf, visibleIssues } from '../access/visible.js'
import type { Transaction } from '../db/client.js'
import { issues, namespaceAncestry, projects, todos, users } from '../db/schema/index.js'
import { touchProjectList } from './project-lists.js'
import { targetIsSeen } from './todo-list.js'

/** What a membership was of, by the column that names it. */
export interface Left {
  project_id: number | null
  namespace_id: number | null
}

/** ME-12: who has left and sees a thing no longer is not its assignee any more, and nothing about it waits for him. Belongs after the membership's end, in its transaction: what he sees by another way stays his. */
export async function clearDesk(tx: Transaction, userId: number, left: Left, now: Date): Promise<void> {
  const [user] = await tx.select().from(users).where(eq(users.id, userId))
  if (!user) return
  const eyes = eyesOf(user)
  const own = sql`${userId}::bigint`
  const among = (project: SQL) =>
    left.project_id !== null
      ? sql`${project} = ${left.project_id}`
      : sql`${project} in (select p.id from ${namespaceAncestry} a join ${projects} p on p.namespace_id = a.descendant_id where a.ancestor_id = ${left.namespace_id})`
  const { rows } = await tx.execute<{ project_id: string }>(
    sql`update ${issues} set assignee_id = null, updated_at = ${now.toISOString()}::timestamptz from ${projects}
      where ${issues.assignee_id} = ${own} and ${among(sql`${issues.project_id}`)} and ${projects.id} = ${issues.project_id} and not ${visibleIssues(eyes, own)}
      returning ${issues.project_id} as project_id`,
  )
  for (const id of new Set(rows.map(({ project_id }) => Number(project_id)))) await touchProjectList(tx, id, 'issues')
  await tx.execute(
    sql`delete from ${todos} using ${projects} where ${todos.user_id} = ${own} and ${todos.state} = 'pending'
      and ${among(sql`${todos.project_id}`)} and ${projects.id} = ${todos.project_id} and not ${targetIsSeen(eyes, own)}`,
  )
}
