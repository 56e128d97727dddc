import type { Context } from '../../../../context.js'
import type { Oid } from '../../../../git/types.js'
import { type MergeRequestRefs, targetOf } from '../versions/refs.js'

export interface MergeStatus {
  status: 'can_be_merged' | 'cannot_be_merged'
  /** Whether the target branch has commits that the source branch lacks. */
  behind: boolean
}

/**
 * Whether git can merge the current heads of the branches. MR-8 lets any read compute a status that is `unchecked`.
 * Here it is computed when a branch moves or a merge request is created, never by a read: merging would make lists
 * slow, and SEC-116 demands that no request is needed for it.
 */
export async function mergeStatus(
  ctx: Context,
  request: MergeRequestRefs,
  { head, start }: { head: Oid | null; start: Oid | null },
): Promise<MergeStatus> {
  if (!head || !start) return { status: 'cannot_be_merged', behind: false }
  const repository = targetOf(ctx, request)
  const behind = !(await repository.isAncestor(start, head))
  const merges = !(await repository.isAncestor(head, start)) && (await repository.canMerge(start, head))
  return { status: merges ? 'can_be_merged' : 'cannot_be_merged', behind }
}
