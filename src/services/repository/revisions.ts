import type { GitRepository } from '../../git/types.js'

/** A path of more parts names no ref. */
const MAX_PARTS = 64

/**
 * Splits `main/docs/a.md` into a revision and a path: 40 hex digits are the revision; otherwise the longest branch or
 * tag that ends at a slash, or else what stands before the first slash. With `alone` the whole text may be the revision.
 */
export async function splitRevision(repository: GitRepository, text: string, { alone = false } = {}): Promise<{ ref: string; path: string }> {
  const parts = text.split('/')
  const at = (count: number) => ({ ref: parts.slice(0, count).join('/'), path: parts.slice(count).join('/') })
  if (/^[0-9a-f]{40}$/.test(parts[0] ?? '')) return at(1)
  for (let count = Math.min(alone ? parts.length : parts.length - 1, MAX_PARTS); count > 0; count--) {
    const { ref } = at(count)
    if ((await repository.ref(`refs/heads/${ref}`)) ?? (await repository.ref(`refs/tags/${ref}`))) return at(count)
  }
  return at(1)
}
