import { readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { FairQueue } from '../../lib/async/fair-queue.js'
import { currentHolder } from '../../lib/async/holder.js'
import { shareOf } from '../../lib/share.js'
import { bytesOfPath, hasBytes } from '../../lib/text/byte-path.js'
import { Unavailable } from '../../lib/unavailable.js'
import { GitFault, gitFailure } from '../errors.js'
import { configOptions } from './config-options.js'
import { gitEnvironment, programOnPath } from './environment.js'
import { directSpawner, type GitProcess, kill, type Spawner, type SpawnOptions } from './spawner.js'

/**
 * Options of every git command: trust our own directories, sync what is written, limit memory, never start automatic
 * maintenance.
 */
export const GIT_OPTIONS = configOptions({
  'safe.directory': '*',
  'core.fsync': 'committed,loose-object',
  'core.fsyncMethod': 'batch',
  'core.hooksPath': '/dev/null',
  'core.deltaBaseCacheLimit': '16m',
  'core.attributesFile': '/dev/null',
  'core.quotePath': 'false',
  'gc.auto': '0',
  'maintenance.auto': 'false',
  'protocol.allow': 'never',
})

export interface PoolLimits {
  /** Maximum concurrent processes, in total and per repository. */
  running: number
  runningPerRepository: number
  /** Maximum number of queued calls, in total and per repository. */
  waiting: number
  waitingPerRepository: number
  /**
   * Maximum concurrent processes per holder (a user or client address). A holder may fill at most half of the queue.
   */
  runningPerHolder?: number
  /** Milliseconds a call may wait for a slot. */
  wait: number
  /** Milliseconds a process may run. */
  deadline: number
  /** How much lower the priority of the processes is than the service's, from 1 to 19. */
  niceness?: number
}

/** The nice value of git: the service and Postgres take precedence (SEC-180). */
export const GIT_NICENESS = 10

/** Concurrent processes per holder: more than cores would only slow each other and everyone else down (SEC-180). */
export const PER_HOLDER = Math.max(2, availableParallelism())

/** The share of the limits for one of several service processes, but at least two concurrent git processes. */
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
 * Limits of searches, which read whole repositories with a thread per core: one at a time per repository, with a queue
 * of their own and a low priority, so that they delay no other calls (SEC-143).
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

const MAX_ERROR_BYTES = 65_536

export interface RunOptions {
  input?: Buffer | string
  /** Additional environment, such as GIT_OBJECT_DIRECTORY. */
  env?: NodeJS.ProcessEnv
  signal?: AbortSignal | undefined
  /** Milliseconds; the pool's deadline by default. */
  deadline?: number
  /** Exit codes other than 0 that are not failures. */
  accept?: number[]
  /** Bytes of output after which the process is killed and `truncated` is true. */
  maxBytes?: number
  /** Bytes of the error output that are kept. */
  maxErrorBytes?: number
  /** Bytes of private memory above which the process is killed; Linux only. */
  maxMemoryBytes?: number
}

export interface RunResult {
  stdout: Buffer
  stderr: string
  exitCode: number
  truncated: boolean
}

/**
 * Node starts programs with arguments in UTF-8 alone. Where one has other bytes, git runs itself by an alias, with all
 * arguments as `printf` reads them.
 */
const AS_BYTES =
  // biome-ignore lint/suspicious/noTemplateCurlyInString: for the shell
  'alias.as-bytes=!f() { i=$#; while [ $i -gt 0 ]; do a=$(printf %b. "$1"); shift; set -- "$@" "${a%.}"; i=$((i-1)); done; exec git "$@"; }; f'

function withBytes(args: string[]): string[] {
  if (!args.some(hasBytes)) return args
  const written = (arg: string) => [...bytesOfPath(arg)].map((byte) => `\\0${byte.toString(8)}`).join('')
  return ['-c', AS_BYTES, 'as-bytes', ...GIT_OPTIONS.map(written), ...args.map(written)]
}

/** How a scan ended: at the end of the output, stopped by the callback, or at the deadline. */
export type ScanEnd = 'complete' | 'stopped' | 'timeout'

/**
 * Runs a limited number of short-lived git processes; a caller that gets no slot in time gets Unavailable (SEC-143).
 */
export class ProcessPool {
  readonly #queue: FairQueue
  readonly #children = new Set<GitProcess>()
  readonly #starting = new Set<Promise<unknown>>()
  readonly #timedOut = new WeakSet<GitProcess>()
  /** The absolute path of git, so that git can be run with an empty PATH. */
  #git: string | null = null
  #closed = false

  constructor(
    readonly limits: PoolLimits = POOL_LIMITS,
    readonly spawner: Spawner = directSpawner,
  ) {
    this.#queue = new FairQueue({ ...limits, refusals: { timeout: 'no git process became free in time', full: 'too many git calls are waiting' } })
  }

  /** Runs git in a repository and collects its output. Throws GitFault on an exit code that is not accepted. */
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
          if (errorSize < (options.maxErrorBytes ?? MAX_ERROR_BYTES)) errors.push(chunk)
        })
        void child.closed.then((code) => {
          const stderr = Buffer.concat(errors).toString('utf8')
          if (options.signal?.aborted) reject(options.signal.reason)
          else if (truncated || code === 0 || (code !== null && options.accept?.includes(code))) {
            resolve({ stdout: Buffer.concat(chunks), stderr, exitCode: code ?? 0, truncated })
          } else if (this.#timedOut.has(child)) reject(new Unavailable(`git ${args[0]} ran out of time`))
          // for its memory, probably
          else if (code === null && options.maxMemoryBytes !== undefined) reject(new GitFault(args[0] ?? '', code, stderr))
          else reject(gitFailure(args[0] ?? '', code, stderr))
        })
        child.stdin?.on('error', () => {}) // the process ended early; its exit code says why
        child.stdin?.end(options.input)
      })
    } finally {
      release()
    }
  }

  /**
   * Passes git's output to `onChunk` until it ends, `onChunk` returns false, or the deadline is reached; the latter two
   * kill git. Throws GitFault on an exit code that is not accepted.
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
          else if (stopped) resolve('stopped')
          else if (code === 0 || (code !== null && options.accept?.includes(code))) resolve('complete')
          else if (this.#timedOut.has(child)) resolve('timeout')
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
   * Waits for a slot in the pool, for callers that start a process themselves; call the returned function when it has
   * ended. Slots are shared among holders; by default the holder is that of the current call.
   */
  acquire(directory: string, signal?: AbortSignal, holder = currentHolder()): Promise<() => void> {
    const { running, runningPerRepository, runningPerHolder = running, waiting, waitingPerRepository } = this.limits
    const repository = { key: `in ${directory}`, running: runningPerRepository, waiting: waitingPerRepository }
    const own = holder === undefined ? undefined : { key: `for ${holder}`, running: runningPerHolder, waiting: waiting / 2 }
    return this.#queue.acquire({ holder: own, others: [repository] }, signal)
  }

  /**
   * Starts git in its own process group, which is killed at the deadline, on the signal and on close. Takes no slot in
   * the pool. A `deadline` of 0 means none.
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
    const starting = this.spawner.spawn(this.#git ?? 'git', [...GIT_OPTIONS, ...withBytes(args)], {
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

  /** Rejects new calls and kills all running processes. */
  async close() {
    this.#closed = true
    this.#queue.close(new Unavailable('the service is stopping'))
    await Promise.allSettled(this.#starting)
    for (const child of this.#children) kill(child)
    await Promise.all([...this.#children].map((child) => child.closed))
  }
}

const MEMORY_CHECK_INTERVAL_MS = 100

function killAboveMemory(child: GitProcess, bytes: number) {
  const timer = setInterval(() => {
    try {
      const [, kilobytes] = /^RssAnon:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${child.pid}/status`, 'latin1')) ?? []
      if (Number(kilobytes) * 1_024 > bytes) kill(child)
    } catch {
      // the process has just ended, or the system has no /proc
    }
  }, MEMORY_CHECK_INTERVAL_MS)
  void child.closed.then(() => clearInterval(timer))
}
