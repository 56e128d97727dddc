import type { Context } from '../../../../context.js'
import type { Oid } from '../../../../git/types.js'
import { type MergeRequestRefs, targetOf } from '../versions/refs.js'

export type MergeStatus = 'can_be_merged' | 'cannot_be_merged'

/**
 * Whether git merges the heads that the branches have now; asked once for each pair of heads. MR-8 has any read compute
 * what is `unchecked`. Here it is decided when a branch moves or a merge request is created, and never by a reader: a
 * list that merges would keep everybody waiting, and SEC-116 asks that no request be needed for it.
 */
export async function mergeStatus(
  ctx: Context,
  request: MergeRequestRefs,
  { head, start }: { head: Oid | null; start: Oid | null },
): Promise<MergeStatus> {
  if (!head || !start) return 'cannot_be_merged'
  const repository = targetOf(ctx, request)
  const merges = !(await repository.isAncestor(head, start)) && (await repository.canMerge(start, head))
  return merges ? 'can_be_merged' : 'cannot_be_merged'
}
