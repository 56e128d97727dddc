import { and, asc, eq, sql } from 'drizzle-orm'
import type { Project } from '../../../../access/rules.js'
import type { Context } from '../../../../context.js'
import { inIds } from '../../../../db/conditions.js'
import { mergeRequestApprovals, mergeRequestReviews, mergeRequestVersions, users } from '../../../../db/schema/index.js'
import { statement } from '../../../../db/statement.js'
import type { Stats } from '../../../../git/types.js'
import { type UserRefRecord, userRefColumns } from '../../../identity/user-ref.js'
import { DIFF_LIMITS } from '../../../repository/diff-limits.js'
import { repositoryOf } from '../../../repository/repositories.js'
import type { Version } from './contents.js'

const selectVersions = statement('versions by id', (db) => db.select().from(mergeRequestVersions).where(inIds(mergeRequestVersions.id)))

/** Versions of merge requests by their ids. The caller must be allowed to read the merge requests. */
export async function versionsById(ctx: Context, ids: number[]): Promise<Map<number, Version>> {
  const rows = ids.length === 0 ? [] : await selectVersions(ctx.db, null).execute({ ids })
  return new Map(rows.map((version) => [version.id, version]))
}

/** What a user has said to a merge request. */
export interface Opinion {
  request: number
  user: UserRefRecord
  approved: boolean
  /** Of their newest review; null without one. */
  state: 'reviewed' | 'requested_changes' | null
}

const selectOpinions = statement('opinions on merge requests', (db) => {
  const said = sql`(select a.merge_request_id as request, a.user_id, a.created_at as at from ${mergeRequestApprovals} a
      where a.merge_request_id = any(${sql.placeholder('ids')}::bigint[])
    union select r.merge_request_id, r.user_id, null from ${mergeRequestReviews} r where r.merge_request_id = any(${sql.placeholder('ids')}::bigint[])
      and not exists (select 1 from ${mergeRequestApprovals} a where a.merge_request_id = r.merge_request_id and a.user_id = r.user_id)) said`
  return db
    .select({
      request: sql<string>`said.request`,
      user: userRefColumns(users),
      approved: sql<boolean>`said.at is not null`,
      state: mergeRequestReviews.state,
    })
    .from(users)
    .innerJoin(said, sql`said.user_id = ${users.id}`)
    .leftJoin(mergeRequestReviews, and(sql`${mergeRequestReviews.merge_request_id} = said.request`, eq(mergeRequestReviews.user_id, users.id)))
    .orderBy(sql`said.at`, asc(users.id))
})

/** Who has approved or reviewed these merge requests; approvals in their order. The caller must be allowed to read them. */
export async function opinionsOn(ctx: Context, ids: number[]): Promise<Opinion[]> {
  const rows = ids.length === 0 ? [] : await selectOpinions(ctx.db, null).execute({ ids })
  return rows.map(({ request, ...opinion }) => ({ ...opinion, request: Number(request) }))
}

/** The numbers of lines that a version adds and removes; null if it changes more than is shown of it (C-62). */
export async function lineCountsOf(ctx: Context, project: Project, version: Version): Promise<Stats | null> {
  if (version.state === 'overflow') return null
  if (version.commits_count === 0) return { additions: 0, deletions: 0 }
  const { files, truncated } = await repositoryOf(ctx, project).diff(version.base_commit_sha, version.head_commit_sha, DIFF_LIMITS)
  if (truncated || files.some(({ too_large, collapsed }) => too_large || collapsed === false)) return null
  const counts = { additions: 0, deletions: 0 }
  for (const { diff } of files) await ctx.cpu.slices.run(() => countLines(diff, counts))
  return counts
}

const [PLUS, MINUS, AT] = [43, 45, 64]

/** Adds the changed lines of a unified diff; what stands before the first `@@` are no lines of the file. */
function countLines(diff: string, counts: Stats): void {
  let within = false
  for (let at = 0; at < diff.length; ) {
    const first = diff.charCodeAt(at)
    if (first === AT) within = true
    else if (within && first === PLUS) counts.additions++
    else if (within && first === MINUS) counts.deletions++
    const end = diff.indexOf('\n', at)
    if (end < 0) return
    at = end + 1
  }
}
