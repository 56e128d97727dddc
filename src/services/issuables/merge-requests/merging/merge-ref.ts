import { eq } from 'drizzle-orm'
import { actingAs, actorOf } from '../../../../access/actor.js'
import type { MergeRequestSubject } from '../../../../access/merge-requests.js'
import type { Context } from '../../../../context.js'
import { mergeRequests } from '../../../../db/schema/index.js'
import { nullOnFailure, refused } from '../../../../failures.js'
import { RefChanged } from '../../../../git/errors.js'
import { type Oid, ZERO } from '../../../../git/types.js'
import { Unavailable } from '../../../../lib/unavailable.js'
import { mergeRef } from '../../../../rules/refs/merge-request-refs.js'
import { getUser } from '../../../identity/users.js'
import { checkQuota } from '../../../repository/quotas.js'
import { signatureOf } from '../../../repository/repositories.js'
import { headsOf, selectMergeRequestRefs, targetOf } from '../versions/refs.js'

/**
 * The commit that merging would give, which the ref `refs/merge-requests/:iid/merge` holds; it is made anew when a branch
 * has moved, by the author of the merge request. 400 if there is nothing that can be merged (RX-12).
 */
export async function getMergeRef(ctx: Context, { request }: MergeRequestSubject): Promise<Oid> {
  const impossible = () => refused('Merge request is not mergeable')
  const [refs] = await selectMergeRequestRefs(ctx.db.write, eq(mergeRequests.id, request.id))
  const { head, start } = refs && request.state === 'opened' ? await headsOf(ctx, refs) : { head: null, start: null }
  // a head that no version records yet has not been fetched from its fork
  if (!refs || !head || !start || head !== refs.sha) throw impossible()
  const repository = targetOf(ctx, refs)
  const ref = mergeRef(refs.iid)
  const old = await repository.ref(ref)
  const known = old === null ? null : await repository.commit(old)
  if (known?.parents[0] === start && known.parents[1] === head) return known.oid
  if ((await repository.isAncestor(head, start)) || !(await repository.canMerge(start, head))) throw impossible()
  const author = refs.author_id === null ? null : await nullOnFailure(getUser(ctx, refs.author_id))
  if (!author) throw impossible()
  await checkQuota(ctx, repository)
  const own = signatureOf(ctx, actingAs(actorOf(author)))
  const merge = { author: own, committer: own, message: `Merge branch '${refs.source_branch}' into '${refs.target_branch}'` }
  const drafted = await repository.draftMerge({ into: start, from: head, squash: null, merge })
  if ('refusal' in drafted) throw impossible()
  try {
    await repository.updateRefs([{ ref, old: old ?? ZERO, new: drafted.commit }])
  } catch (error) {
    if (error instanceof RefChanged) throw new Unavailable('The branches are changing')
    throw error
  }
  return drafted.commit
}
