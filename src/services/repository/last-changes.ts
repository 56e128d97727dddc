import type { Context } from '../../context.js'
import { LastChangesWalk } from '../../git/history/last-changes-walk.js'
import type { Commit, Oid } from '../../git/types.js'
import { repositoryOf } from './repositories.js'

/** The commits that last changed the entries of a folder, by their paths, with their bytes. */
export type LastChanges = ReadonlyMap<string, Commit>

/**
 * Finds the commits that last changed each entry of a folder, by a walk from a commit towards its ancestors. Walks are
 * shared and kept: a commit and a path always give the same answer. The promise is that of the round that is under way.
 */
export function lastChanges(
  ctx: Context,
  project: { id: number; storage: string },
  commit: Oid,
  path: string,
): { walk: Pick<LastChangesWalk, 'found' | 'isComplete'>; round: Promise<void> } {
  const key = `${project.id} ${commit} ${path}`
  const known = ctx.caches.lastChanges.get(key)
  const walk = known ?? new LastChangesWalk(commit, path)
  if (!known) ctx.caches.lastChanges.set(key, walk)
  const round = walk.goOn(repositoryOf(ctx, project))
  // a page that does not wait for the end of the round goes without it
  round.catch(() => {})
  return { walk, round }
}
