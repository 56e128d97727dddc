import { unavailableIn } from '../lib/unavailable.js'

export interface HintsOptions {
  onFault(fault: unknown, name: string): void
  /** Called when work will be tried again after `wait` milliseconds. */
  onRetry?(fault: unknown, name: string, wait: number): void
}

/** How many hints run at once. */
const RUNNING = 4
/** Milliseconds before work is tried again: twice as long each time, up to the longest. */
const FIRST_WAIT = 500
const LONGEST_WAIT = 30_000

interface Hint {
  name: string
  work: () => Promise<void>
  /** How often it has been tried. */
  tried: number
}

/** The hints of one key of `coalesce`. */
interface Coalesced {
  /** What runs next: the newest hint that has not begun. */
  next?: (Hint & { gap: number }) | undefined
  /** It is running, or waiting for a free place. */
  queued: boolean
  /** Runs until the next start is allowed. */
  timer?: NodeJS.Timeout | undefined
}

/**
 * Work of this process after a call, a few pieces at once, oldest first. A hint is lost with the process: what must be
 * done is a job of the durable queue, or is found again by one.
 */
export class Hints {
  readonly #waiting: Hint[] = []
  readonly #running = new Set<Promise<void>>()
  /** What has failed, and the timer of its next attempt. */
  readonly #delayed = new Map<Hint, NodeJS.Timeout>()
  readonly #coalesced = new Map<string, Coalesced>()
  #draining = 0

  constructor(readonly options: HintsOptions) {}

  /**
   * Runs `work` soon and, where something it needs is unavailable, again until it succeeds. Any other failure is
   * reported, never thrown.
   */
  add(name: string, work: () => Promise<void>): void {
    this.#enqueue({ name, work, tried: 0 })
  }

  /**
   * Runs `work` once for all calls with this key: never twice at a time, and with at least `gap` milliseconds between
   * two starts. Calls while it runs cause another run afterwards.
   */
  coalesce(key: string, gap: number, name: string, work: () => Promise<void>): void {
    const state = this.#coalesced.get(key) ?? { queued: false }
    state.next = { name, gap, work, tried: 0 }
    this.#coalesced.set(key, state)
    if (!state.queued && !state.timer) this.#runNext(key, state)
  }

  /**
   * Resolves when nothing is running or waiting any more; what waits for its gap or for another attempt is run at once,
   * and is not tried again.
   */
  async drain(): Promise<void> {
    this.#draining++
    try {
      do {
        for (const [key, state] of this.#coalesced) if (state.timer) this.#runNext(key, state)
        for (const hint of [...this.#delayed.keys()]) this.#resume(hint)
        await Promise.all(this.#running)
      } while (this.#running.size > 0 || this.#delayed.size > 0 || [...this.#coalesced.values()].some(({ next }) => next))
    } finally {
      this.#draining--
    }
  }

  #enqueue(hint: Hint): void {
    this.#waiting.push(hint)
    this.#startWaiting()
  }

  #startWaiting(): void {
    while (this.#running.size < RUNNING) {
      const hint = this.#waiting.shift()
      if (!hint) return
      const run: Promise<void> = Promise.resolve()
        .then(hint.work)
        .catch((fault: unknown) => this.#failed(hint, fault))
        .finally(() => {
          this.#running.delete(run)
          this.#startWaiting()
        })
      this.#running.add(run)
    }
  }

  #failed(hint: Hint, fault: unknown): void {
    const wait = this.#retryAfter(hint, fault)
    if (wait === undefined) {
      this.options.onFault(fault, hint.name)
      return
    }
    const again = { ...hint, tried: hint.tried + 1 }
    this.#delayed.set(again, setTimeout(() => this.#resume(again), wait).unref())
  }

  /** Milliseconds until failed work is tried again; undefined: it is not. */
  #retryAfter({ name, tried }: Hint, fault: unknown): number | undefined {
    if (!unavailableIn(fault)?.passing || this.#draining > 0) return undefined
    const wait = Math.min(FIRST_WAIT * 2 ** tried, LONGEST_WAIT)
    this.options.onRetry?.(fault, name, wait)
    return wait
  }

  /** Tries failed work again, whether or not its wait is over. */
  #resume(hint: Hint): void {
    clearTimeout(this.#delayed.get(hint))
    this.#delayed.delete(hint)
    this.#enqueue(hint)
  }

  /** The gap of a key is over: its next hint is run, or the key is forgotten. */
  #runNext(key: string, state: Coalesced): void {
    clearTimeout(state.timer)
    state.timer = undefined
    const hint = state.next
    if (!hint) return void this.#coalesced.delete(key)
    state.next = undefined
    state.queued = true
    this.#enqueue({ name: hint.name, work: () => this.#runCoalesced(key, state, hint), tried: 0 })
  }

  /** Runs the hint of a key, and starts the timer of the next one. */
  async #runCoalesced(key: string, state: Coalesced, hint: Hint & { gap: number }): Promise<void> {
    const started = Date.now()
    let wait = 0
    try {
      await hint.work()
    } catch (fault) {
      const again = this.#retryAfter(hint, fault)
      if (again === undefined) throw fault
      wait = again
      state.next ??= { ...hint, tried: hint.tried + 1 }
    } finally {
      state.queued = false
      state.timer = setTimeout(() => this.#runNext(key, state), Math.max(wait, started + hint.gap - Date.now()))
      state.timer.unref()
    }
  }
}
