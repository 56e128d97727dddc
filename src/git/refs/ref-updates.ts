import { randomBytes } from 'node:crypto'
import { readFile, rename, rm } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import { KeyedMutex } from '../../lib/async/keyed-mutex.js'
import { syncDirectory, writeNewFile } from '../../lib/files/durable.js'
import { Unavailable } from '../../lib/unavailable.js'
import { GitFault, gitFailure, RefChanged, RefLocked, RefNameConflict } from '../errors.js'
import { configOptions } from '../process/config-options.js'
import type { ProcessPool } from '../process/pool.js'
import { type GitProcess, kill } from '../process/spawner.js'
import { assertNotMoved } from '../storage/gates.js'
import { removeStaleLocks } from '../storage/leftovers.js'
import { type Oid, type RefUpdate, ZERO } from '../types.js'
import { type PackedRefs, PackedRefsCache } from './packed-refs.js'

/** Waits for locks held by a push or repack, syncs what is written, and writes no reflogs. */
const OPTIONS = configOptions({
  'core.fsync': 'committed,loose-object,reference',
  'core.filesRefLockTimeout': '1000',
  'core.packedRefsTimeout': '1000',
  'core.logAllRefUpdates': 'false',
})

export interface RefUpdatesLimits {
  /** Maximum number of concurrent processes. */
  processes: number
  /** Milliseconds that an idle process is kept. */
  idle: number
  /** Milliseconds one transaction may take. */
  deadline: number
  /** Maximum number of queued transactions per repository. */
  waiting: number
  /** Milliseconds to wait for locks held by other processes. */
  lockTimeout: number
}

export const REF_UPDATES_LIMITS: RefUpdatesLimits = { processes: 32, idle: 60_000, deadline: 30_000, waiting: 512, lockTimeout: 8_000 }

interface RepositoryContext {
  shared: boolean
  packed: PackedRefsCache
}

/** Updates refs through one long-lived `git update-ref` process per busy repository. */
export class RefUpdates {
  /** Idle processes, least recently used first. */
  readonly #idle = new Map<string, Updater>()
  #running = 0
  readonly #waiting: (() => void)[] = []
  /** Serialises the updates of a repository, which avoids needless conflicts; compare-and-swap keeps them safe. */
  readonly #mutex = new KeyedMutex()
  readonly #queued = new Map<string, number>()

  readonly limits: RefUpdatesLimits
  readonly #context: RepositoryContext

  /** `shared` means that processes on other machines may hold locks too. */
  constructor(
    readonly pool: ProcessPool,
    {
      limits = REF_UPDATES_LIMITS,
      shared = false,
      packed = new PackedRefsCache(1_000_000),
    }: Partial<RepositoryContext> & { limits?: RefUpdatesLimits } = {},
  ) {
    this.limits = limits
    this.#context = { shared, packed }
  }

  /**
   * Applies all updates atomically, each by compare-and-swap; durable on return. Throws RefChanged, RefNameConflict,
   * Unavailable or GitFault.
   */
  async update(directory: string, updates: RefUpdate[]): Promise<void> {
    if (updates.length === 0) return
    const queued = this.#queued.get(directory) ?? 0
    if (queued >= this.limits.waiting) throw new Unavailable('too many ref updates are waiting')
    this.#queued.set(directory, queued + 1)
    try {
      await this.#mutex.runHere(directory, () => this.#retryWhileLocked(directory, () => this.#transact(directory, updates)))
    } finally {
      const left = (this.#queued.get(directory) ?? 1) - 1
      if (left > 0) this.#queued.set(directory, left)
      else this.#queued.delete(directory)
    }
    await syncRefs(
      directory,
      updates.map((update) => update.ref),
    )
  }

  /**
   * Runs `work` while git holds the lock of a ref at a value. Uses a separate process, so that `work` can update refs
   * of other repositories without waiting here. Throws RefChanged if the ref has another value.
   */
  async withLocked<T>(directory: string, ref: string, oid: Oid, work: () => Promise<T>): Promise<T> {
    return this.#retryWhileLocked(directory, async () => {
      const updater = await Updater.start(this.pool, directory, this.#context)
      try {
        return await updater.withLocked(directory, { ref, old: oid, new: oid }, this.limits.deadline, work)
      } finally {
        updater.end()
      }
    })
  }

