import { eq, sql } from 'drizzle-orm'
import type { ActorUser } from '../../access/actor.js'
import { type ViewerKind, viewerKindOf, visibleIssues, visibleMergeRequests } from '../../access/visible.js'
import type { Context } from '../../context.js'
import { hasPerson } from '../../db/conditions.js'
import { decoded } from '../../db/decoded.js'
import { issues, mergeRequests, projects, todos, users } from '../../db/schema/index.js'
import { statement } from '../../db/statement.js'
import { targetIsVisible } from './todo-list.js'

/** Beyond this number it is only said that there are more. */
export const MAX_COUNTED = 99

/** How much waits for a user: open merge requests to review, open issues assigned to them, and pending todos. */
export interface Waiting {
  reviews: number
  issues: number
  todos: number
  /** The open merge requests of the project that a page is about. */
  requests: number
}

const user = sql`${sql.placeholder('user')}::bigint`
const project = sql`${sql.placeholder('project')}::bigint`

const selectWaiting = statement('what waits for a user', (db, viewer: ViewerKind) => {
  const inProject = (table: typeof issues | typeof mergeRequests | typeof todos) =>
    sql`${table} join ${projects} on ${projects.id} = ${table.project_id}`
  const count = (rows: ReturnType<typeof sql>) => decoded(sql<number>`(select count(*) from (select 1 ${rows} limit ${MAX_COUNTED + 1}) r)`, Number)
  return db
    .select({
      reviews: count(sql`from ${inProject(mergeRequests)} where ${hasPerson(mergeRequests.reviewer_ids, user)} and ${mergeRequests.state} = 'opened'
        and ${visibleMergeRequests(viewer, user)}`),
      issues: count(
        sql`from ${inProject(issues)} where ${hasPerson(issues.assignee_ids, user)} and ${issues.state} = 'opened' and ${visibleIssues(viewer, user)}`,
      ),
      todos: count(
        sql`from ${inProject(todos)} where ${todos.user_id} = ${user} and ${todos.state} = 'pending' and ${targetIsVisible(viewer, user)}`,
      ),
      requests: count(
        sql`from ${mergeRequests} where ${mergeRequests.project_id} = ${project} and ${mergeRequests.state} = 'opened' and ${mergeRequests.deleted_at} is null`,
      ),
    })
    .from(users)
    .where(eq(users.id, user))
})

/**
 * What waits for a user, and the open merge requests of a project that they may see, if a page is about one; each up to
 * one more than `MAX_COUNTED`.
 */
export async function loadWaiting(ctx: Context, viewer: ActorUser, projectId: number | null = null): Promise<Waiting> {
  const [row] = await selectWaiting(ctx.db, viewerKindOf(viewer)).execute({ user: viewer.id, project: projectId })
  return row ?? { reviews: 0, issues: 0, todos: 0, requests: 0 }
}
