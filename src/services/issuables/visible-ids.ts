import { and, eq, sql } from 'drizzle-orm'
import type { Caller } from '../../access/actor.js'
import { type ViewerKind, viewerKindOf, visibleIssues, visibleMergeRequests } from '../../access/visible.js'
import type { Context } from '../../context.js'
import { inIds } from '../../db/conditions.js'
import { issues, mergeRequests, projects } from '../../db/schema/index.js'
import { statement } from '../../db/statement.js'

const user = sql`${sql.placeholder('user')}::bigint`

const selectIssues = statement('visible ones of issues', (db, viewerKind: ViewerKind) =>
  db
    .select({ id: issues.id })
    .from(issues)
    .innerJoin(projects, eq(projects.id, issues.project_id))
    .where(and(inIds(issues.id), visibleIssues(viewerKind, user))),
)

const selectRequests = statement('visible ones of merge requests', (db, viewerKind: ViewerKind) =>
  db
    .select({ id: mergeRequests.id })
    .from(mergeRequests)
    .innerJoin(projects, eq(projects.id, mergeRequests.project_id))
    .where(and(inIds(mergeRequests.id), visibleMergeRequests(viewerKind, user))),
)

/** Of these issues or merge requests of any projects, the ids of those that the caller may read. */
export async function visibleIds(
  ctx: Context,
  { user: viewer }: Pick<Caller, 'user'>,
  type: 'Issue' | 'MergeRequest',
  ids: number[],
): Promise<number[]> {
  if (ids.length === 0) return []
  const rows = await (type === 'Issue' ? selectIssues : selectRequests)(ctx.db, viewerKindOf(viewer)).execute({ ids, user: viewer?.id ?? 0 })
  return rows.map(({ id }) => id)
}
