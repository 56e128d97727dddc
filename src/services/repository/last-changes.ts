import type { Context } from '../../context.js'
import type { Commit, GitRepository, Oid, TreeEntry } from '../../git/types.js'
import { repositoryOf } from './repositories.js'

/** Commits that one walk looks at; older changes stay unknown. */
const MAX_COMMITS = 5_000
/** Milliseconds that one walk may take. */
const MAX_MS = 10_000

/** The commits that last changed the entries of a folder, by their paths, with their bytes. */
export type LastChanges = ReadonlyMap<string, Commit>

/**
 * Finds the commits that last changed each entry of a folder, in one walk from a commit towards its ancestors. Walks are
 * shared and kept: a commit and a path always give the same answer.
 */
export function lastChanges(ctx: Context, project: { id: number; storage: string }, commit: Oid, path: string): Promise<LastChanges> {
  const key = `${project.id} ${commit} ${path}`
  const known = ctx.caches.lastChanges.get(key)
  if (known) return known
  const walk = walkBack(repositoryOf(ctx, project), commit, path)
  ctx.caches.lastChanges.set(key, walk)
  walk.catch(() => ctx.caches.lastChanges.delete(key))
  return walk
}

/** Where the entries that are still to be explained come from. */
interface Waiting {
  commit: Commit
  names: Set<string>
}

const sameEntry = (a: TreeEntry | undefined, b: TreeEntry | undefined) => a?.oid === b?.oid && a?.mode === b?.mode

async function walkBack(repository: GitRepository, from: Oid, path: string): Promise<LastChanges> {
  const folders = new Map<Oid, Map<string, TreeEntry>>()
  /** The folder in a commit; empty if it has none. Equal folders have the same map. */
  const folderOf = async (commit: Oid): Promise<Map<string, TreeEntry>> => {
    const folder = await repository.entry(commit, path)
    const id = folder?.type === 'tree' ? folder.oid : ''
    const known = folders.get(id)
    if (known) return known
    const entries = id === '' ? [] : ((await repository.tree(commit, path, { recursive: false })) ?? [])
    const byName = new Map(entries.map((entry) => [entry.bytePath ?? entry.path, entry]))
    folders.set(id, byName)
    return byName
  }
  const found = new Map<string, Commit>()
  const start = await repository.commit(from)
  if (!start) return found
  const wanted = await folderOf(from)
  const waiting = new Map<Oid, Waiting>([[from, { commit: start, names: new Set(wanted.keys()) }]])
  const end = performance.now() + MAX_MS
  for (let visited = 0; waiting.size > 0 && visited < MAX_COMMITS && performance.now() < end; visited++) {
    const { commit, names } = takeNewest(waiting)
    const parents = (await repository.commits(commit.parents)).filter((parent) => parent !== null)
    const folder = await folderOf(commit.oid)
    for (const parent of parents) {
      const before = await folderOf(parent.oid)
      const same = before === folder ? [...names] : [...names].filter((name) => sameEntry(before.get(name), wanted.get(name)))
      if (same.length === 0) continue
      const known = waiting.get(parent.oid) ?? { commit: parent, names: new Set() }
      waiting.set(parent.oid, known)
      for (const name of same) {
        known.names.add(name)
        names.delete(name)
      }
      if (names.size === 0) break
    }
    for (const name of names) found.set(name, commit)
  }
  return found
}

/** Takes out the commit that was committed last: its descendants have been looked at. */
function takeNewest(waiting: Map<Oid, Waiting>): Waiting {
  let newest: Waiting | undefined
  for (const one of waiting.values()) if (!newest || one.commit.committer.seconds > newest.commit.committer.seconds) newest = one
  waiting.delete((newest as Waiting).commit.oid)
  return newest as Waiting
}
