import { eq, type SQL, sql } from 'drizzle-orm'
import type { PgColumn } from 'drizzle-orm/pg-core'
import { viewerKindOf, visibleIssues, visibleMergeRequests } from '../../access/visible.js'
import type { Context, MemberRemovedEvent } from '../../context.js'
import { hasPerson } from '../../db/conditions.js'
import { issues, mergeRequestReviews, mergeRequests, namespaceAncestry, projects, todos, users } from '../../db/schema/index.js'
import { targetIsVisible } from '../issuables/todo-list.js'

const withoutPerson = (column: PgColumn, id: SQL) => sql`${sql.identifier(column.name)} = array_remove(${column}, ${id})`

/** The reviewers without this one, and without the time at which they were asked. */
const withoutReviewer = (id: SQL) => sql`(reviewer_ids, reviews_requested_at) = (
  select coalesce(array_agg(r.id order by r.place), '{}'), coalesce(array_agg(r.at order by r.place), '{}')
  from unnest(${mergeRequests.reviewer_ids}, ${mergeRequests.reviews_requested_at}) with ordinality as r (id, at, place) where r.id <> ${id})`

/**
 * Unassigns a former member from issues and merge requests that they no longer see, also as reviewer, and deletes their reviews of these and
 * their todos about these (ME-12).
 */
export async function unassignFormerMember(ctx: Pick<Context, 'now'>, { tx, userId, ...left }: MemberRemovedEvent): Promise<void> {
  const now = ctx.now()
  const [user] = await tx.select().from(users).where(eq(users.id, userId))
  if (!user) return
  const viewerKind = viewerKindOf(user)
  const own = sql`${userId}::bigint`
  const among = (project: SQL) =>
    left.project_id !== null
      ? sql`${project} = ${left.project_id}`
      : sql`${project} in (select p.id from ${namespaceAncestry} a join ${projects} p on p.namespace_id = a.descendant_id where a.ancestor_id = ${left.namespace_id})`
  for (const { table, role, kept, seen } of [
    { table: issues, role: issues.assignee_ids, kept: withoutPerson(issues.assignee_ids, own), seen: visibleIssues },
    { table: mergeRequests, role: mergeRequests.assignee_ids, kept: withoutPerson(mergeRequests.assignee_ids, own), seen: visibleMergeRequests },
    { table: mergeRequests, role: mergeRequests.reviewer_ids, kept: withoutReviewer(own), seen: visibleMergeRequests },
  ] as const) {
    await tx.execute(
      sql`update ${table} set ${kept}, updated_at = ${now.toISOString()}::timestamptz from ${projects}
        where ${hasPerson(role, own)} and ${among(sql`${table.project_id}`)} and ${projects.id} = ${table.project_id} and not ${seen(viewerKind, own)}`,
    )
  }
  await tx.execute(
    sql`delete from ${mergeRequestReviews} using ${mergeRequests}, ${projects} where ${mergeRequestReviews.user_id} = ${own}
      and ${mergeRequests.id} = ${mergeRequestReviews.merge_request_id} and ${among(sql`${mergeRequests.project_id}`)}
      and ${projects.id} = ${mergeRequests.project_id} and not ${visibleMergeRequests(viewerKind, own)}`,
  )
  await tx.execute(
    sql`delete from ${todos} using ${projects} where ${todos.user_id} = ${own} and ${todos.state} = 'pending'
      and ${among(sql`${todos.project_id}`)} and ${projects.id} = ${todos.project_id} and not (${targetIsVisible(viewerKind, own)})`,
  )
}
