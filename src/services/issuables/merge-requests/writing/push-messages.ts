import { and, eq, inArray } from 'drizzle-orm'
import { fullPathOf, type ProjectSubject } from '../../../../access/rules.js'
import type { Context } from '../../../../context.js'
import { isOpen } from '../../../../db/conditions.js'
import { mergeRequests } from '../../../../db/schema/index.js'
import { type RefUpdate, ZERO } from '../../../../git/types.js'

const HEADS = 'refs/heads/'
/** The most merge requests that the messages to one push list. */
const MAX_MESSAGES = 10

/**
 * The messages to a push over Git: the URLs of open merge requests of its branches, if the project enables that
 * (GH-23). There is no page for new merge requests, so no URL of one is sent.
 */
export async function mergeRequestMessages(ctx: Context, { project }: ProjectSubject, moves: RefUpdate[]): Promise<string[]> {
  if (!project.printing_merge_request_link_enabled) return []
  const branches = moves
    .filter((move) => move.new !== ZERO && move.ref.startsWith(HEADS))
    .map(({ ref }) => ref.slice(HEADS.length))
    .filter((branch) => branch !== project.default_branch)
  if (branches.length === 0) return []
  const found = await ctx.db.write
    .select({ iid: mergeRequests.iid, branch: mergeRequests.source_branch })
    .from(mergeRequests)
    // only merge requests into the project itself: the pusher may not see other target projects
    .where(
      and(
        eq(mergeRequests.project_id, project.id),
        eq(mergeRequests.source_project_id, project.id),
        inArray(mergeRequests.source_branch, branches),
        isOpen,
      ),
    )
    .orderBy(mergeRequests.id)
    .limit(MAX_MESSAGES)
  return found.map(({ iid, branch }) => `View merge request for ${branch}: ${ctx.links.project(fullPathOf(project))}/merge_requests/${iid}`)
}
