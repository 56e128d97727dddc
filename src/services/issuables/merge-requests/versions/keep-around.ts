import type { Context } from '../../../../context.js'
import { RefChanged } from '../../../../git/errors.js'
import { type GitRepository, type Oid, type RefUpdate, ZERO } from '../../../../git/types.js'
import { headRef, mergeRef } from '../../../../rules/refs/merge-request-refs.js'
import { type MergeRequestRefs, targetOf } from './refs.js'

/** A hidden ref that protects a commit from garbage collection for ever (SEC-118). */
export const keepAroundRef = (oid: Oid) => `refs/keep-around/${oid}`

const MAX_ATTEMPTS = 5

/**
 * Sets the head refs of merge requests, and keep-around refs for the start commits of their versions and for former
 * heads. All merge requests must belong to one project.
 */
export async function setVersionRefs(ctx: Context, versions: { request: MergeRequestRefs; head: Oid; start: Oid }[]): Promise<void> {
  const [first] = versions
  if (!first) return
  const repository = targetOf(ctx, first.request)
  const targets = new Map<string, Oid>()
  for (const { request, head, start } of versions) {
    targets.set(keepAroundRef(start), start)
    targets.set(headRef(request.iid), head)
  }
  await setRefs(repository, targets)
}

/** Sets refs regardless of their current values. */
export async function setRefs(repository: GitRepository, targets: Map<string, Oid>): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    const moves = new Map<string, RefUpdate>()
    for (const [ref, oid] of targets) {
      const old = (await repository.ref(ref)) ?? ZERO
      if (old === oid) continue
      moves.set(ref, { ref, old, new: oid })
      // no other ref may protect the former head
      const keepAround = keepAroundRef(old)
      if (old !== ZERO && !targets.has(keepAround) && (await repository.ref(keepAround)) === null)
        moves.set(keepAround, { ref: keepAround, old: ZERO, new: old })
    }
    try {
      return await repository.updateRefs([...moves.values()])
    } catch (error) {
      if (!(error instanceof RefChanged) || attempt === MAX_ATTEMPTS) throw error
    }
  }
}

/** Deletes the refs of a deleted merge request, so that it can no longer be fetched (MR-58). */
export async function deleteHeadRef(ctx: Context, request: Pick<MergeRequestRefs, 'project_id' | 'storage' | 'iid'>): Promise<void> {
  const repository = targetOf(ctx, request)
  for (const ref of [headRef(request.iid), mergeRef(request.iid)]) {
    const old = await repository.ref(ref)
    if (old) await repository.updateRefs([{ ref, old, new: ZERO }])
  }
}
