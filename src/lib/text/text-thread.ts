import { readFileSync } from 'node:fs'
import { Worker } from 'node:worker_threads'
import { LRUCache } from 'lru-cache'
import { FairQueue } from '../async/fair-queue.js'
import { currentHolder } from '../async/holder.js'
import { Unavailable } from '../unavailable.js'

/** HTML that is kept, in characters: the mails about one event follow each other. */
const MAX_KEPT_CHARACTERS = 2_000_000
/** Texts that took too much, by their key of 32 bytes. */
const MAX_REMEMBERED = 20_000
/** Texts that may wait, in all and of one caller. */
const [MAX_WAITING, MAX_WAITING_OF_CALLER] = [256, 64]
/**
 * How long the thread stays without work, and how long it may take to load or to end, in milliseconds. A new one takes
 * four times as long for its first texts, so it stays for who reads one and opens the next.
 */
const IDLE_TIMEOUT_MS = 120_000
const LOAD_TIMEOUT_MS = 30_000
const END_TIMEOUT_MS = 10_000
/** A text has its budget in time of the processor; where the cores are busy, so many times as long by the clock. */
const PATIENCE = 10
/** A caller whose text took too much has no turn for so many times as long. */
const REST = 9

/** Limits in milliseconds. */
export interface TextLimits {
  /** Time of the processor for one text, from when the thread begins it. */
  budget: number
  /** How long a text may wait for the thread. */
  wait: number
  load?: number
  /** How long the thread stays without work. */
  idle?: number
}

/** `done`: rendered; `ended`: it took too much; `late`: the cores were busy; `refused`: too many waited, or too long. */
export type TextResult = 'done' | 'ended' | 'late' | 'refused'

type Outcome = { html: string } | Exclude<TextResult, 'done' | 'refused'>

interface RunningThread {
  worker: Worker
  /** Milliseconds that it has been running on a core. */
  cpuTime(): number
}

/**
 * A thread that makes HTML of texts, one at a time. A text that takes more than its budget is ended alone, and
 * remembered; others wait here, not in the thread, with a turn for each caller (SEC-276).
 */
export class TextThread<Task extends object> {
  readonly #kept = new LRUCache<string, string>({ maxSize: MAX_KEPT_CHARACTERS, sizeCalculation: (html, key) => html.length + key.length + 1 })
  readonly #tooMuch = new LRUCache<string, true>({ max: MAX_REMEMBERED })
  readonly #rendering = new Map<string, Promise<string | null>>()
  /** One text of each caller is waiting for the thread, and the others of this caller for that one. */
  readonly #callers: FairQueue
  readonly #turns: FairQueue
  #thread: Promise<RunningThread> | undefined
  #worker: Worker | undefined
  #idle: NodeJS.Timeout | undefined
  #failsToStart = false
  /** Threads that were told to end and go on. */
  #stuck = 0
  #isClosed = false

  /** `program` is the bundle of its code; `onResult` gets how each text ended that was not kept or remembered. */
  constructor(
    private readonly program: URL,
    private readonly limits: TextLimits,
    private readonly onResult: (result: TextResult) => void = () => {},
  ) {
    const { wait } = limits
    const refusals = { timeout: 'a text waited too long to be rendered', full: 'too many texts wait to be rendered' }
    this.#callers = new FairQueue({ running: Number.POSITIVE_INFINITY, waiting: MAX_WAITING, wait, refusals })
    this.#turns = new FairQueue({ running: 1, waiting: MAX_WAITING, wait, refusals })
  }

  /**
   * The HTML of a task, whose key says what it is made of; null if it takes too much, or there is no turn for it in time.
   * It is made once for all who ask for it within a short time. A text that took too much is remembered by the key of
   * `text`, where several tasks are about one.
   */
  async html(key: string, task: Task, text = key): Promise<string | null> {
    const kept = this.#find(key, text)
    if (kept !== undefined) return kept
    // everybody waits for their own turn: the text of one who has many waiting may be long in coming
    const holder = currentHolder()
    const own = `${holder} ${key}`
    const known = this.#rendering.get(own)
    if (known) return known
    const rendering = this.#inTurn({ key, text }, task, holder).finally(() => this.#rendering.delete(own))
    this.#rendering.set(own, rendering)
    return rendering
  }

  /** Starts the thread, for a text that is about to come. */
  prepare(): void {
    if (this.#thread || this.#isClosed) return
    // a text that comes says why there is none
    this.#started().then(
      ({ worker }) => this.#endWhenIdle(worker),
      () => undefined,
    )
  }

  /** Whether a text was ended for what it took, and is not begun again. */
  tookTooMuch = (text: string): boolean => this.#tooMuch.has(text)

