import type { Dirent, Stats } from 'node:fs'
import { readdir, readFile, readlink, rm, stat } from 'node:fs/promises'
import { basename, join, sep } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { processStat } from '../../lib/is-running.js'
import { isWriterDead, isWriterFile } from './writer-files.js'

export interface StaleOptions {
  /** Milliseconds without change after which a leftover that no process uses is stale. */
  idleMs: number
  /** The same if a process may be writing to it, or if that is unknown. */
  inUseMs: number
  /** Whether processes on other machines, which are invisible here, use the storage too. */
  shared?: boolean
}

export const STALE_AFTER: StaleOptions = { idleMs: 2_000, inUseMs: 600_000 }

/** How long a process on another machine may hold a ref lock: the deadline of a transaction and a margin. */
const MAX_LOCK_AGE_MS = 35_000
/** How far process start times and file times may be off, because both have the resolution of a clock tick. */
const CLOCK_TOLERANCE_MS = 100
/** The lock file of maintenance, and how long it may go without a heartbeat until its owner counts as killed. */
export const MAINTENANCE_LOCK = 'roost-maintenance.lock'
const MAINTENANCE_TIMEOUT_MS = 90_000
/** How long the service may use a temporary object directory or writer file: the deadline of git and a margin. */
const QUARANTINE_LIFETIME_MS = 60_000
/** How long a pack may be without its index while it is being added. */
const INCOMPLETE_PACK_GRACE_MS = 10_000

/** Removes leftovers of killed processes from a storage; returns their paths (SEC-159). */
export async function removeStale(storagePath: string, options: StaleOptions = STALE_AFTER): Promise<string[]> {
  const stale = await staleIn(storagePath, options)
  for (const path of stale) await rm(path, { recursive: true, force: true })
  return stale
}

/**
 * Finds leftovers of killed processes in a storage: lock files, temporary packs, packs without an index, quarantines,
 * repositories half created or half removed. Never a file that a running process has open, nor one that a process
 * writing to the repository may have created.
 */
export async function staleIn(storagePath: string, options: StaleOptions = STALE_AFTER): Promise<string[]> {
  const leftovers: Leftover[] = []
  for (const shard of await folders(storagePath)) {
    if (!/^[0-9a-f]{2}$/.test(shard)) continue
    for (const name of await readdir(join(storagePath, shard)).catch(() => [] as string[]))
      if (isWriterFile(name)) leftovers.push({ path: join(storagePath, shard, name), repository: join(storagePath, shard, name) })
    for (const name of await folders(join(storagePath, shard))) {
      const repository = join(storagePath, shard, name)
      if (/^\.(tmp|gone)-/.test(name)) leftovers.push({ path: repository, repository })
      else if (name.endsWith('.git')) for (const path of await leftoversOf(repository)) leftovers.push({ path, repository })
    }
  }
  return staleAmong(leftovers, options)
}

/**
 * Removes leftovers of killed git processes among a repository's objects: locks that would make maintenance fail, and
 * quarantines of pushes.
 */
export async function removeLeftovers(repository: string, options: StaleOptions): Promise<void> {
  const objects = join(repository, 'objects', '/')
  const inObjects = (path: string) => path.startsWith(objects) && (path.endsWith('.lock') || basename(path).startsWith('tmp_objdir-incoming-'))
  const leftovers = (await leftoversOf(repository)).filter(inObjects).map((path) => ({ path, repository }))
  for (const path of await staleAmong(leftovers, options)) await rm(path, { recursive: true, force: true })
}

interface Leftover {
  path: string
  repository: string
}

async function staleAmong(leftovers: Leftover[], options: StaleOptions): Promise<string[]> {
  if (leftovers.length === 0) return []
  const youngest = Math.max(...(await Promise.all(leftovers.map(({ path }) => changedAt(path)))))
  const wait = youngest + options.idleMs - Date.now()
  // files that are being written change or disappear during this wait
  if (wait > 0) await sleep(Math.min(wait, options.idleMs))
  const uses = await listProcesses()
  const stale: string[] = []
  for (const { path, repository } of leftovers) {
    const changed = await changedAt(path)
    if (changed === 0) continue // removed meanwhile
    if (basename(path) === MAINTENANCE_LOCK) {
      if (await isAbandoned(repository)) stale.push(path)
      continue
    }
    const open = uses?.some((use) => use.open.some((used) => isWithin(used, path)))
    const written = uses?.some((use) => mayBeWriting(use, repository, path, changed))
    const idleMs = options.shared || uses === null ? Math.max(options.idleMs, MAX_LOCK_AGE_MS) : options.idleMs
    const age = Date.now() - changed
    // created by the service; its git process may have started long after that
    if (isQuarantine(path) && age < QUARANTINE_LIFETIME_MS) continue
    if (isWriterFile(path) && age < QUARANTINE_LIFETIME_MS && !(await isWriterDead(path))) continue
    if (!open && age >= (written ? options.inUseMs : isPack(path) ? Math.max(idleMs, INCOMPLETE_PACK_GRACE_MS) : idleMs)) stale.push(path)
  }
  return stale
}

