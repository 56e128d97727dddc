import { LRUCache } from 'lru-cache'
import type { Commit, GitRepository, Oid, TreeEntry } from '../types.js'

/** Commits that one round of a walk looks at, and milliseconds that it may take; the next request begins another round. */
const ROUND = { commits: 5_000, ms: 10_000 }
/** Folders that a round keeps: most commits leave a folder as it is. */
const FOLDERS = 100

/** Where the entries that are still to be explained come from. */
interface Waiting {
  commit: Commit
  names: Set<string>
}

const sameEntry = (a: TreeEntry | undefined, b: TreeEntry | undefined) => a?.oid === b?.oid && a?.mode === b?.mode

/** A walk that is made in rounds: what it has found stays, and where it was. */
export class LastChangesWalk {
  readonly found = new Map<string, Commit>()
  #waiting: Map<Oid, Waiting> | undefined
  #round: Promise<void> | undefined

  constructor(
    private readonly from: Oid,
    private readonly path: string,
  ) {}

  /** Whether nothing more will be found. */
  get isComplete(): boolean {
    return this.#waiting?.size === 0
  }

  /** Makes a round, or waits for the one that is under way. */
  async goOn(repository: GitRepository): Promise<void> {
    if (this.isComplete) return
    this.#round ??= this.#walkBack(repository).finally(() => {
      this.#round = undefined
    })
    return this.#round
  }

  async #walkBack(repository: GitRepository): Promise<void> {
    const { from, path, found } = this
    const folders = new LRUCache<Oid, Map<string, TreeEntry>>({ max: FOLDERS })
    /** The folder in a commit; empty if it has none. Equal folders have the same map. */
    const folderOf = async (commit: Oid): Promise<Map<string, TreeEntry>> => {
      const folder = await repository.entry(commit, path)
      const id = folder?.type === 'tree' ? folder.oid : 'none'
      const known = folders.get(id)
      if (known) return known
      const entries = id === 'none' ? [] : ((await repository.tree(commit, path, { recursive: false })) ?? [])
      const byName = new Map(entries.map((entry) => [entry.bytePath ?? entry.path, entry]))
      folders.set(id, byName)
      return byName
    }
    const wanted = await folderOf(from)
    if (!this.#waiting) {
      const commit = await repository.commit(from)
      this.#waiting = new Map(commit && [[from, { commit, names: new Set(wanted.keys()) }]])
    }
    const waiting = this.#waiting
    const end = performance.now() + ROUND.ms
    for (let visited = 0; waiting.size > 0 && visited < ROUND.commits && performance.now() < end; visited++) {
      const newest = newestOf(waiting)
      const { commit } = newest
      const names = new Set(newest.names)
      const parents = (await repository.commits(commit.parents)).filter((parent) => parent !== null)
      const folder = await folderOf(commit.oid)
      const befores = await Promise.all(parents.map(({ oid }) => folderOf(oid)))
      // from here on nothing waits, so that a round that fails leaves nothing half done
      waiting.delete(commit.oid)
      for (const [i, parent] of parents.entries()) {
        const before = befores[i] as Map<string, TreeEntry>
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
  }
}

/** The commit that was committed last: its descendants have been looked at. */
function newestOf(waiting: Map<Oid, Waiting>): Waiting {
  let newest: Waiting | undefined
  for (const one of waiting.values()) if (!newest || one.commit.committer.seconds > newest.commit.committer.seconds) newest = one
  return newest as Waiting
}
