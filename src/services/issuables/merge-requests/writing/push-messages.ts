import { and, eq, inArray } from 'drizzle-orm'
import type { SignedIn } from '../../../../access/actor.js'
import { fullPathOf, type ProjectSubject } from '../../../../access/rules.js'
import type { Context, Move } from '../../../../context.js'
import { isOpen } from '../../../../db/conditions.js'
import { mergeRequests } from '../../../../db/schema/index.js'
import { type RefUpdate, ZERO } from '../../../../git/types.js'
import { findVisibleProject } from '../../../identity/acting-users.js'
import { repositoryOf } from '../../../repository/repositories.js'

const HEADS = 'refs/heads/'
/** The most branches whose links are printed after one push. */
const MAX_BRANCHES = 5

/** The pushed branches that merge requests may come from: none that was deleted, nor the default branch of the target. */
export const branchesOf = ({ project }: ProjectSubject, moves: Move[]): (Move & { branch: string })[] =>
  moves
    .filter((move) => move.new !== ZERO && move.ref.startsWith(HEADS))
    .map((move) => ({ ...move, branch: move.ref.slice(HEADS.length) }))
    .filter(({ branch }) => branch !== project.default_branch)

/**
 * The messages to a push over Git: for each of its branches the URL of its open merge request, or of the page that
 * opens one, if the project enables that (GH-23). `caller` is null for a deploy key.
 */
export async function mergeRequestMessages(ctx: Context, caller: SignedIn | null, subject: ProjectSubject, moves: RefUpdate[]): Promise<string[]> {
  const { project } = subject
  if (!project.printing_merge_request_link_enabled || !subject.can('propose_merge_request')) return []
  const pushed = branchesOf(subject, moves)
  if (pushed.length === 0) return []
  const names = pushed.map(({ branch }) => branch)
  // merge requests into further projects are left out: the pusher may not see those
  const { forked_from_id } = project
  const parent = caller && forked_from_id !== null ? await findVisibleProject(ctx, caller, forked_from_id) : null
  const targets = parent?.can('read_merge_request') ? [subject, parent] : [subject]
  const found = await ctx.db.write
    .select({ iid: mergeRequests.iid, branch: mergeRequests.source_branch, project_id: mergeRequests.project_id })
    .from(mergeRequests)
    .where(
      and(
        inArray(
          mergeRequests.project_id,
          targets.map((target) => target.project.id),
        ),
        eq(mergeRequests.source_project_id, project.id),
        inArray(mergeRequests.source_branch, names),
        isOpen,
      ),
    )
    .orderBy(mergeRequests.id)
  const base = await repositoryOf(ctx, project).ref(HEADS + project.default_branch)
  const addressOf = new Map(targets.map((target) => [target.project.id, ctx.links.project(fullPathOf(target.project))]))
  const openOf = new Map(found.map(({ iid, branch, project_id }) => [branch, `${addressOf.get(project_id)}/merge_requests/${iid}`]))
  const messages = pushed.flatMap(({ branch, new: head }) => {
    const open = openOf.get(branch)
    if (open !== undefined) return [[`View merge request for ${branch}:`, `  ${open}`, '']]
    // a branch without commits of its own has nothing to merge
    if (head === base) return []
    const query = `merge_request%5Bsource_branch%5D=${encodeURIComponent(branch)}`
    return [[`To create a merge request for ${branch}, visit:`, `  ${addressOf.get(project.id)}/-/merge_requests/new?${query}`, '']]
  })
  if (messages.length === 0) return []
  const more = messages.length - MAX_BRANCHES
  return ['', ...messages.slice(0, MAX_BRANCHES).flat(), ...(more > 0 ? [`and ${more} more branches`, ''] : [])]
}
