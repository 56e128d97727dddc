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
import { checkTips, copyDurably, inBatches, linkOrCopy } from './fork.js'
import { closeGate, hasActivePushes, openGate } from './gates.js'
import { hasRefLocks, MAINTENANCE_LOCK, removeStaleLocks } from './leftovers.js'
import { withMaintenanceLock } from './maintenance.js'

/** The source and target directory of a repository. */
export interface Route {
  from: string
  to: string
}

/** How long each round waits for running pushes and commits to finish, while new ones wait. */
const DRAIN_TIMEOUTS_MS = [5_000, 10_000, 20_000, 40_000]
/** How long there must be no writer before the repository counts as quiet. */
const QUIET_PERIOD_MS = 300
/** How long to wait for writers that started late, whose updates are now refused. */
const STRAGGLER_TIMEOUT_MS = 5_000
const POLL_INTERVAL_MS = 25
const ROUND_INTERVAL_MS = 3_000

/**
 * Moves the repositories of one project, the first of which exists: copies objects while the repositories are in use,
 * makes new writers wait until none is active, copies the rest, renames the copies into place and calls `commit`, which
 * makes them current. The former copies stay for readers, behind closed gates. If this throws, either `commit` was not
 * called and the gates are open, or it was called and they are closed; the next run finds out which.
 */
export async function relocate(pool: ProcessPool, routes: [Route, ...Route[]], move: Relocation & { shared: boolean }): Promise<void> {
  const [{ from }] = routes
  const done = await withMaintenanceLock(from, () => withWikiLock(routes, move.run, () => new Move(pool, routes, move).execute()), move.run)
  if (!done) throw new Unavailable('the repository is being maintained')
}

async function withWikiLock([, wiki]: Route[], run: string, work: () => Promise<void>): Promise<void> {
  if (!wiki || !(await repositoryExists(wiki.from))) return work()
  if (!(await withMaintenanceLock(wiki.from, work, run))) throw new Unavailable('the wiki is being maintained')
}

/** The directory in which a copy is built. */
const temporaryCopyOf = ({ to }: Route, run: string) => join(dirname(to), `.moving-${basename(to, '.git')}-${run}`)

