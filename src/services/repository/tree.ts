import type { ProjectSubject } from '../../access/rules.js'
import type { Context } from '../../context.js'
import { notFound } from '../../failures.js'
import type { TreeEntry } from '../../git/types.js'
import { withoutAround } from '../../lib/text/without-trailing.js'
import { limits, type Page, type Paging, slice } from '../core/page.js'
import { repositoryOf } from './repositories.js'
import { resolveRevision } from './revisions.js'

const RANK = { tree: 0, blob: 1, commit: 2 } as const

/**
 * One level of a tree (trees, blobs, submodules, each ordered by name), or all levels (ordered by path). 404 `Tree` for
 * an empty repository and for an unknown ref or path (RE-1).
 */
export async function listTree(
  ctx: Context,
  subject: ProjectSubject,
  { ref, path, recursive, ...paging }: { ref?: string | undefined; path?: string | undefined; recursive: boolean } & Paging,
): Promise<Page<TreeEntry>> {
  const repository = repositoryOf(ctx, subject.project)
  const found = await resolveRevision(ctx, subject, ref || subject.project.default_branch)
  const subpath = withoutAround(path ?? '', '/')
  if (found && recursive) {
    const { limit, offset } = limits(paging)
    const part = await repository.treePage(found.commit, subpath, { skip: offset, limit })
    if (!part) throw notFound('Tree')
    return { items: part.entries, total: part.total }
  }
  const entries = found && (await repository.tree(found.commit, subpath, { recursive: false }))
  if (!entries) throw notFound('Tree')
  // unlike Git, whose order appends a slash to the names of trees
  const sorted = [...entries].sort((a, b) => RANK[a.type] - RANK[b.type] || (a.path < b.path ? -1 : a.path > b.path ? 1 : 0))
  return slice(sorted, paging)
}
