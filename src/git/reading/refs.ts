import type { StoredRef } from '../refs/packed-refs.js'
import { resolveRevision } from '../refs/revision.js'
import type { GitRepository, Oid, Ref } from '../types.js'
import type { Guard } from './guard.js'
import type { Source } from './source.js'

export type RefReader = Pick<GitRepository, 'ref' | 'refs' | 'refsPage' | 'resolve' | 'headBranch'>

export function refReader({ refs, objects, peel }: Source, guarded: Guard): RefReader {
  const target = async (oid: Oid) => (await peel(oid))?.oid ?? oid

  /** Branches are not peeled, because git allows only commits there. */
  const peeled = async (prefix: string, stored: StoredRef[]): Promise<Ref[]> => {
    const branch = prefix.startsWith('refs/heads/')
    const unknown = branch ? [] : stored.filter((ref) => ref.peeled === null)
    const found = new Map(await Promise.all(unknown.map(async ({ oid }) => [oid, await target(oid)] as const)))
    return stored.map((ref) => ({ name: ref.name, oid: ref.oid, peeled: branch ? ref.oid : (ref.peeled ?? found.get(ref.oid) ?? ref.oid) }))
  }

  return {
    ref: (name) => guarded(null, () => refs.ref(name)),
    refs: (prefix) => guarded([], async () => peeled(prefix, await refs.refs(prefix))),
    async refsPage(prefix, { skip, limit }) {
      const page = await guarded(null, async () => {
        const { refs: found, total } = await refs.page(prefix, skip, limit)
        return total === 0 ? null : { refs: await peeled(prefix, found), total }
      })
      return page ?? { refs: [], total: 0 }
    },
    resolve: (revision) => guarded(null, () => resolveRevision(revision, refs, { peel, abbreviated: (prefix) => objects().abbreviated(prefix) })),
    headBranch: () =>
      guarded(null, async () => {
        const head = await refs.head()
        return head?.startsWith('refs/heads/') ? head.slice('refs/heads/'.length) : null
      }),
  }
}
