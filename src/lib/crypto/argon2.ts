import { createRequire } from 'node:module'
import { Worker } from 'node:worker_threads'
import { shareOf } from '../share.js'
import { Unavailable } from '../unavailable.js'

/** Passwords that are hashed at a time. */
const THREADS = 2
/** Passwords that may wait to be verified, and for how many milliseconds. */
const WAITING = 32
const PATIENCE = 5_000
const RETRY_AFTER = 5

type Task = { password: string; stored?: string }

export interface Argon2Cost {
  /** KiB. */
  memory: number
  passes: number
}
type Reply = { value: string | boolean } | { error: string }

/** What is done in the turn of a verification: other guesses begin before or after it. */
export interface Turn {
  /** Right before the work begins, which can be long after the call; if it throws, nothing is verified. */
  begin?(): Promise<void>
  end?(matches: boolean): Promise<void>
}

interface Waiting {
  task: Task
  turn: Turn
  resolve(value: string | boolean): void
  reject(error: unknown): void
  timer: NodeJS.Timeout | undefined
}

/** The program of a thread. On Linux a priority is that of the calling thread: requests and Postgres go first. */
const PROGRAM = `
const { parentPort, workerData } = require('node:worker_threads')
if (process.platform === 'linux') require('node:os').setPriority(10)
const { hashSync, verifySync } = require(workerData.module)
parentPort.on('message', ({ password, stored }) => {
  try {
    parentPort.postMessage({ value: stored === undefined ? hashSync(password, workerData.cost) : verifySync(stored, password) })
  } catch (error) {
    parentPort.postMessage({ error: String(error) })
  }
})`

/**
 * argon2id in threads of its own: those of libuv also read all files, and a flood of passwords would keep them from
 * that.
 */
export class Argon2 {
  readonly #idle: Worker[] = []
  readonly #all = new Set<Worker>()
  readonly #waiting: Waiting[] = []
  #closed = false
  readonly #most: { threads: number; waiting: number }
  /** The hash of a password that nobody knows, at the cost of all others. */
  readonly decoy: string

  /** `processes`: those that share the bounds of this machine. */
  constructor(
    readonly cost: Argon2Cost,
    processes = 1,
  ) {
    this.#most = { threads: shareOf(THREADS, processes), waiting: shareOf(WAITING, processes) }
    this.decoy = `$argon2id$v=19$m=${cost.memory},t=${cost.passes},p=1$Yw6VHd7XuLk2sSMiF2qpqQ$LJ/ukHO0PkCuoEOQtMSf5kmMMxShoNevRM5dD6kNC9Q`
  }

  /** For callers who may set a password: waits as long as it takes. */
  async hash(password: string): Promise<string> {
    return (await this.#ask({ password })) as string
  }

  /**
   * For anybody: Unavailable where too many wait, or for too long.
   */
  async verify(stored: string, password: string, turn?: Turn): Promise<boolean> {
    return (await this.#ask({ password, stored }, turn)) as boolean
  }

  async close(): Promise<void> {
    this.#closed = true
    for (const { reject, timer } of this.#waiting.splice(0)) {
      clearTimeout(timer)
      reject(new Unavailable('the service is stopping'))
    }
    await Promise.all([...this.#all].map((thread) => thread.terminate()))
  }

  #ask(task: Task, turn: Turn = {}): Promise<string | boolean> {
    return new Promise((resolve, reject) => {
      const refuse = () => reject(new Unavailable('too many passwords are being checked', RETRY_AFTER))
      const verifies = task.stored !== undefined
      if (this.#closed || (verifies && this.#waiting.length >= this.#most.waiting)) return refuse()
      const waiting: Waiting = { task, turn, resolve, reject, timer: undefined }
      const giveUp = () => {
        this.#waiting.splice(this.#waiting.indexOf(waiting), 1)
        refuse()
      }
      if (verifies) waiting.timer = setTimeout(giveUp, PATIENCE)
      this.#waiting.push(waiting)
      this.#next()
    })
  }

  #next(): void {
    while (this.#waiting.length > 0) {
      const thread = this.#idle.pop() ?? (this.#all.size < this.#most.threads ? this.#start() : undefined)
      if (!thread) return
      void this.#run(thread, this.#waiting.shift() as Waiting)
    }
  }

  async #run(thread: Worker, { task, turn, resolve, reject, timer }: Waiting): Promise<void> {
    clearTimeout(timer)
    try {
      await turn.begin?.()
      const value = await this.#answer(thread, task)
      if (typeof value === 'boolean') await turn.end?.(value)
      resolve(value)
    } catch (error) {
      reject(error)
    }
    if (this.#all.has(thread)) this.#idle.push(thread)
    this.#next()
  }

  #answer(thread: Worker, task: Task): Promise<string | boolean> {
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
    // it inherits nothing from the process: neither its loaders nor its environment
    const thread = new Worker(PROGRAM, {
      eval: true,
      workerData: { module: library, cost: { memoryCost: this.cost.memory, timeCost: this.cost.passes } },
      execArgv: [],
      env: {},
      resourceLimits,
    })
    thread.unref()
    this.#all.add(thread)
    thread.on('error', () => undefined) // its work notices that by its end
    thread.on('exit', () => {
      this.#all.delete(thread)
      const at = this.#idle.indexOf(thread)
      if (at >= 0) this.#idle.splice(at, 1)
    })
    return thread
  }
}
