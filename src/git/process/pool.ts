import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process'
import { accessSync, constants, readFileSync, statSync, writeFileSync } from 'node:fs'
import { availableParallelism, setPriority } from 'node:os'
import { delimiter, isAbsolute, join } from 'node:path'
import { FairQueue } from '../../lib/async/fair-queue.js'
import { currentHolder } from '../../lib/async/holder.js'
import { Unavailable } from '../../lib/unavailable.js'
import { gitFailure } from '../errors.js'

/** The environment every git process gets: nothing inherited but PATH and the temporary directory (SEC-84). */
export function gitEnvironment(): NodeJS.ProcessEnv {
  return {
    PATH: process.env['PATH'],
    TMPDIR: process.env['TMPDIR'],
    HOME: '/nonexistent',
    XDG_CONFIG_HOME: '/nonexistent',
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_ATTR_NOSYSTEM: '1',
    GIT_NO_REPLACE_OBJECTS: '1',
    GIT_LITERAL_PATHSPECS: '1',
    GIT_TERMINAL_PROMPT: '0',
    GIT_OPTIONAL_LOCKS: '0',
    GIT_ALLOW_PROTOCOL: 'file',
    GIT_ADVICE: '0',
    LC_ALL: 'C',
    TZ: 'UTC',
  }
}

/** Where the system finds a program; null when it does not. */
export function programOnPath(name: string): string | null {
  const folders = (process.env['PATH'] ?? '').split(delimiter).filter(isAbsolute)
  return folders.map((folder) => join(folder, name)).find(isExecutable) ?? null
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return statSync(path).isFile()
  } catch {
    return false
  }
}

/** Named in full, so that a git that must find no other program can be given an empty path. */
let git: string | null = null

/** Options every git command starts with: trust our own directories, sync what is written, keep memory small, start no maintenance behind our back. */
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
  /** Processes at once for one holder, a user or an address, where turns are taken for one. Each may fill half of the queue. */
  runningPerHolder?: number
  /** Milliseconds a call may wait for its turn. */
  wait: number
  /** Milliseconds a process may run. */
  deadline: number
  /** By how much its processes stand back behind all others, from 1 to 19. */
  niceness?: number
}

/** By how much git stands back behind the service and Postgres, whose short answers everybody waits for (SEC-180). */
export const GIT_NICENESS = 10

/** Processes that work for one holder at once: more than there are cores only delay each other, and everybody else (SEC-180). */
export const PER_HOLDER = Math.max(2, availableParallelism())

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

/** Of searches, which read whole repositories with a thread for each core: one at once for each of them, with a queue of their own, and behind everything else, so that nobody else waits for them (SEC-143). */
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
  /** Bytes of memory of its own after which the process is ended, where the system tells (Linux). */
  memory?: number
}

export interface RunResult {
  stdout: Buffer
  stderr: string
  exitCode: number
  truncated: boolean
}

/** How a scan ended: git said all, the reader had enough, or the time was up. */
export type ScanEnd = 'whole' | 'enough' | 'late'

/** Starts short-lived git processes, a bounded number at once; who cannot be served soon gets Unavailable (SEC-143). */
export class ProcessPool {
  readonly #queue: FairQueue
  readonly #children = new Set<ChildProcess>()

  constructor(readonly limits: PoolLimits = POOL_LIMITS) {
    this.#queue = new FairQueue({ ...limits, refusals: { late: 'no git process became free in time', full: 'too many git calls are waiting' } })
  }

  /** Runs git in a repository to its end and collects its output. Throws GitFault on an exit code that is not accepted. */
  async run(directory: string, args: string[], options: RunOptions = {}): Promise<RunResult> {
    const release = await this.acquire(directory, options.signal)
    try {
      return await new Promise<RunResult>((resolve, reject) => {
        const child = this.start(directory, args, { env: options.env, signal: options.signal, deadline: options.deadline })
        if (options.memory !== undefined) endBeyond(child, options.memory)
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
        child.on('error', reject)
        child.on('close', (code) => {
          const stderr = Buffer.concat(errors).toString('utf8')
          if (options.signal?.aborted) reject(options.signal.reason)
          else if (truncated || code === 0 || (code !== null && options.accept?.includes(code))) {
            resolve({ stdout: Buffer.concat(chunks), stderr, exitCode: code ?? 0, truncated })
          } else if (timedOut.has(child)) reject(new Unavailable(`git ${args[0]} ran out of time`))
          else reject(gitFailure(args[0] ?? '', code, stderr))
        })
        child.stdin?.on('error', () => {}) // a process that ends early closes its input; its exit code tells the story
        child.stdin?.end(options.input)
      })
    } finally {
      release()
    }
  }

