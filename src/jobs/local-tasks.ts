import { unavailableIn } from '../lib/unavailable.js'

export interface LocalTasksOptions {
  onFault(fault: unknown, name: string): void
  /** Called when a task will be retried after `wait` milliseconds. */
  onRetry?(fault: unknown, name: string, wait: number): void
}

/** Tasks that run at the same time. */
const MAX_RUNNING = 4
/** Milliseconds before a retry; doubled each time, up to the maximum. */
const FIRST_RETRY_MS = 500
const MAX_RETRY_MS = 30_000

interface LocalTask {
  name: string
  work: () => Promise<void>
  /** Attempts made so far. */
  attempts: number
}

/** The tasks of one key of `coalesce`. */
interface CoalescedTasks {
  /** The newest task that has not started. */
  next?: (LocalTask & { gap: number }) | undefined
  /** A task of this key is running, or waiting for a free slot. */
  queued: boolean
  /** Set until the next start is allowed. */
  timer?: NodeJS.Timeout | undefined
}

/**
 * Background tasks of this process, a few at once, oldest first. They are lost when the process ends: work that must be
 * done is a job of the durable queue, or is found again by one.
 */
export class LocalTasks {
  readonly #waiting: LocalTask[] = []
  readonly #running = new Set<Promise<void>>()
  /** Failed tasks, with the timer of the next attempt. */
  readonly #delayed = new Map<LocalTask, NodeJS.Timeout>()
  readonly #coalesced = new Map<string, CoalescedTasks>()
  #draining = 0

  constructor(readonly options: LocalTasksOptions) {}

  /**
   * Runs `work` soon. While something it needs is unavailable it is retried until it succeeds; any other failure is
   * reported to `onFault`, never thrown.
   */
  add(name: string, work: () => Promise<void>): void {
    this.#enqueue({ name, work, attempts: 0 })
  }

  /**
   * Runs `work` once for all calls with this key: never twice at the same time, and with at least `gap` milliseconds
   * between two starts. A call during a run causes another run afterwards.
   */
  coalesce(key: string, gap: number, name: string, work: () => Promise<void>): void {
    const state = this.#coalesced.get(key) ?? { queued: false }
    state.next = { name, gap, work, attempts: 0 }
    this.#coalesced.set(key, state)
    if (!state.queued && !state.timer) this.#runNext(key, state)
  }

  /**
   * Resolves when no task is running or waiting. Tasks that wait for their gap or for a retry run at once, and are not
   * retried.
   */
  async drain(): Promise<void> {
    this.#draining++
    try {
      do {
        for (const [key, state] of this.#coalesced) if (state.timer) this.#runNext(key, state)
        for (const task of [...this.#delayed.keys()]) this.#resume(task)
        await Promise.all(this.#running)
      } while (this.#running.size > 0 || this.#delayed.size > 0 || [...this.#coalesced.values()].some(({ next }) => next))
    } finally {
      this.#draining--
    }
  }

  #enqueue(task: LocalTask): void {
    this.#waiting.push(task)
    this.#startWaiting()
  }

  #startWaiting(): void {
    while (this.#running.size < MAX_RUNNING) {
      const task = this.#waiting.shift()
      if (!task) return
      const run: Promise<void> = Promise.resolve()
        .then(task.work)
        .catch((fault: unknown) => this.#failed(task, fault))
        .finally(() => {
          this.#running.delete(run)
          this.#startWaiting()
        })
      this.#running.add(run)
    }
  }

  #failed(task: LocalTask, fault: unknown): void {
    const wait = this.#retryAfter(task, fault)
    if (wait === undefined) {
      this.options.onFault(fault, task.name)
      return
    }
    const retry = { ...task, attempts: task.attempts + 1 }
    this.#delayed.set(retry, setTimeout(() => this.#resume(retry), wait).unref())
  }

  /** Milliseconds until a failed task is retried; undefined if it is not. */
  #retryAfter({ name, attempts }: LocalTask, fault: unknown): number | undefined {
    if (!unavailableIn(fault)?.transient || this.#draining > 0) return undefined
    const wait = Math.min(FIRST_RETRY_MS * 2 ** attempts, MAX_RETRY_MS)
    this.options.onRetry?.(fault, name, wait)
    return wait
  }

  /** Retries a failed task, whether or not its wait is over. */
  #resume(task: LocalTask): void {
    clearTimeout(this.#delayed.get(task))
    this.#delayed.delete(task)
    this.#enqueue(task)
  }

  /** Called when the gap of a key is over: runs its next task, or forgets the key. */
  #runNext(key: string, state: CoalescedTasks): void {
    clearTimeout(state.timer)
    state.timer = undefined
    const task = state.next
    if (!task) return void this.#coalesced.delete(key)
    state.next = undefined
    state.queued = true
    this.#enqueue({ name: task.name, work: () => this.#runCoalesced(key, state, task), attempts: 0 })
  }

  /** Runs the task of a key and starts the timer of the next one. */
  async #runCoalesced(key: string, state: CoalescedTasks, task: LocalTask & { gap: number }): Promise<void> {
    const started = Date.now()
    let wait = 0
    try {
      await task.work()
    } catch (fault) {
      const retry = this.#retryAfter(task, fault)
      if (retry === undefined) throw fault
      wait = retry
      state.next ??= { ...task, attempts: task.attempts + 1 }
    } finally {
      state.queued = false
      state.timer = setTimeout(() => this.#runNext(key, state), Math.max(wait, started + task.gap - Date.now()))
      state.timer.unref()
    }
  }
}
