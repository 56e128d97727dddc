import type { Dirent, Stats } from 'node:fs'
import { readdir, readFile, readlink, rm, stat } from 'node:fs/promises'
import { basename, join, sep } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { statOf } from '../../lib/is-running.js'

export interface StaleOptions {
  /** Milliseconds without change after which a leftover that nobody holds is stale. */
  unheld: number
  /** The same where a process may be writing to it, or where that is unknown. */
  held: number
  /** Processes on other machines, which are invisible here, may use the storage as well. */
  shared?: boolean
}

export const STALE: StaleOptions = { unheld: 2_000, held: 600_000 }

/**
 * Milliseconds that a process on another machine may hold a lock on refs: the deadline of a transaction and a margin.
 */
const LONGEST_LOCK = 35_000
/**
 * Milliseconds by which the start of a process, or the time of a file, may be off: both come in ticks of the system's
 * clock.
 */
const START_ERROR = 100
/**
 * The file by which one process at a time maintains a repository, and the milliseconds without an update after which
 * its owner counts as killed.
 */
export const MAINTENANCE_LOCK = 'roost-maintenance.lock'
const LONGEST_SILENCE = 90_000
/** Milliseconds that a quarantine of the service may be in use: the deadline of git and some more. */
const LONGEST_ASIDE = 60_000
/** Milliseconds that a pack may be without its index while it is put in place. */
const HALF_PACK = 10_000

/** The files beside a repository by which pushes that go on are seen; each is touched every ten seconds. */
export const SIGN_OF_WRITER = '.writing-'

/** Removes what killed processes left behind in a storage, and returns it (SEC-159). */
export async function removeStale(storagePath: string, options: StaleOptions = STALE): Promise<string[]> {
  const stale = await staleIn(storagePath, options)
  for (const path of stale) await rm(path, { recursive: true, force: true })
  return stale
}

/**
 * What killed processes left behind in a storage: lock files, temporary packs, packs without an index, quarantines,
 * repositories half created or half removed. Never what a running process has open, nor what a process that writes in
 * the repository may have made.
 */
export async function staleIn(storagePath: string, options: StaleOptions = STALE): Promise<string[]> {
  const leftovers: Leftover[] = []
  for (const shard of await folders(storagePath)) {
    if (!/^[0-9a-f]{2}$/.test(shard)) continue
    for (const name of await readdir(join(storagePath, shard)).catch(() => [] as string[]))
      if (name.startsWith(SIGN_OF_WRITER)) leftovers.push({ path: join(storagePath, shard, name), repository: join(storagePath, shard, name) })
    for (const name of await folders(join(storagePath, shard))) {
      const repository = join(storagePath, shard, name)
      if (/^\.(tmp|gone)-/.test(name)) leftovers.push({ path: repository, repository })
      else if (name.endsWith('.git')) for (const path of await leftoversOf(repository)) leftovers.push({ path, repository })
    }
  }
  return staleAmong(leftovers, options)
}

/**
 * Removes what killed git left among the objects of one repository: locks beside which maintenance fails, and the
 * quarantines of pushes.
 */
export async function removeLeftovers(repository: string, options: StaleOptions): Promise<void> {
  const inObjects = /\/objects\/(?:[^/]+\/)*[^/]+\.lock$|\/objects\/tmp_objdir-incoming-[^/]+$/
  const leftovers = (await leftoversOf(repository)).filter((path) => inObjects.test(path)).map((path) => ({ path, repository }))
  for (const path of await staleAmong(leftovers, options)) await rm(path, { recursive: true, force: true })
}

interface Leftover {
  path: string
  repository: string
}

async function staleAmong(leftovers: Leftover[], options: StaleOptions): Promise<string[]> {
  if (leftovers.length === 0) return []
  const youngest = Math.max(...(await Promise.all(leftovers.map(({ path }) => changedAt(path)))))
  const wait = youngest + options.unheld - Date.now()
  // what is being written now has changed or is gone after this
  if (wait > 0) await sleep(Math.min(wait, options.unheld))
  const uses = await processes()
  const stale: string[] = []
  for (const { path, repository } of leftovers) {
    const changed = await changedAt(path)
    if (changed === 0) continue // it is gone meanwhile
    if (basename(path) === MAINTENANCE_LOCK) {
      if (await isAbandoned(repository)) stale.push(path)
      continue
    }
    const open = uses?.some((use) => use.open.some((used) => isWithin(used, path)))
    const written = uses?.some((use) => mayHave(use, repository, path, changed))
    const unheld = options.shared || uses === null ? Math.max(options.unheld, LONGEST_LOCK) : options.unheld
    const age = Date.now() - changed
    // our own, whose git may have started long after it was made
    if ((isAside(path) || basename(path).startsWith(SIGN_OF_WRITER)) && age < LONGEST_ASIDE) continue
    if (!open && age >= (written ? options.held : isPack(path) ? Math.max(unheld, HALF_PACK) : unheld)) stale.push(path)
  }
  return stale
}