export interface LockOptions {
  /** Whether processes on other machines, which are invisible here, may hold locks too. */
  shared: boolean
  /** Lock files to check, relative to the repository; all by default. */
  paths?: string[] | undefined
  /** Whether a process group is known to hold no lock now. */
  holdsNone?: (group: number) => boolean
}

/** Removes a repository's ref lock files that no living process holds; returns their paths relative to it. */
export async function removeStaleLocks(directory: string, { shared, paths, holdsNone = () => false }: LockOptions): Promise<string[]> {
  const removed: string[] = []
  for (const path of paths ?? (await locksOf(directory))) {
    const full = join(directory, path)
    const found = await stat(full).catch(() => null)
    if (!found || !(await isStaleLock(directory, full, found, shared, holdsNone))) continue
    // the lock may have been released meanwhile, and another process may have created a new one
    const now = await stat(full).catch(() => null)
    if (!now || now.ino !== found.ino || now.ctimeMs !== found.ctimeMs) continue
    await rm(full, { force: true })
    removed.push(path)
  }
  return removed
}

/**
 * Whether the process that maintained a repository has ended, and so have the git processes it started, which may
 * outlive it.
 */
export async function isAbandoned(directory: string): Promise<boolean> {
  const changed = await changedAt(join(directory, MAINTENANCE_LOCK))
  const age = Date.now() - changed
  if (changed === 0 || age < MAINTENANCE_TIMEOUT_MS) return false
  const uses = await listProcesses(directory)
  return age > STALE_AFTER.inUseMs || !uses?.some(({ command }) => command !== undefined && MAINTENANCE_COMMANDS.has(command))
}

/**
 * A lock's owner is older than the lock: if no process that writes to the repository is that old, the owner is dead.
 */
async function isStaleLock(
  directory: string,
  path: string,
  { mtimeMs }: Stats,
  shared: boolean,
  holdsNone: (group: number) => boolean,
): Promise<boolean> {
  const age = Date.now() - mtimeMs
  const uses = await listProcesses(directory)
  if ((shared || uses === null) && age < MAX_LOCK_AGE_MS) return false
  const written = uses?.some((use) => !holdsNone(use.group) && mayBeWriting(use, directory, path, mtimeMs))
  return !written || age > STALE_AFTER.inUseMs
}

export const hasRefLocks = async (directory: string): Promise<boolean> => (await locksOf(directory)).length > 0

const isWithin = (path: string, folder: string) => path === folder || path.startsWith(folder + sep)
const isQuarantine = (path: string) => basename(path).startsWith('tmp_objdir-aside-')
const isPack = (path: string) => /\/objects\/pack\/pack-[^/]*$/.test(path)
const isLock = ({ name }: Dirent) => name.endsWith('.lock')
const isTemporary = ({ name }: Dirent) => /^(\.?tmp[_-]|incoming-|bulk_fsync)/.test(name)

async function locksOf(directory: string): Promise<string[]> {
  const found: string[] = []
  await collect(directory, isLock, () => false, found)
  await collect(join(directory, 'refs'), isLock, () => true, found)
  return found.map((path) => path.slice(directory.length + 1)).filter((path) => !path.startsWith('roost-'))
}

async function leftoversOf(repository: string): Promise<string[]> {
  const found: string[] = []
  const isLeftover = (entry: Dirent) => isLock(entry) || isTemporary(entry)
  await collect(repository, isLeftover, () => false, found)
  await collect(join(repository, 'refs'), isLock, () => true, found)
  await collect(join(repository, 'objects'), isLeftover, () => true, found)
  return [...found, ...(await packsWithoutIndex(repository))]
}

/**
 * Files of packs that have no index, which git adds last, so that a kill leaves them; readers ignore such a pack, but
 * `git repack` refuses to work.
 */
export async function packsWithoutIndex(repository: string): Promise<string[]> {
  const folder = join(repository, 'objects', 'pack')
  const names = new Set(await readdir(folder).catch(() => [] as string[]))
  return [...names]
    .filter((name) => /^pack-[0-9a-f]{40}\.(pack|rev|mtimes|bitmap|keep)$/.test(name) && !names.has(`${name.slice(0, name.lastIndexOf('.'))}.idx`))
    .map((name) => join(folder, name))
}

/**
 * Removes packs without an index that cannot be in the process of being added. Younger ones get two seconds to become
 * complete, which takes a push milliseconds; returns false if some are still incomplete.
 */