  /** Whether the thread can be used (VE-3). One that could not be started is tried again. */
  get isHealthy(): boolean {
    if (this.#failsToStart && !this.#isClosed) void this.#started().catch(() => undefined)
    return !this.#failsToStart && this.#stuck === 0
  }

  async close(): Promise<void> {
    this.#isClosed = true
    clearTimeout(this.#idle)
    const reason = new Unavailable('the service is stopping')
    this.#callers.close(reason)
    this.#turns.close(reason)
    await (await this.#thread?.catch(() => undefined))?.worker.terminate()
  }

  #find(key: string, text: string): string | null | undefined {
    return this.#tooMuch.get(text) ? null : this.#kept.get(key)
  }

  async #inTurn({ key, text }: { key: string; text: string }, task: Task, holder: string | undefined): Promise<string | null> {
    let [leave, rest] = [() => {}, 0]
    try {
      if (holder !== undefined) leave = await this.#callers.acquire({ holder: { key: holder, running: 1, waiting: MAX_WAITING_OF_CALLER } })
      const release = await this.#turns.acquire({})
      try {
        const found = this.#find(key, text)
        if (found !== undefined) return found
        const began = performance.now()
        const outcome = await this.#render(task)
        this.onResult(typeof outcome === 'string' ? outcome : 'done')
        if (outcome === 'ended') {
          this.#tooMuch.set(text, true)
          rest = REST * (performance.now() - began)
        }
        if (typeof outcome === 'string') return null
        this.#kept.set(key, outcome.html)
        return outcome.html
      } finally {
        release()
      }
    } catch (error) {
      if (!(error instanceof Unavailable)) throw error
      this.onResult('refused')
      return null
    } finally {
      if (rest > 0) setTimeout(leave, rest).unref()
      else leave()
    }
  }

  async #render(task: Task): Promise<Outcome> {
    const { worker, cpuTime } = await this.#started()
    clearTimeout(this.#idle)
    const { budget } = this.limits
    const [from, began] = [cpuTime(), performance.now()]
    let timer: NodeJS.Timeout | undefined
    let onExit = () => {}
    const outcome = await new Promise<Outcome>((resolve) => {
      onExit = () => resolve('ended')
      const check = () => {
        const left = budget - (cpuTime() - from)
        if (left <= 0) resolve('ended')
        else if (performance.now() - began > PATIENCE * budget) resolve('late')
        else timer = setTimeout(check, Math.max(left, 10))
      }
      worker.once('message', resolve)
      worker.once('exit', onExit)
      worker.postMessage(task)
      timer = setTimeout(check, budget)
    })
    clearTimeout(timer)
    worker.removeAllListeners('message').off('exit', onExit)
    if (typeof outcome === 'string') await this.#end(worker)
    else this.#endWhenIdle(worker)
    return outcome
  }

  #endWhenIdle(worker: Worker): void {
    clearTimeout(this.#idle)
    this.#idle = setTimeout(() => void this.#end(worker), this.limits.idle ?? IDLE_TIMEOUT_MS).unref()
  }

  #started(): Promise<RunningThread> {
    if (this.#isClosed) return Promise.reject(new Unavailable('the service is stopping'))
    this.#thread ??= this.#start()
    return this.#thread
  }

  /** A thread begins with the message that it has loaded, with its id at the system. */
  async #start(): Promise<RunningThread> {
    // without the loaders and the environment of the process
    const worker = new Worker(this.program, { execArgv: [], env: {}, resourceLimits: { maxOldGenerationSizeMb: 192, maxYoungGenerationSizeMb: 16 } })
    worker.unref()
    worker.on('error', () => undefined) // the exit event follows
    const id = await within(this.limits.load ?? LOAD_TIMEOUT_MS, (resolve: (id: number | null) => void) => {
      worker.once('message', (started: { thread: number }) => resolve(started.thread))
      worker.once('exit', () => resolve(null))
    })
    this.#failsToStart = id === null
    if (id === null) {
      await this.#end(worker)
      throw new Unavailable('the thread that renders texts cannot be started')
    }
    worker.once('exit', () => {
      if (this.#worker === worker) this.#thread = undefined
    })
    this.#worker = worker
    return { worker, cpuTime: () => cpuTimeOf(id) ?? performance.now() }
  }

  async #end(worker: Worker): Promise<void> {
    this.#thread = undefined
    const ended = worker.terminate()
    if ((await within(END_TIMEOUT_MS, (resolve: (code: number | null) => void) => void ended.then(resolve))) !== null) return
    this.#stuck++
    void ended.then(() => this.#stuck--)
  }
}

/** What the work resolves with; null if it takes longer. */
async function within<T>(milliseconds: number, work: (resolve: (value: T | null) => void) => void): Promise<T | null> {
  let timer: NodeJS.Timeout | undefined
  const value = await new Promise<T | null>((resolve) => {
    timer = setTimeout(() => resolve(null), milliseconds)
    work(resolve)
  })
  clearTimeout(timer)
  return value
}

/** Milliseconds that a thread of this process has been running on a core; null if the system does not say. */
function cpuTimeOf(id: number): number | null {
  try {
    return Number(readFileSync(`/proc/self/task/${id}/schedstat`, 'latin1').split(' ', 1)[0]) / 1e6
  } catch {
    return null
  }
}
