import type { CatFile } from '../objects/cat-file.js'
import type { Resolved } from '../types.js'
import type { RefStore } from './ref-store.js'

/**
 * Resolves user input (SEC-81, SEC-82, C-8): a full id, a branch, a tag, an abbreviated commit id, or HEAD. Git's own
 * revision syntax is not supported.
 */
export async function resolveRevision(text: string, refs: RefStore, objects: Pick<CatFile, 'peel' | 'abbreviated'>): Promise<Resolved | null> {
  const commit = async (oid: string | null) => {
    const object = oid && (await objects.peel(oid))
    return object && object.type === 'commit' ? object.oid : null
  }
  const resolved = (commit: string | null, ref: string | null) => (commit ? { commit, ref } : null)

  if (/^[0-9a-f]{40}$/i.test(text)) return resolved(await commit(text.toLowerCase()), null)
  if (/^[0-9a-f]{64}$/i.test(text)) return null
  for (const ref of [`refs/heads/${text}`, `refs/tags/${text}`]) {
    const oid = await refs.ref(ref)
    if (oid) return resolved(await commit(oid), ref)
  }
  if (/^[0-9a-f]{4,39}$/i.test(text)) return resolved(await objects.abbreviated(text.toLowerCase()), null)
  if (text !== 'HEAD') return null
  const head = await refs.head()
  return resolved(await commit(await refs.ref('HEAD')), head?.startsWith('refs/heads/') ? head : null)
}