  /** Hands on what git prints until it ends, until `take` has enough and says false, or until the deadline; the latter two end git. Throws GitFault on an exit code that is not accepted. */
  async scan(directory: string, args: string[], take: (chunk: Buffer) => boolean, options: Omit<RunOptions, 'maxBytes'> = {}): Promise<ScanEnd> {
    const release = await this.acquire(directory, options.signal)
    try {
      return await new Promise<ScanEnd>((resolve, reject) => {
        const child = this.start(directory, args, { env: options.env, signal: options.signal, deadline: options.deadline })
        let enough = false
        let stderr = ''
        child.stdout?.on('data', (chunk: Buffer) => {
          if (enough) return
          try {
            enough = !take(chunk)
          } catch (fault) {
            enough = true
            reject(fault)
          }
          if (enough) kill(child)
        })
        child.stderr?.setEncoding('utf8').on('data', (text: string) => {
          if (stderr.length < 65_536) stderr += text
        })
        child.on('error', reject)
        child.on('close', (code) => {
          if (options.signal?.aborted) reject(options.signal.reason)
          else if (enough) resolve('enough')
          else if (code === 0 || (code !== null && options.accept?.includes(code))) resolve('whole')
          else if (timedOut.has(child)) resolve('late')
          else reject(gitFailure(args[0] ?? '', code, stderr))
        })
        child.stdin?.on('error', () => {})
        child.stdin?.end(options.input)
      })
    } finally {
      release()
    }
  }

  /** A turn in the pool, for callers that start a process themselves; call what comes back when it has ended. A holder, by default the one in whose name the call is, has a part of the turns at once and waits for more. */
  acquire(directory: string, signal?: AbortSignal, holder = currentHolder()): Promise<() => void> {
    const { running, runningPerRepository, runningPerHolder = running, waiting, waitingPerRepository } = this.limits
    const repository = { key: `in ${directory}`, running: runningPerRepository, waiting: waitingPerRepository }
    const own = holder === undefined ? undefined : { key: `for ${holder}`, running: runningPerHolder, waiting: waiting / 2 }
    return this.#queue.acquire({ holder: own, also: [repository] }, signal)
  }

  /** Starts git in a process group of its own, which dies on the deadline, on the signal and on close; takes no turn in the pool. `deadline` 0: none. */
  start(
    directory: string,
    args: string[],
    options: {
      env?: NodeJS.ProcessEnv | undefined
      signal?: AbortSignal | undefined
      deadline?: number | undefined
      stdio?: SpawnOptions['stdio']
    } = {},
  ): ChildProcess {
    git ??= programOnPath('git')
    const child = spawn(git ?? 'git', [...GIT_OPTIONS, ...args], {
      cwd: directory,
      env: { ...gitEnvironment(), GIT_DIR: directory, ...options.env },
      stdio: options.stdio ?? ['pipe', 'pipe', 'pipe'],
      detached: true,
    })
    this.#children.add(child)
    if (this.limits.niceness && child.pid !== undefined) standBack(child.pid, this.limits.niceness)
    const deadline = options.deadline ?? this.limits.deadline
    const timer =
      deadline > 0
        ? setTimeout(() => {
            timedOut.add(child)
            kill(child)
          }, deadline)
        : undefined
    const onAbort = () => kill(child)
    if (options.signal?.aborted) kill(child)
    else options.signal?.addEventListener('abort', onAbort, { once: true })
    child.once('close', () => {
      this.#children.delete(child)
      clearTimeout(timer)
      options.signal?.removeEventListener('abort', onAbort)
    })
    child.once('error', () => this.#children.delete(child))
    return child
  }

  /** Refuses new calls and ends every process that is still running. */
  async close() {
    this.#queue.close(new Unavailable('the service is stopping'))
    const ended = [...this.#children].map((child) => new Promise<void>((resolve) => child.once('close', () => resolve())))
    for (const child of this.#children) kill(child)
    await Promise.all(ended)
  }
}

const timedOut = new WeakSet<ChildProcess>()

/** Each process is the first of its session, and where Linux schedules sessions as groups the group has to stand back as well. */
function standBack(pid: number, niceness: number) {
  try {
    setPriority(pid, niceness)
    writeFileSync(`/proc/${pid}/autogroup`, String(niceness))
  } catch {
    // it has just ended by itself, or the system knows no such groups, or lets us change but a few a second
  }
}

/** Milliseconds between two looks at the memory of a process. */
const LOOK = 100

/** Ends a process that takes more memory than it may. */
function endBeyond(child: ChildProcess, bytes: number) {
  const timer = setInterval(() => {
    try {
      const [, kilobytes] = /^RssAnon:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${child.pid}/status`, 'latin1')) ?? []
      if (Number(kilobytes) * 1_024 > bytes) kill(child)
    } catch {
      // it has just ended by itself, or the system does not tell
    }
  }, LOOK)
  child.once('close', () => clearInterval(timer))
  child.once('error', () => clearInterval(timer))
}

/** Ends a process and all it started. */
export function kill(child: ChildProcess) {
  if (child.pid === undefined || child.exitCode !== null) return
  try {
    process.kill(-child.pid, 'SIGKILL')
  } catch {
    // it has just ended by itself
  }
}
