import type { Context } from '../../../../context.js'
import { RefChanged } from '../../../../git/errors.js'
import { type GitRepository, type Oid, type RefUpdate, ZERO } from '../../../../git/types.js'
import { type MergeRequestRefs, targetOf } from './refs.js'

/** The head of a request as Git clients fetch it (GH-8). */
export const headRef = (iid: number) => `refs/merge-requests/${iid}/head`
/** Seen by nobody; holds a commit for ever (SEC-118). */
export const keepRef = (oid: Oid) => `refs/keep-around/${oid}`

const TRIES = 5

/** Holds the commits of a version and shows its head; when it moves on, the last one is held apart. All requests are of one project. */
export async function keepVersions(ctx: Context, versions: { request: MergeRequestRefs; head: Oid; start: Oid }[]): Promise<void> {
  const [first] = versions
  if (!first) return
  const repository = targetOf(ctx, first.request)
  const wanted = new Map<string, Oid>()
  for (const { request, head, start } of versions) {
    wanted.set(keepRef(start), start)
    wanted.set(headRef(request.iid), head)
  }
  await setRefs(repository, wanted)
}

/** Whatever value they have now. */
export async function setRefs(repository: GitRepository, wanted: Map<string, Oid>): Promise<void> {
  for (let tried = 1; ; tried++) {
    const moves = new Map<string, RefUpdate>()
    for (const [ref, oid] of wanted) {
      const old = (await repository.ref(ref)) ?? ZERO
      if (old === oid) continue
      moves.set(ref, { ref, old, new: oid })
      // the head that was shown so far is held by this ref alone
      const last = keepRef(old)
      if (old !== ZERO && !wanted.has(last) && (await repository.ref(last)) === null) moves.set(last, { ref: last, old: ZERO, new: old })
    }
    try {
      return await repository.updateRefs([...moves.values()])
    } catch (error) {
      if (!(error instanceof RefChanged) || tried === TRIES) throw error
    }
  }
}

/** The head of a request that was deleted is fetched by nobody any more (MR-58). */
export async function hideHead(ctx: Context, request: Pick<MergeRequestRefs, 'project_id' | 'storage' | 'iid'>): Promise<void> {
  const repository = targetOf(ctx, request)
  const ref = headRef(request.iid)
  const old = await repository.ref(ref)
  if (old) await repository.updateRefs([{ ref, old, new: ZERO }])
}
