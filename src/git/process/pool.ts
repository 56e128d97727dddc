import { readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { FairQueue } from '../../lib/async/fair-queue.js'
import { currentHolder } from '../../lib/async/holder.js'
import { shareOf } from '../../lib/share.js'
import { Unavailable } from '../../lib/unavailable.js'
import { gitFailure } from '../errors.js'
import { gitEnvironment, programOnPath } from './environment.js'
import { directSpawner, type GitProcess, kill, type Spawner, type SpawnOptions } from './spawner.js'

/**
 * Options of every git command: trust our own directories, sync what is written, use little memory, start no
 * maintenance of its own.
 */
export const GIT_OPTIONS = [
  '-c', 'safe.directory=*',
  '-c', 'core.fsync=committed,loose-object',
  '-c', 'core.fsyncMethod=batch',
  '-c', 'core.hooksPath=/dev/null',
  '-c', 'core.deltaBaseCacheLimit=16m',
  '-c', 'core.attributesFile=/dev/null',
  '-c', 'core.quotePath=false',
  '-c', 'gc.auto=0',
  '-c', 'maintenance.auto=false',
  '-c', 'protocol.allow=never',
] // biome-ignore format: pairs belong on one line

export interface PoolLimits {
  /** Processes at once, in all and for one repository. */
  running: number
  runningPerRepository: number
  /** Calls that may wait, in all and for one repository. */
  waiting: number
  waitingPerRepository: number
  /** Processes at a time for one holder, a user or an address. Each holder may fill half of the queue. */
  runningPerHolder?: number
  /** Milliseconds a call may wait for its turn. */
  wait: number
  /** Milliseconds a process may run. */
  deadline: number
  /** How far its processes stand back behind others: a nice value from 1 to 19. */
  niceness?: number
}

/** The nice value of git: the short answers of the service and of Postgres come first (SEC-180). */
export const GIT_NICENESS = 10

/** Processes at a time for one holder: more of them than cores only delay each other, and everybody else (SEC-180). */
export const PER_HOLDER = Math.max(2, availableParallelism())

/** The part of the limits that one of several processes gets. Two processes at a time are the least. */
export function shareOfLimits(limits: PoolLimits, processes: number): PoolLimits {
  if (processes === 1) return limits
  const share = (whole: number, least = 1) => shareOf(whole, processes, Math.min(whole, least))
  return {
    ...limits,
    running: share(limits.running, 2),
    runningPerRepository: share(limits.runningPerRepository),
    ...(limits.runningPerHolder !== undefined && { runningPerHolder: share(limits.runningPerHolder) }),
    waiting: share(limits.waiting),
    waitingPerRepository: share(limits.waitingPerRepository),
  }
}

export const POOL_LIMITS: PoolLimits = {
  running: 8,
  runningPerRepository: 4,
  runningPerHolder: PER_HOLDER,
  waiting: 512,
  waitingPerRepository: 128,
  wait: 5_000,
  deadline: 30_000,
  niceness: GIT_NICENESS,
}

/**
 * Limits of searches, which read whole repositories with a thread for each core: one at a time for each repository,
 * with a queue of their own and a low priority, so that nobody else waits for them (SEC-143).
 */
export const SEARCH_LIMITS: PoolLimits = {
  running: 4,
  runningPerRepository: 1,
  runningPerHolder: 2,
  waiting: 64,
  waitingPerRepository: 16,
  wait: 5_000,
  deadline: 10_000,
  niceness: 13,
}

export interface RunOptions {
  input?: Buffer | string
  /** More environment, such as GIT_OBJECT_DIRECTORY. */
  env?: NodeJS.ProcessEnv
  signal?: AbortSignal | undefined
  /** Milliseconds; the pool's own by default. */
  deadline?: number
  /** Exit codes that are answers, not faults. */
  accept?: number[]
  /** Bytes of output after which the process is ended and `truncated` is true. */
  maxBytes?: number
  /** Bytes of private memory after which the process is ended, where the system tells (Linux). */
  maxMemoryBytes?: number
}

export interface RunResult {
  stdout: Buffer
  stderr: string
  exitCode: number
  truncated: boolean
}

/** How a scan ended: the output ended, the reader had enough, or the deadline was reached. */
export type ScanEnd = 'whole' | 'enough' | 'late'

/**
 * Starts short-lived git processes, a limited number at a time; a caller whose turn does not come soon gets Unavailable
 * (SEC-143).
 */
export class ProcessPool {
  readonly #queue: FairQueue
  readonly #children = new Set<GitProcess>()
  readonly #starting = new Set<Promise<unknown>>()
  readonly #timedOut = new WeakSet<GitProcess>()
  /** An absolute path, so that a git that must find no other program can be given an empty PATH. */
  #git: string | null = null
  #closed = false

  constructor(
    readonly limits: PoolLimits = POOL_LIMITS,
    readonly spawner: Spawner = directSpawner,
  ) {
    this.#queue = new FairQueue({ ...limits, refusals: { late: 'no git process became free in time', full: 'too many git calls are waiting' } })
  }

  /**
   * Runs git in a repository to its end and collects its output. Throws GitFault on an exit code that is not accepted.
   */
  async run(directory: string, args: string[], options: RunOptions = {}): Promise<RunResult> {
    const release = await this.acquire(directory, options.signal)
    try {
      const child = await this.start(directory, args, { env: options.env, signal: options.signal, deadline: options.deadline })
      return await new Promise<RunResult>((resolve, reject) => {
        if (options.maxMemoryBytes !== undefined) killAboveMemory(child, options.maxMemoryBytes)
        const chunks: Buffer[] = []
        const errors: Buffer[] = []
        let size = 0
        let errorSize = 0
        let truncated = false
        child.stdout?.on('data', (chunk: Buffer) => {
          if (truncated) return
          chunks.push(chunk)
          size += chunk.length
          if (options.maxBytes !== undefined && size > options.maxBytes) {
            truncated = true
            kill(child)
          }
        })
        child.stderr?.on('data', (chunk: Buffer) => {
          errorSize += chunk.length
          if (errorSize < 65_536) errors.push(chunk)
        })
        void child.closed.then((code) => {
          const stderr = Buffer.concat(errors).toString('utf8')
          if (options.signal?.aborted) reject(options.signal.reason)
          else if (truncated || code === 0 || (code !== null && options.accept?.includes(code))) {
            resolve({ stdout: Buffer.concat(chunks), stderr, exitCode: code ?? 0, truncated })
          } else if (this.#timedOut.has(child)) reject(new Unavailable(`git ${args[0]} ran out of time`))
          // by somebody else: what it did can be done again
          else if (code === null && options.maxMemoryBytes === undefined) reject(new Unavailable(`git ${args[0]} was killed`))
          else reject(gitFailure(args[0] ?? '', code, stderr))
        })
        child.stdin?.on('error', () => {}) // a process that ends early closes its input; its exit code says why
        child.stdin?.end(options.input)
      })
    } finally {
      release()
    }
  }

  /**
   * Passes on git's output until it ends, until `take` returns false, or until the deadline; the latter two end git.
   * Throws GitFault on an exit code that is not accepted.
   */
  async scan(directory: string, args: string[], onChunk: (chunk: Buffer) => boolean, options: Omit<RunOptions, 'maxBytes'> = {}): Promise<ScanEnd> {
    const release = await this.acquire(directory, options.signal)
    try {
      const child = await this.start(directory, args, { env: options.env, signal: options.signal, deadline: options.deadline })
      return await new Promise<ScanEnd>((resolve, reject) => {
        let stopped = false
        let stderr = ''
        child.stdout?.on('data', (chunk: Buffer) => {
          if (stopped) return
          try {
            stopped = !onChunk(chunk)
          } catch (fault) {
            stopped = true
            reject(fault)
          }
          if (stopped) kill(child)
        })
        child.stderr?.setEncoding('utf8').on('data', (text: string) => {
          if (stderr.length < 65_536) stderr += text
        })
        void child.closed.then((code) => {
          if (options.signal?.aborted) reject(options.signal.reason)
          else if (stopped) resolve('enough')
          else if (code === 0 || (code !== null && options.accept?.includes(code))) resolve('whole')
          else if (this.#timedOut.has(child)) resolve('late')
          else reject(gitFailure(args[0] ?? '', code, stderr))
        })
        child.stdin?.on('error', () => {})
        child.stdin?.end(options.input)
      })
    } finally {
      release()
    }
  }

  /**
   * Waits for a turn in the pool, for callers that start a process themselves; call the returned function when it has
   * ended. A holder, by default the one in whose name the call is made, gets a part of the turns at a time.
   */
  acquire(directory: string, signal?: AbortSignal, holder = currentHolder()): Promise<() => void> {
    const { running, runningPerRepository, runningPerHolder = running, waiting, waitingPerRepository } = this.limits
    const repository = { key: `in ${directory}`, running: runningPerRepository, waiting: waitingPerRepository }
    const own = holder === undefined ? undefined : { key: `for ${holder}`, running: runningPerHolder, waiting: waiting / 2 }
    return this.#queue.acquire({ holder: own, also: [repository] }, signal)
  }

  /**
   * Starts git in a process group of its own, which is killed on the deadline, on the signal and on close; takes no
   * turn in the pool. `deadline` 0: none.
   */
  start(
    directory: string,
    args: string[],
    options: {
      env?: NodeJS.ProcessEnv | undefined
      signal?: AbortSignal | undefined
      deadline?: number | undefined
      stdio?: SpawnOptions['stdio']
    } = {},
  ): Promise<GitProcess> {
    this.#git ??= programOnPath('git')
    const starting = this.spawner.spawn(this.#git ?? 'git', [...GIT_OPTIONS, ...args], {
      cwd: directory,
      env: { ...gitEnvironment(), GIT_DIR: directory, ...options.env },
      stdio: options.stdio ?? ['pipe', 'pipe', 'pipe'],
      niceness: this.limits.niceness,
    })
    const watched = starting.then((child) => {
      this.#watch(child, options.deadline ?? this.limits.deadline, options.signal)
      return child
    })
    this.#starting.add(watched)
    const settled = () => void this.#starting.delete(watched)
    watched.then(settled, settled)
    return watched
  }

  #watch(child: GitProcess, deadline: number, signal: AbortSignal | undefined) {
    this.#children.add(child)
    const onDeadline = () => {
      this.#timedOut.add(child)
      kill(child)
    }
    const timer = deadline > 0 ? setTimeout(onDeadline, deadline) : undefined
    const onAbort = () => kill(child)
    if (signal?.aborted || this.#closed) kill(child)
    else signal?.addEventListener('abort', onAbort, { once: true })
    void child.closed.then(() => {
      this.#children.delete(child)
      clearTimeout(timer)
      signal?.removeEventListener('abort', onAbort)
    })
  }

  /** Refuses new calls and ends every process that is still running. */
  async close() {
    this.#closed = true
    this.#queue.close(new Unavailable('the service is stopping'))
    await Promise.allSettled(this.#starting)
    for (const child of this.#children) kill(child)
    await Promise.all([...this.#children].map((child) => child.closed))
  }
}

/** Milliseconds between two checks of the memory of a process. */
const MEMORY_CHECK_INTERVAL_MS = 100

/** Ends a process that takes more memory than it may. */
function killAboveMemory(child: GitProcess, bytes: number) {
  const timer = setInterval(() => {
    try {
      const [, kilobytes] = /^RssAnon:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${child.pid}/status`, 'latin1')) ?? []
      if (Number(kilobytes) * 1_024 > bytes) kill(child)
    } catch {
      // it has just ended, or the system does not tell
    }
  }, MEMORY_CHECK_INTERVAL_MS)
  void child.closed.then(() => clearInterval(timer))
}