export async function removePacksWithoutIndex(repository: string): Promise<boolean> {
  for (let attempt = 0; attempt < 20; attempt++) {
    if (await removeOldPacksWithoutIndex(repository)) return true
    await sleep(100)
  }
  return false
}

async function removeOldPacksWithoutIndex(repository: string): Promise<boolean> {
  const found = await packsWithoutIndex(repository)
  if (found.length === 0) return true
  const uses = await listProcesses(repository)
  let young = false
  for (const path of found) {
    const changed = await changedAt(path)
    const written = uses?.some((use) => mayBeWriting(use, repository, path, changed))
    if (Date.now() - changed < (written ? STALE_AFTER.inUseMs : INCOMPLETE_PACK_GRACE_MS)) young = true
    // a push may have completed it meanwhile
    else if ((await packsWithoutIndex(repository)).includes(path)) await rm(path, { force: true })
  }
  return !young
}

async function collect(folder: string, wanted: (entry: Dirent) => boolean, descend: (entry: Dirent) => boolean, found: string[]): Promise<void> {
  for (const entry of await readdir(folder, { withFileTypes: true }).catch(() => [] as Dirent[])) {
    const path = join(folder, entry.name)
    if (wanted(entry)) found.push(path)
    else if (entry.isDirectory() && descend(entry)) await collect(path, wanted, descend, found)
  }
}

/** When a file, or anything in a directory, last changed; 0 if it does not exist. */
export async function changedAt(path: string): Promise<number> {
  const info = await stat(path).catch(() => null)
  if (!info) return 0
  if (!info.isDirectory()) return Math.max(info.mtimeMs, isPack(path) ? info.ctimeMs : 0)
  const names = await readdir(path).catch(() => [] as string[])
  return Math.max(info.mtimeMs, ...(await Promise.all(names.map((name) => changedAt(join(path, name))))))
}

/** A process on this machine and what it uses. */
interface ProcessUse {
  /** The process group id, shared by git and its children. */
  group: number
  cwd: string
  /** Paths that it has open. */
  open: string[]
  /** The git subcommand; undefined for other programs. */
  command: string | undefined
  /** Milliseconds since 1970. */
  started: number
}

/** Git commands that hold no locks and keep their temporary files open while they need them. */
const READ_ONLY_COMMANDS = new Set(
  'archive cat-file diff diff-tree for-each-ref fsck grep log ls-tree merge-base merge-tree pack-objects rev-list show upload-archive upload-pack'.split(
    ' ',
  ),
)

const MAINTENANCE_COMMANDS = new Set(['commit-graph', 'multi-pack-index', 'pack-refs', 'repack'])

/** Whether `git receive-pack` runs in this repository on this machine. */
export const isReceivingPush = async (directory: string): Promise<boolean> =>
  (await listProcesses(directory))?.some(({ command }) => command === 'receive-pack') ?? false

/** Whether git runs in this repository on this machine; true if unknown. */
export const hasGitProcesses = async (directory: string): Promise<boolean> =>
  (await listProcesses(directory))?.some(({ command }) => command !== undefined) ?? true

/** Whether a process may be writing a file that last changed at the given time. */
function mayBeWriting({ cwd, command, started }: ProcessUse, repository: string, path: string, changed: number): boolean {
  if (!isWithin(cwd, repository) || started > changed + CLOCK_TOLERANCE_MS) return false
  if (command === 'update-ref') return !isWithin(path, join(repository, 'objects'))
  return command === undefined || !READ_ONLY_COMMANDS.has(command)
}

/** The processes of this machine, or those with a working directory in `folder`; null if the system has no /proc. */
async function listProcesses(folder?: string): Promise<ProcessUse[] | null> {
  const ids = (await readdir('/proc').catch(() => [])).filter((name) => /^\d+$/.test(name))
  if (ids.length === 0) return null
  const target = (path: string) => readlink(path).catch(() => '')
  const booted = Date.now() - Number.parseFloat(await readFile('/proc/uptime', 'utf8').catch(() => '')) * 1_000
  const uses: ProcessUse[] = []
  for (const id of ids) {
    const cwd = await target(`/proc/${id}/cwd`)
    if (folder !== undefined && !isWithin(cwd, folder)) continue
    const open: string[] = []
    if (folder === undefined) for (const fd of await readdir(`/proc/${id}/fd`).catch(() => [])) open.push(await target(`/proc/${id}/fd/${fd}`))
    const command = await readFile(`/proc/${id}/cmdline`, 'utf8').catch(() => '')
    const state = processStat(Number(id))
    // a process that ends, or begins its program, has no command line and holds nothing; soon after its end it has no entry
    if (command === '' || state === null || state.ended) continue
    const started = booted + Number(state.started) * 10 // in ticks of 10 ms since boot
    uses.push({ group: state.group, cwd, open, command: gitCommand(command.split('\0')), started: Number.isFinite(started) ? started : 0 })
  }
  return uses
}

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