export interface LockOptions {
  /** Processes on other machines, which are invisible here, may hold locks as well. */
  shared: boolean
  /** Paths of lock files below the repository; by default all. */
  paths?: string[] | undefined
  /** Whether a process group is known to hold no lock at this moment. */
  holdsNone?: (group: number) => boolean
}

/** Removes lock files on refs of one repository that no living process holds, and returns their paths below it. */
export async function removeStaleLocks(directory: string, { shared, paths, holdsNone = () => false }: LockOptions): Promise<string[]> {
  const removed: string[] = []
  for (const path of paths ?? (await locksOf(directory))) {
    const full = join(directory, path)
    const found = await stat(full).catch(() => null)
    if (!found || !(await isStaleLock(directory, full, found, shared, holdsNone))) continue
    // somebody may have removed it meanwhile, and another process created the next one
    const now = await stat(full).catch(() => null)
    if (!now || now.ino !== found.ino || now.ctimeMs !== found.ctimeMs) continue
    await rm(full, { force: true })
    removed.push(path)
  }
  return removed
}

/**
 * Whether the process that maintained a repository is gone, and the git processes it started as well, which may outlive
 * it.
 */
export async function isAbandoned(directory: string): Promise<boolean> {
  const changed = await changedAt(join(directory, MAINTENANCE_LOCK))
  const age = Date.now() - changed
  if (changed === 0 || age < LONGEST_SILENCE) return false
  const uses = await processes(directory)
  return age > STALE.held || !uses?.some(({ command }) => command !== undefined && MAINTAINERS.has(command))
}

/**
 * The owner of a lock was running when the lock was made: when no process that writes in the repository is that old,
 * its owner is dead.
 */
async function isStaleLock(
  directory: string,
  path: string,
  { mtimeMs }: Stats,
  shared: boolean,
  holdsNone: (group: number) => boolean,
): Promise<boolean> {
  const age = Date.now() - mtimeMs
  const uses = await processes(directory)
  if ((shared || uses === null) && age < LONGEST_LOCK) return false
  const written = uses?.some((use) => !holdsNone(use.group) && mayHave(use, directory, path, mtimeMs))
  return !written || age > STALE.held
}

/** Whether a ref of the repository is locked. */
export const isLockedIn = async (directory: string): Promise<boolean> => (await locksOf(directory)).length > 0

const isWithin = (path: string, folder: string) => path === folder || path.startsWith(folder + sep)
const isAside = (path: string) => basename(path).startsWith('tmp_objdir-aside-')
const isPack = (path: string) => /\/objects\/pack\/pack-[^/]*$/.test(path)
const isLock = ({ name }: Dirent) => name.endsWith('.lock')
const isTemporary = ({ name }: Dirent) => /^(\.?tmp[_-]|incoming-|bulk_fsync)/.test(name)

async function locksOf(directory: string): Promise<string[]> {
  const found: string[] = []
  await look(directory, isLock, () => false, found)
  await look(join(directory, 'refs'), isLock, () => true, found)
  return found.map((path) => path.slice(directory.length + 1)).filter((path) => !path.startsWith('roost-'))
}

async function leftoversOf(repository: string): Promise<string[]> {
  const found: string[] = []
  const isLeftover = (entry: Dirent) => isLock(entry) || isTemporary(entry)
  await look(repository, isLeftover, () => false, found)
  await look(join(repository, 'refs'), isLock, () => true, found)
  await look(join(repository, 'objects'), isLeftover, () => true, found)
  return [...found, ...(await halfPacks(repository))]
}

/**
 * Files of packs that have no index. Git names a pack before its index and removes the index first, so a kill in
 * between leaves them; no reader sees such a pack, and `git repack` refuses to work beside it.
 */
export async function halfPacks(repository: string): Promise<string[]> {
  const folder = join(repository, 'objects', 'pack')
  const names = new Set(await readdir(folder).catch(() => [] as string[]))
  return [...names]
    .filter((name) => /^pack-[0-9a-f]{40}\.(pack|rev|mtimes|bitmap|keep)$/.test(name) && !names.has(`${name.slice(0, name.lastIndexOf('.'))}.idx`))
    .map((name) => join(folder, name))
}

/**
 * Removes files of packs without an index that nobody can be putting in place any more. Younger ones get two seconds to
 * become whole, which takes a push milliseconds; false when some still are not.
 */
export async function removeHalfPacks(repository: string): Promise<boolean> {
  for (let attempt = 0; attempt < 20; attempt++) {
    if (await removeOldHalfPacks(repository)) return true
    await sleep(100)
  }
  return false
}

