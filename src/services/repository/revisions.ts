import { readsRequestCode } from '../../access/can.js'
import type { ProjectSubject } from '../../access/rules.js'
import type { Context } from '../../context.js'
import type { GitRepository, Oid, Resolved } from '../../git/types.js'
import { repositoryOf } from './repositories.js'

/** A name of 255 characters has no more parts. */
const MAX_PARTS = 128

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

/** What a revision names to a caller who may read the code: a branch, a tag, or a commit that they may see (GH-28). */
export async function resolveRevision(ctx: Context, subject: ProjectSubject, revision: string): Promise<Resolved | null> {
  const found = await repositoryOf(ctx, subject.project).resolve(revision)
  return found && (found.ref !== null || (await mayShow(ctx, subject, found.commit))) ? found : null
}

/** Whether a caller who may read the code of a project sees a commit by its id (GH-28). */
export const mayShow = async (ctx: Context, subject: ProjectSubject, oid: Oid): Promise<boolean> =>
  readsRequestCode(subject) || isPublished(repositoryOf(ctx, subject.project), subject.project, oid)

/**
 * Whether a branch or tag reaches a commit, or the repository has nothing else: it also has the commits of merge
 * requests, from private forks too, and what a mirror has fetched and not taken over (GH-28).
 */
export async function isPublished(repository: GitRepository, { default_branch }: { default_branch: string }, oid: Oid): Promise<boolean> {
  const head = await repository.ref(`refs/heads/${default_branch}`)
  if (head && (head === oid || (await repository.isAncestor(oid, head)))) return true
  if (!(await hasHiddenRefs(repository))) return true
  for (const prefix of ['refs/heads/', 'refs/tags/'] as const) if ((await repository.refsContaining(oid, prefix)).length > 0) return true
  return false
}

const hasHiddenRefs = async (repository: GitRepository) => {
  const pages = await Promise.all(
    ['refs/merge-requests/', 'refs/keep-around/', 'refs/roost/'].map((prefix) => repository.refsPage(prefix, { skip: 0, limit: 0 })),
  )
  return pages.some(({ total }) => total > 0)
}
