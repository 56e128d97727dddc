import { createRequire } from 'node:module'
import { Worker } from 'node:worker_threads'
import { shareOf } from '../share.js'
import { Unavailable } from '../unavailable.js'

/** Passwords hashed at the same time. */
const MAX_THREADS = 2
/** Passwords that may wait to be verified, and for how many milliseconds. */
const MAX_WAITING = 32
const WAIT_TIMEOUT_MS = 5_000
const RETRY_AFTER_SECONDS = 5

type Task = { password: string; stored?: string }

export interface Argon2Cost {
  /** KiB. */
  memory: number
  passes: number
}
type Reply = { value: string | boolean } | { error: string }

/**
 * Hooks of a verification; they run while it holds its thread, so that other guesses are checked before or after it.
 */
export interface VerifyHooks {
  /** Called right before the work begins, which can be long after the call; if it throws, nothing is verified. */
  begin?(): Promise<void>
  end?(matches: boolean): Promise<void>
}

interface Waiting {
  task: Task
  hooks: VerifyHooks
  resolve(value: string | boolean): void
  reject(error: unknown): void
  timer: NodeJS.Timeout | undefined
}

/** The script of a thread. On Linux priorities are per thread: requests and Postgres come first. */
const PROGRAM = `
const os = require('node:os')
const { parentPort, workerData } = require('node:worker_threads')
if (process.platform === 'linux') os.setPriority(Math.min(19, os.getPriority() + 10))
const { hashSync, verifySync } = require(workerData.module)
parentPort.on('message', ({ password, stored }) => {
  try {
    parentPort.postMessage({ value: stored === undefined ? hashSync(password, workerData.cost) : verifySync(stored, password) })
  } catch (error) {
    parentPort.postMessage({ error: String(error) })
  }
})`

/** argon2id in dedicated threads: those of libuv also read files, and a flood of passwords would block that. */
export class Argon2 {
  readonly #idle: Worker[] = []
  readonly #all = new Set<Worker>()
  readonly #waiting: Waiting[] = []
  #closed = false
  readonly #limits: { threads: number; waiting: number }
  /** A hash of an unknown password, at the same cost as all others. */
  readonly decoy: string

  /** `processes` share the limits of this machine. */
  constructor(
    readonly cost: Argon2Cost,
    processes = 1,
  ) {
    this.#limits = { threads: shareOf(MAX_THREADS, processes), waiting: shareOf(MAX_WAITING, processes) }
    this.decoy = `$argon2id$v=19$m=${cost.memory},t=${cost.passes},p=1$Yw6VHd7XuLk2sSMiF2qpqQ$LJ/ukHO0PkCuoEOQtMSf5kmMMxShoNevRM5dD6kNC9Q`
  }

  /** For callers that may set a password: waits as long as necessary. */
  async hash(password: string): Promise<string> {
    return (await this.#enqueue({ password })) as string
  }

  /** For all callers: throws Unavailable when too many passwords wait, or the wait is too long. */
  async verify(stored: string, password: string, hooks?: VerifyHooks): Promise<boolean> {
    return (await this.#enqueue({ password, stored }, hooks)) as boolean
  }

  async close(): Promise<void> {
    this.#closed = true
    for (const { reject, timer } of this.#waiting.splice(0)) {
      clearTimeout(timer)
      reject(new Unavailable('the service is stopping'))
    }
    await Promise.all([...this.#all].map((thread) => thread.terminate()))
  }

  #enqueue(task: Task, hooks: VerifyHooks = {}): Promise<string | boolean> {
    return new Promise((resolve, reject) => {
      const refuse = () => reject(new Unavailable('too many passwords are being checked', RETRY_AFTER_SECONDS))
      const verifies = task.stored !== undefined
      if (this.#closed || (verifies && this.#waiting.length >= this.#limits.waiting)) return refuse()
      const waiting: Waiting = { task, hooks, resolve, reject, timer: undefined }
      const timeOut = () => {
        this.#waiting.splice(this.#waiting.indexOf(waiting), 1)
        refuse()
      }
      if (verifies) waiting.timer = setTimeout(timeOut, WAIT_TIMEOUT_MS)
      this.#waiting.push(waiting)
      this.#next()
    })
  }

  #next(): void {
    while (this.#waiting.length > 0) {
      const thread = this.#idle.pop() ?? (this.#all.size < this.#limits.threads ? this.#start() : undefined)
      if (!thread) return
      void this.#run(thread, this.#waiting.shift() as Waiting)
    }
  }

  async #run(thread: Worker, { task, hooks, resolve, reject, timer }: Waiting): Promise<void> {
    clearTimeout(timer)
    try {
      await hooks.begin?.()
      const value = await this.#request(thread, task)
      if (typeof value === 'boolean') await hooks.end?.(value)
      resolve(value)
    } catch (error) {
      reject(error)
    }
    if (this.#all.has(thread)) this.#idle.push(thread)
    this.#next()
  }

  #request(thread: Worker, task: Task): Promise<string | boolean> {
    return new Promise((resolve, reject) => {
      const ended = () => reject(new Unavailable('a thread that checks passwords has ended'))
      if (!this.#all.has(thread)) return ended()
      thread.once('exit', ended)
      thread.once('message', (reply: Reply) => {
        thread.off('exit', ended)
        if ('value' in reply) resolve(reply.value)
        else reject(new Error(reply.error))
      })
      thread.postMessage(task)
    })
  }

  #start(): Worker {
    const library = createRequire(import.meta.url).resolve('@node-rs/argon2')
    const resourceLimits = { maxOldGenerationSizeMb: 16, maxYoungGenerationSizeMb: 4 }
    // without the loaders and the environment of the process
    const thread = new Worker(PROGRAM, {
      eval: true,
      workerData: { module: library, cost: { memoryCost: this.cost.memory, timeCost: this.cost.passes } },
      execArgv: [],
      env: {},
      resourceLimits,
    })
    thread.unref()
    this.#all.add(thread)
    thread.on('error', () => undefined) // its task fails on the exit event
    thread.on('exit', () => {
      this.#all.delete(thread)
      const at = this.#idle.indexOf(thread)
      if (at >= 0) this.#idle.splice(at, 1)
    })
    return thread
  }
}