  /**
   * Retries while a ref is locked, and removes locks whose owner is dead: otherwise a ref locked by a killed process
   * would stay locked forever (SEC-159).
   */
  async #retryWhileLocked<T>(directory: string, attempt: () => Promise<T>): Promise<T> {
    for (const until = Date.now() + this.limits.lockTimeout; ; ) {
      try {
        return await attempt()
      } catch (error) {
        if (!(error instanceof RefLocked)) throw error
        await removeStaleLocks(directory, { shared: this.#context.shared, paths: [relative(directory, error.path)] })
        if (Date.now() >= until) throw new Unavailable('a ref is locked', 1, { cause: error })
      }
    }
  }

  /** The pid of the repository's idle process, which holds no lock. */
  idlePid = (directory: string): number | undefined => this.#idle.get(directory)?.pid

  /** Ends the repository's process. Call it before the repository is removed. */
  forget(directory: string) {
    this.#idle.get(directory)?.end()
    this.#idle.delete(directory)
  }

  close() {
    for (const directory of [...this.#idle.keys()]) this.forget(directory)
  }

  async #transact(directory: string, updates: RefUpdate[]) {
    if (this.#running >= this.limits.processes) await new Promise<void>((resolve) => this.#waiting.push(resolve))
    else this.#running++
    try {
      const updater = await this.#acquire(directory)
      await updater.transact(directory, updates, this.limits.deadline)
      updater.endWhenIdle(this.limits.idle, () => this.#idle.delete(directory))
      this.#idle.set(directory, updater)
    } finally {
      const next = this.#waiting.shift()
      if (next) next()
      else this.#running--
    }
  }

  async #acquire(directory: string): Promise<Updater> {
    const known = this.#idle.get(directory)
    this.#idle.delete(directory)
    if (known?.alive) return known
    const [oldest] = this.#idle.keys()
    if (oldest !== undefined && this.#idle.size + this.#running > this.limits.processes) this.forget(oldest)
    return Updater.start(this.pool, directory, this.#context)
  }
}

/** One `git update-ref --stdin`. It exits at the first failed transaction, with the reason on stderr. */
class Updater {
  readonly #child: GitProcess
  #out = ''
  #errors = ''
  #timer: NodeJS.Timeout | undefined
  #onOutput: (() => void) | undefined
  alive = true

  get pid() {
    return this.#child.pid
  }

  static async start(pool: ProcessPool, directory: string, context: RepositoryContext): Promise<Updater> {
    return new Updater(await pool.start(directory, [...OPTIONS, 'update-ref', '--stdin', '-z'], { deadline: 0 }), context)
  }

  private constructor(
    child: GitProcess,
    private readonly context: RepositoryContext,
  ) {
    this.#child = child
    this.#child.stdin?.on('error', () => {}) // the process ended early; its exit code says why
    this.#child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      this.#out += text
      this.#onOutput?.()
    })
    this.#child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      if (this.#errors.length < 65_536) this.#errors += text
    })
    void child.exited.then(() => {
      this.alive = false
    })
  }

  async transact(directory: string, updates: RefUpdate[], deadline: number): Promise<void> {
    await this.#withPrepared(directory, updates, deadline, async (expect) => {
      this.#child.stdin?.write('commit\0')
      await expect('commit: ok\n')
    })
  }

  /** Runs `work` while holding the locks of a transaction, then aborts it. */
  withLocked<T>(directory: string, held: RefUpdate, deadline: number, work: () => Promise<T>): Promise<T> {
    return this.#withPrepared(directory, [held], deadline, async (expect) => {
      const result = await work()
      this.#child.stdin?.write('abort\0')
      await expect('abort: ok\n')
      return result
    })
  }

  /** Runs `work` with all refs locked and verified to have their old values. */
  async #withPrepared<T>(
    directory: string,
    updates: RefUpdate[],
    deadline: number,
    work: (expect: (answer: string) => Promise<void>) => Promise<T>,
  ): Promise<T> {
    clearTimeout(this.#timer)
    this.#out = ''
    this.#errors = ''
    let timedOut = false
    const timer = setTimeout(() => {
      timedOut = true
      kill(this.#child)
    }, deadline)
    const expect = async (answer: string) => {
      const outcome = await Promise.race([this.#outputEndsWith(answer), this.#child.closed])
      if (outcome !== 'answered') throw timedOut ? new Unavailable('git update-ref ran out of time') : failure(outcome, this.#errors, updates)
    }
    try {
      this.#child.stdin?.write(transactionInput(updates))
      await expect('prepare: ok\n')
      const refusal = await refusalOf(directory, updates, this.context)
      if (refusal === null) return await work(expect)
      this.#child.stdin?.write('abort\0')
      await expect('abort: ok\n')
      this.end() // its cached packed-refs is no longer up to date
      throw refusal
    } finally {
      clearTimeout(timer)
      this.#onOutput = undefined
    }
  }

  #outputEndsWith(answer: string): Promise<'answered'> {
    return new Promise((resolve) => {
      this.#onOutput = () => {
        if (this.#out.endsWith(answer)) resolve('answered')
      }
      this.#onOutput()
    })
  }

  endWhenIdle(time: number, onEnd: () => void) {
    this.#timer = setTimeout(() => {
      onEnd()
      this.end()
    }, time)
    this.#timer.unref()
  }

  end() {
    clearTimeout(this.#timer)
    this.alive = false
    this.#child.stdin?.end()
  }
}

function transactionInput(updates: RefUpdate[]) {
  const lines = updates.map((update) => {
    if (!/^refs\/[^\0\n]+$/.test(update.ref)) throw new GitFault('update-ref', null, `not a full ref name: ${update.ref}`)
    if (update.new !== ZERO) return `update ${update.ref}\0${update.new}\0${update.old}\0`
    if (update.old !== ZERO) return `delete ${update.ref}\0${update.old}\0`
    return `verify ${update.ref}\0${ZERO}\0`
  })
  return `start\0${lines.join('')}prepare\0`
}

/** Checks, while git holds the locks, whether the refs may move; returns the error if not. */
async function refusalOf(directory: string, updates: RefUpdate[], { shared, packed }: RepositoryContext): Promise<Error | null> {
  try {
    await assertNotMoved(directory, shared)
  } catch (error) {
    return error as Error
  }
  const stale = await firstStale(directory, updates, packed)
  return stale === null ? null : new RefChanged(stale)
}

/**
 * The first ref that does not have its old value, read from the files while git holds their locks. Git compares too,
 * but with its cached packed-refs: it takes a file with the same size, inode and mtime second for unchanged, and a
 * long-lived process can hit this when packed-refs is rewritten twice in a second.
 */
async function firstStale(directory: string, updates: RefUpdate[], cache: PackedRefsCache): Promise<string | null> {
  let packed: PackedRefs | undefined
  for (const { ref, old } of updates) {
    const loose = await readFile(join(directory, ref), 'latin1').catch(ignoreAbsent)
    if (loose !== undefined && loose !== '') {
      if (!loose.startsWith('ref:') && loose.slice(0, 40) !== old) return ref
      continue
    }
    packed ??= await cache.readOpened(directory)
    const now = packed.find(ref)?.oid ?? ZERO
    if (now !== old) return ref
  }
  return null
}

function ignoreAbsent(error: NodeJS.ErrnoException): undefined {
  if (!['ENOENT', 'ENOTDIR', 'EISDIR'].includes(error.code ?? '')) throw error
}

/** Maps git's message (locale C) to the expected failure. */
function failure(exitCode: number | null, errors: string, updates: RefUpdate[]) {
  const ref = /cannot lock ref '([^']+)'/.exec(errors)?.[1] ?? (updates[0] as RefUpdate).ref
  if (/exists; cannot create|' at the same time|non-empty directory|directory in the way|Not a directory/.test(errors)) {
    return new RefNameConflict(ref)
  }
  if (/is at [0-9a-f]+ but expected|reference already exists|reference is missing but expected|unable to resolve reference/.test(errors)) {
    return new RefChanged(ref)
  }
  const lock = /Unable to create '([^'\n]+\.lock)': File exists/.exec(errors)?.[1]
  if (lock) return new RefLocked(lock)
  return gitFailure('update-ref', exitCode, errors)
}

/** Syncs the directories of refs: git syncs the content of a loose ref, but not its directory entry. */
export async function syncRefs(directory: string, refs: string[]) {
  const folders = new Set([directory, ...refs.map((ref) => dirname(join(directory, ref)))])
  await Promise.all([...folders].map((folder) => syncDirectory(folder).catch(ignoreNotDirectory)))
}

function ignoreNotDirectory(error: NodeJS.ErrnoException) {
  if (error.code !== 'ENOTDIR') throw error
}

/** Points HEAD at a branch, which need not exist. */
export async function writeHead(directory: string, branch: string, shared = false) {
  if (/[\0-\x20\x7f]/.test(branch) || branch === '') throw new GitFault('symbolic-ref', null, `not a branch name: ${branch}`)
  const temporary = join(directory, `tmp_HEAD_${randomBytes(6).toString('hex')}`)
  try {
    await writeNewFile(temporary, `ref: refs/heads/${branch}\n`)
    await rename(temporary, join(directory, 'HEAD'))
  } catch (error) {
    await rm(temporary, { force: true })
    throw error
  }
  await syncDirectory(directory)
  // if the repository was copied to another storage meanwhile, this HEAD was not
  await assertNotMoved(directory, shared)
}
