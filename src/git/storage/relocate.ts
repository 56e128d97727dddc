import { mkdir, readdir, rename, rm, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { syncDirectory } from '../../lib/files/durable.js'
import { Unavailable } from '../../lib/unavailable.js'
import { GitFault } from '../errors.js'
import type { ProcessPool } from '../process/pool.js'
import { PackedRefsCache } from '../refs/packed-refs.js'
import { RefStore } from '../refs/ref-store.js'
import type { Relocation } from '../types.js'
import { repositoryExists } from './create.js'
import { checkTips, copy, inTurns, place } from './fork.js'
import { closeGate, isEntered, openGate } from './gates.js'
import { isLockedIn, MAINTENANCE_LOCK, removeStaleLocks } from './leftovers.js'
import { withMaintenanceLock } from './maintenance.js'

/** A repository and where it goes. */
export interface Route {
  from: string
  to: string
}

/** Milliseconds that pushes and commits get to end while new ones wait; in each round more. */
const PATIENCE = [5_000, 10_000, 20_000, 40_000]
/** Milliseconds without any writer after which nobody counts as being about to write. */
const QUIET = 300
/** Milliseconds in which those who come later all the same are refused. */
const LATE = 5_000
const LOOK = 25
/** Milliseconds between two rounds. */
const BREAK = 3_000

/**
 * Moves the repositories of one project, the first of which exists: copies their objects while they are in use, makes
 * new writers wait until nobody writes, copies the rest, puts the copies in place and calls `commit`, which makes them
 * the valid ones. What was there stays for its readers, behind closed gates. When this throws, either `commit` was not
 * called and the gates are open, or it was and they are closed; the next run finds out.
 */
export async function relocate(pool: ProcessPool, routes: [Route, ...Route[]], move: Relocation & { shared: boolean }): Promise<void> {
  const [{ from }] = routes
  const done = await withMaintenanceLock(from, () => withWikiLock(routes, move.run, () => new Move(pool, routes, move).make()), move.run)
  if (!done) throw new Unavailable('the repository is being maintained')
}

async function withWikiLock([, wiki]: Route[], run: string, work: () => Promise<void>): Promise<void> {
  if (!wiki || !(await repositoryExists(wiki.from))) return work()
  if (!(await withMaintenanceLock(wiki.from, work, run))) throw new Unavailable('the wiki is being maintained')
}

/** The folder in which a copy is made. */
const asideOf = ({ to }: Route, run: string) => join(dirname(to), `.moving-${basename(to, '.git')}-${run}`)

/** Removes copies of these repositories that were never put in place. */
export async function removeHalfCopies(directories: string[]): Promise<void> {
  for (const directory of directories) {
    const shard = dirname(directory)
    const prefix = `.moving-${basename(directory, '.git')}-`
    for (const name of await readdir(shard).catch(() => [] as string[]))
      if (name.startsWith(prefix)) await rm(join(shard, name), { recursive: true, force: true })
  }
}

class Move {
  readonly #from: string

  constructor(
    private readonly pool: ProcessPool,
    private readonly routes: [Route, ...Route[]],
    private readonly move: Relocation & { shared: boolean },
  ) {
    this.#from = routes[0].from
  }

  async make(): Promise<void> {
    const { run, signal, commit } = this.move
    let committing = false
    try {
      for (const route of this.routes) await mkdir(dirname(route.to), { recursive: true })
      await this.#copyObjects()
      if (!(await this.#close())) throw new Unavailable('the repository is being written to without a break', 30)
      for (const route of this.routes) await this.#complete(route)
      signal.throwIfAborted()
      await this.#putInPlace()
      committing = true
      await commit()
    } catch (error) {
      if (!committing) await this.#open()
      throw error
    } finally {
      for (const route of this.routes) await rm(asideOf(route, run), { recursive: true, force: true })
    }
  }

  async #copyObjects(): Promise<void> {
    for (const route of this.routes)
      if (await repositoryExists(route.from)) await copyFolder(join(route.from, 'objects'), join(asideOf(route, this.move.run), 'objects'), true)
  }

  /** True: nobody writes, and nobody will. False: somebody always did. */
  async #close(): Promise<boolean> {
    const { run, signal } = this.move
    for (const patience of PATIENCE) {
      for (const { from } of this.routes) await removeStaleLocks(from, { shared: this.move.shared })
      await closeGate(this.#from, 'leaving', run)
      if (await this.#isQuiet(QUIET, patience)) {
        await closeGate(this.#from, 'left', run)
        if (await this.#isQuiet(0, LATE)) return true
      }
      await this.#open()
      await sleep(BREAK, undefined, { signal })
      await this.#copyObjects()
    }
    return false
  }

  /** Whether there comes a time, so many milliseconds long, in which nobody writes. */
  async #isQuiet(long: number, patience: number): Promise<boolean> {
    const until = performance.now() + patience
    for (let since = performance.now(); performance.now() < until; await sleep(LOOK, undefined, { signal: this.move.signal })) {
      if (await this.#isWritten()) since = performance.now()
      else if (performance.now() - since >= long) return true
    }
    return false
  }

  async #isWritten(): Promise<boolean> {
    const directories = this.routes.map(({ from }) => from)
    if ((await this.move.hasPendingWrites()) || (await isEntered(directories))) return true
    for (const directory of directories) if (await isLockedIn(directory)) return true
    return false
  }

  async #open(): Promise<void> {
    for (const gate of ['left', 'leaving'] as const) await openGate(this.#from, gate, this.move.run)
  }

  /** Copies what was written meanwhile, and the refs, and checks that they have their objects. */
  async #complete(route: Route): Promise<void> {
    if (!(await repositoryExists(route.from))) return
    const aside = asideOf(route, this.move.run)
    await copyFolder(route.from, aside, false)
    const refsIn = (directory: string) => new RefStore(directory, new PackedRefsCache(1_000_000)).refs('refs/')
    const [refs, copied] = await Promise.all([refsIn(route.from), refsIn(aside)])
    const list = (of: typeof refs) => of.map(({ name, oid }) => `${oid} ${name}`).join('\n')
    if (list(refs) !== list(copied)) throw new GitFault('for-each-ref', null, `the refs of ${route.from} have not been copied as they are`)
    if (refs.length > 0) await checkTips(this.pool, aside, refs)
  }

  async #putInPlace(): Promise<void> {
    for (const route of this.routes) {
      const aside = asideOf(route, this.move.run)
      // fails where something is in its place
      if (await repositoryExists(aside)) await rename(aside, route.to)
      await syncDirectory(dirname(route.to))
      await syncDirectory(dirname(dirname(route.to)))
    }
  }
}

/** What running processes write: it may disappear at any moment, and is of no use later. */
const PASSING = /(^|\.)(lock|keep)$|^(\.?tmp[_-]|incoming-|bulk_fsync)/

/**
 * Copies a folder of a repository, durable when it returns, but for what is there already. Objects, which are never
 * changed in place, are linked where both are on one file system.
 */
async function copyFolder(from: string, to: string, objects: boolean): Promise<void> {
  const entries = await readdir(from, { withFileTypes: true }).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return []
    throw error
  })
  await mkdir(to, { recursive: true })
  const kept = entries.filter(({ name }) => !PASSING.test(name) && name !== MAINTENANCE_LOCK)
  for (const entry of kept.filter((each) => each.isDirectory()))
    await copyFolder(join(from, entry.name), join(to, entry.name), objects || entry.name === 'objects')
  const files = kept.filter((each) => each.isFile()).map(({ name }) => name)
  await inTurns(files, (name) => copyFile(join(from, name), join(to, name), objects))
  await syncDirectory(to)
}

/** Names of object files whose content a name does not determine. */
const MUTABLE = /^(multi-pack-index|commit-graph|commit-graph-chain|packs|alternates)$/

async function copyFile(from: string, to: string, object: boolean): Promise<boolean> {
  if (object && !MUTABLE.test(basename(from)) && (await isAsLong(from, to))) return true
  await rm(to, { force: true })
  return object ? place(from, to) : copy(from, to)
}

async function isAsLong(one: string, other: string): Promise<boolean> {
  const [first, second] = await Promise.all([one, other].map((path) => stat(path).catch(() => null)))
  return first !== null && second !== null && first?.size === second?.size
}