/** Removes unfinished copies of these repositories. */
export async function removeTemporaryCopies(directories: string[]): Promise<void> {
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

  async execute(): Promise<void> {
    const { run, signal, commit } = this.move
    let committing = false
    try {
      for (const route of this.routes) await mkdir(dirname(route.to), { recursive: true })
      await this.#copyObjects()
      if (!(await this.#closeGates())) throw new Unavailable('the repository is being written to without a break', 30)
      for (const route of this.routes) await this.#completeCopy(route)
      signal.throwIfAborted()
      await this.#putInPlace()
      committing = true
      await commit()
    } catch (error) {
      if (!committing) await this.#openGates()
      throw error
    } finally {
      for (const route of this.routes) await rm(temporaryCopyOf(route, run), { recursive: true, force: true })
    }
  }

  async #copyObjects(): Promise<void> {
    for (const route of this.routes)
      if (await repositoryExists(route.from))
        await copyFolder(join(route.from, 'objects'), join(temporaryCopyOf(route, this.move.run), 'objects'), true)
  }

  /** Closes the gates. Returns true when there is no writer and can be none; false if writers never paused. */
  async #closeGates(): Promise<boolean> {
    const { run, signal } = this.move
    for (const timeoutMs of DRAIN_TIMEOUTS_MS) {
      for (const { from } of this.routes) await removeStaleLocks(from, { shared: this.move.shared })
      await closeGate(this.#from, 'leaving', run)
      if (await this.#waitUntilQuiet(QUIET_PERIOD_MS, timeoutMs)) {
        await closeGate(this.#from, 'left', run)
        if (await this.#waitUntilQuiet(0, STRAGGLER_TIMEOUT_MS)) return true
      }
      await this.#openGates()
      await sleep(ROUND_INTERVAL_MS, undefined, { signal })
      await this.#copyObjects()
    }
    return false
  }

  /** Waits until there has been no writer for `quietMs`; returns false after `timeoutMs`. */
  async #waitUntilQuiet(quietMs: number, timeoutMs: number): Promise<boolean> {
    const until = performance.now() + timeoutMs
    for (let since = performance.now(); performance.now() < until; await sleep(POLL_INTERVAL_MS, undefined, { signal: this.move.signal })) {
      if (await this.#hasWriters()) since = performance.now()
      else if (performance.now() - since >= quietMs) return true
    }
    return false
  }

  async #hasWriters(): Promise<boolean> {
    const directories = this.routes.map(({ from }) => from)
    if ((await this.move.hasPendingWrites()) || (await hasActivePushes(directories))) return true
    for (const directory of directories) if (await hasRefLocks(directory)) return true
    return false
  }

  async #openGates(): Promise<void> {
    for (const gate of ['left', 'leaving'] as const) await openGate(this.#from, gate, this.move.run)
  }

  /** Copies the rest, including refs, and checks that the refs have their objects. */
  async #completeCopy(route: Route): Promise<void> {
    if (!(await repositoryExists(route.from))) return
    const temporary = temporaryCopyOf(route, this.move.run)
    await copyFolder(route.from, temporary, false)
    const refsIn = (directory: string) => new RefStore(directory, new PackedRefsCache(1_000_000)).refs('refs/')
    const [refs, copied] = await Promise.all([refsIn(route.from), refsIn(temporary)])
    const list = (of: typeof refs) => of.map(({ name, oid }) => `${oid} ${name}`).join('\n')
    if (list(refs) !== list(copied)) throw new GitFault('for-each-ref', null, `the refs of ${route.from} have not been copied as they are`)
    if (refs.length > 0) await checkTips(this.pool, temporary, refs)
  }

  async #putInPlace(): Promise<void> {
    for (const route of this.routes) {
      const temporary = temporaryCopyOf(route, this.move.run)
      // fails if the target exists
      if (await repositoryExists(temporary)) await rename(temporary, route.to)
      await syncDirectory(dirname(route.to))
      await syncDirectory(dirname(dirname(route.to)))
    }
  }
}

/** Temporary files of running processes, which may disappear at any moment and are useless in a copy. */
const TEMPORARY = /(^|\.)(lock|keep)$|^(\.?tmp[_-]|incoming-|bulk_fsync)/

/**
 * Copies a directory of a repository, durable on return, skipping objects that are already there. Objects, which never
 * change in place, are hard-linked if both sides are on one file system.
 */
async function copyFolder(from: string, to: string, objects: boolean): Promise<void> {
  const entries = await readdir(from, { withFileTypes: true }).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return []
    throw error
  })
  await mkdir(to, { recursive: true })
  const kept = entries.filter(({ name }) => !TEMPORARY.test(name) && name !== MAINTENANCE_LOCK)
  for (const entry of kept.filter((each) => each.isDirectory()))
    await copyFolder(join(from, entry.name), join(to, entry.name), objects || entry.name === 'objects')
  const files = kept.filter((each) => each.isFile()).map(({ name }) => name)
  await inBatches(files, (name) => copyFile(join(from, name), join(to, name), objects))
  await syncDirectory(to)
}

/** Files in the object directory whose content can change. */
const MUTABLE = /^(multi-pack-index|commit-graph|commit-graph-chain|packs|alternates)$/

async function copyFile(from: string, to: string, object: boolean): Promise<boolean> {
  if (object && !MUTABLE.test(basename(from)) && (await haveSameSize(from, to))) return true
  await rm(to, { force: true })
  return object ? linkOrCopy(from, to) : copyDurably(from, to)
}

async function haveSameSize(one: string, other: string): Promise<boolean> {
  const [first, second] = await Promise.all([one, other].map((path) => stat(path).catch(() => null)))
  return first !== null && second !== null && first?.size === second?.size
}
