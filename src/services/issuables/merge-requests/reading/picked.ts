import { and, desc, eq, isNull } from 'drizzle-orm'
import type { SignedIn } from '../../../../access/actor.js'
import { seesMergeRequest } from '../../../../access/can.js'
import type { ProjectSubject } from '../../../../access/rules.js'
import type { Context } from '../../../../context.js'
import { mergeRequests } from '../../../../db/schema/index.js'
import type { Commit, Oid } from '../../../../git/types.js'
import { cherryPick, type PickTarget, revert } from '../../../repository/commits/pick.js'
import { commitsToList } from './contents.js'

/** Cherry-picks a commit; the message for the merge commit of a merge request lists the commits of that (C-50). */
export const pickCommit = (ctx: Context, subject: ProjectSubject, caller: SignedIn, target: PickTarget): Promise<Commit | null> =>
  cherryPick(ctx, subject, caller, target, (oid) => commitsMergedBy(ctx, caller, subject, oid))

/** Reverts a commit; the message for the merge commit of a merge request names that (RE-10). */
export const revertCommit = (ctx: Context, subject: ProjectSubject, caller: SignedIn, target: PickTarget): Promise<Commit | null> =>
  revert(ctx, subject, caller, target, async (oid) => (await requestMergedBy(ctx, caller, subject, oid))?.iid ?? null)

/** The commits of the merge request that a commit has merged, oldest first; null if the caller sees no such one. */
async function commitsMergedBy(ctx: Context, caller: SignedIn, subject: ProjectSubject, oid: Oid): Promise<Commit[] | null> {
  const request = await requestMergedBy(ctx, caller, subject, oid)
  return request && (await commitsToList(ctx, subject.project, request)).reverse()
}

async function requestMergedBy(ctx: Context, caller: SignedIn, subject: ProjectSubject, oid: Oid) {
  const { project_id, merge_commit_sha, deleted_at, id } = mergeRequests
  const [request] = await ctx.db.write
    .select()
    .from(mergeRequests)
    .where(and(eq(project_id, subject.project.id), eq(merge_commit_sha, oid), isNull(deleted_at)))
    .orderBy(desc(id))
    .limit(1)
  return request && seesMergeRequest({ ...subject, user: caller.user }, request) ? request : null
}