async function removeOldHalfPacks(repository: string): Promise<boolean> {
  const found = await halfPacks(repository)
  if (found.length === 0) return true
  const uses = await processes(repository)
  let young = false
  for (const path of found) {
    const changed = await changedAt(path)
    const written = uses?.some((use) => mayHave(use, repository, path, changed))
    if (Date.now() - changed < (written ? STALE.held : HALF_PACK)) young = true
    else await rm(path, { force: true })
  }
  return !young
}

async function look(folder: string, wanted: (entry: Dirent) => boolean, descend: (entry: Dirent) => boolean, found: string[]): Promise<void> {
  for (const entry of await readdir(folder, { withFileTypes: true }).catch(() => [] as Dirent[])) {
    const path = join(folder, entry.name)
    if (wanted(entry)) found.push(path)
    else if (entry.isDirectory() && descend(entry)) await look(path, wanted, descend, found)
  }
}

/** When a file, or anything in a folder, last changed; 0 when it does not exist. */
export async function changedAt(path: string): Promise<number> {
  const info = await stat(path).catch(() => null)
  if (!info) return 0
  if (!info.isDirectory()) return Math.max(info.mtimeMs, isPack(path) ? info.ctimeMs : 0)
  const names = await readdir(path).catch(() => [] as string[])
  return Math.max(info.mtimeMs, ...(await Promise.all(names.map((name) => changedAt(join(path, name))))))
}

/** What a process on this machine is working on. */
interface Use {
  /** The id of its process group; git and everything it starts share one. */
  group: number
  cwd: string
  /** Paths it has open. */
  open: string[]
  /** The subcommand of git, where it is one. */
  command: string | undefined
  /** Milliseconds since 1970. */
  started: number
}

/** Git commands that hold no lock and whose temporary files are open for as long as they matter. */
const READERS = new Set(
  'archive cat-file diff diff-tree for-each-ref fsck grep log ls-tree merge-base merge-tree pack-objects rev-list show upload-archive upload-pack'.split(
    ' ',
  ),
)

/** Git commands that maintenance starts. */
const MAINTAINERS = new Set(['commit-graph', 'multi-pack-index', 'pack-refs', 'repack'])

/** Whether git on this machine takes a push to this repository. */
export const isPushedTo = async (directory: string): Promise<boolean> =>
  (await processes(directory))?.some(({ command }) => command === 'receive-pack') ?? false

/** Whether git on this machine is at work in this repository; true where the system does not tell. */
export const isWorkedIn = async (directory: string): Promise<boolean> =>
  (await processes(directory))?.some(({ command }) => command !== undefined) ?? true

/** Whether a process may be writing this file, which last changed at that time. */
function mayHave({ cwd, command, started }: Use, repository: string, path: string, changed: number): boolean {
  if (!isWithin(cwd, repository) || started > changed + START_ERROR) return false
  if (command === 'update-ref') return !isWithin(path, join(repository, 'objects'))
  return command === undefined || !READERS.has(command)
}

/** The processes of this machine, or those that work in one folder; null where the system does not tell. */
async function processes(folder?: string): Promise<Use[] | null> {
  const ids = (await readdir('/proc').catch(() => [])).filter((name) => /^\d+$/.test(name))
  if (ids.length === 0) return null
  const target = (path: string) => readlink(path).catch(() => '')
  const booted = Date.now() - Number.parseFloat(await readFile('/proc/uptime', 'utf8').catch(() => '')) * 1_000
  const uses: Use[] = []
  for (const id of ids) {
    const cwd = await target(`/proc/${id}/cwd`)
    if (folder !== undefined && !isWithin(cwd, folder)) continue
    const open: string[] = []
    if (folder === undefined) for (const fd of await readdir(`/proc/${id}/fd`).catch(() => [])) open.push(await target(`/proc/${id}/fd/${fd}`))
    const command = (await readFile(`/proc/${id}/cmdline`, 'utf8').catch(() => '')).split('\0')
    const state = statOf(Number(id))
    if (state?.ended) continue
    const started = booted + Number(state?.started) * 10 // in hundredths of a second since the machine started
    uses.push({ group: state?.group ?? Number.NaN, cwd, open, command: gitCommand(command), started: Number.isFinite(started) ? started : 0 })
  }
  return uses
}

/** The subcommand of a git process; undefined for other programs. */
function gitCommand([program = '', ...args]: string[]): string | undefined {
  if (basename(program) !== 'git') return /^git-(.+)$/.exec(basename(program))?.[1]
  for (let i = 0; i < args.length; i++) {
    if (args[i] === '-c' || args[i] === '-C') i++
    else if (!args[i]?.startsWith('-')) return args[i]
  }
  return undefined
}

async function folders(path: string) {
  const entries = await readdir(path, { withFileTypes: true }).catch(() => [] as Dirent[])
  return entries.filter((entry) => entry.isDirectory()).map((entry) => entry.name)
}
