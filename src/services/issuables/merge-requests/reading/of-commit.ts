import { and, desc, inArray, sql } from 'drizzle-orm'
import type { SignedIn } from '../../../../access/actor.js'
import type { ProjectSubject } from '../../../../access/rules.js'
import { type ViewerKind, viewerKindOf, visibleMergeRequests } from '../../../../access/visible.js'
import type { Context } from '../../../../context.js'
import { totalCount } from '../../../../db/decoded.js'
import { mergeRequestCommits, mergeRequests, projects } from '../../../../db/schema/index.js'
import { statement } from '../../../../db/statement.js'
import type { Keyset } from '../../../../lib/keyset.js'
import { afterRow, type Page, type Paging } from '../../../core/page.js'
import { getCommit } from '../../../repository/commits/read.js'
import { loadPage, type MergeRequestRecord } from './load.js'

const selectRequests = statement('merge requests of a commit', (db, viewerKind: ViewerKind) =>
  db
    .select({ id: mergeRequests.id, total: totalCount() })
    .from(mergeRequests)
    .innerJoin(projects, sql`${projects.id} = ${mergeRequests.project_id}`)
    .where(
      and(
        inArray(
          mergeRequests.id,
          sql`(select c.merge_request_id from ${mergeRequestCommits} c where c.project_id = ${sql.placeholder('project')} and c.sha = ${sql.placeholder('sha')}
            union select m.id from ${mergeRequests} m where m.project_id = ${sql.placeholder('project')} and m.merge_commit_sha = ${sql.placeholder('sha')})`,
        ),
        afterRow(mergeRequests.id),
        visibleMergeRequests(viewerKind, sql`${sql.placeholder('user')}::bigint`),
      ),
    )
    .orderBy(desc(mergeRequests.id))
    .limit(sql.placeholder('limit'))
    .offset(sql.placeholder('offset')),
)

/**
 * The project's merge requests that contain a commit in one of their versions or have it as merge commit, newest first
 * (RE-9).
 */
export async function listRequestsOfCommit(
  ctx: Context,
  caller: SignedIn,
  subject: ProjectSubject,
  { sha, ...paging }: { sha: string } & Paging & Keyset,
): Promise<Page<MergeRequestRecord>> {
  const { oid } = await getCommit(ctx, subject, sha)
  const values = { project: subject.project.id, sha: oid, user: caller.user.id }
  return loadPage(ctx, selectRequests(ctx.db, viewerKindOf(caller.user)), values, paging)
}
