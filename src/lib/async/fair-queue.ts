import { Unavailable } from '../unavailable.js'

export interface QueueLimits {
  /** Calls that may run at a time. */
  running: number
  /** Calls that may wait. */
  waiting: number
  /** Milliseconds that a call may wait. */
  wait: number
  /** Error messages for a call that waited too long, and for one that found the queue full. */
  refusals: { timeout: string; full: string }
}

/** A key with limits of its own, such as a user or a repository. */
export interface QueueKey {
  key: string
  running: number
  waiting: number
}

export interface QueueKeys {
  /** The key among which slots are shared fairly: the one with the fewest slots is next. */
  holder?: QueueKey | undefined
  /** Further keys whose limits apply. */
  others?: QueueKey[]
}

/** The slots of one key, and its waiting calls. */
interface KeyState extends QueueKey {
  active: number
  queued: number
  /** When it last got a slot, as a count of slots given by the queue. */
  lastServed: number
}

interface Waiting {
  holder: KeyState | undefined
  isFree: () => boolean
  start: () => void
  refuse: (reason: unknown) => void
}

/**
 * Limits concurrent calls, in total and per key. Slots go to the holder that has the fewest, so that a flood of calls
 * by one holder does not delay others (SEC-180).
 */
export class FairQueue {
  #running = 0
  #granted = 0
  #waiting: Waiting[] = []
  readonly #states = new Map<string, KeyState>()
  #closed: Unavailable | undefined

  constructor(readonly limits: QueueLimits) {}

  /**
   * Waits for a slot and returns the function that releases it, which may be called more than once. Throws Unavailable
   * when too many calls wait or the wait was too long, and the reason of the signal when it is aborted.
   */
  acquire({ holder, others = [] }: QueueKeys, signal?: AbortSignal): Promise<() => void> {
    if (this.#closed) return Promise.reject(this.#closed)
    if (signal?.aborted) return Promise.reject(signal.reason)
    const { running, waiting, wait, refusals } = this.limits
    const holderState = holder && this.#stateOf(holder)
    const keyStates = [...others.map((queueKey) => this.#stateOf(queueKey)), ...(holderState ? [holderState] : [])]
    const isFree = () => this.#running < running && keyStates.every((state) => state.active < state.running)
    const start = () => {
      this.#running++
      for (const state of keyStates) {
        state.active++
        state.lastServed = ++this.#granted
      }
      let released = false
      return () => {
        if (released) return
        released = true
        this.#running--
        for (const state of keyStates) state.active--
        this.#next()
        this.#forget(keyStates)
      }
    }
    if (isFree()) return Promise.resolve(start())
    if (this.#waiting.length >= waiting || keyStates.some((state) => state.queued >= state.waiting)) {
      this.#forget(keyStates)
      return Promise.reject(new Unavailable(refusals.full))
    }
    for (const state of keyStates) state.queued++
    return new Promise((resolve, reject) => {
      const dequeue = () => {
        clearTimeout(timer)
        signal?.removeEventListener('abort', onAbort)
        for (const state of keyStates) state.queued--
      }
      const entry: Waiting = {
        holder: holderState,
        isFree,
        start: () => {
          dequeue()
          resolve(start())
        },
        refuse: (reason) => {
          this.#waiting = this.#waiting.filter((other) => other !== entry)
          dequeue()
          this.#forget(keyStates)
          reject(reason)
        },
      }
      const onAbort = () => entry.refuse(signal?.reason)
      const timer = setTimeout(() => entry.refuse(new Unavailable(refusals.timeout)), wait)
      signal?.addEventListener('abort', onAbort, { once: true })
      this.#waiting.push(entry)
    })
  }

  /** Refuses all calls from now on, including waiting ones. */
  close(reason: Unavailable): void {
    this.#closed = reason
    for (const entry of [...this.#waiting]) entry.refuse(reason)
  }

  #stateOf(queueKey: QueueKey): KeyState {
    const state = this.#states.get(queueKey.key) ?? { ...queueKey, active: 0, queued: 0, lastServed: 0 }
    this.#states.set(queueKey.key, state)
    return state
  }

  #forget(keyStates: KeyState[]): void {
    for (const { key, active, queued } of keyStates) if (active === 0 && queued === 0) this.#states.delete(key)
  }

  #next(): void {
    while (this.#running < this.limits.running) {
      let best: Waiting | undefined
      for (const entry of this.#waiting) if (entry.isFree() && (!best || precedes(entry, best))) best = entry
      if (!best) return
      const chosen = best
      this.#waiting = this.#waiting.filter((entry) => entry !== chosen)
      chosen.start()
    }
  }
}

/**
 * The holder with the fewest slots first; among equals the one that has waited longest since its last slot; within one
 * holder, or without one, first come, first served.
 */
function precedes({ holder: a }: Waiting, { holder: b }: Waiting): boolean {
  if (a === b) return false
  const [active, lastServed] = [(a?.active ?? 0) - (b?.active ?? 0), (a?.lastServed ?? 0) - (b?.lastServed ?? 0)]
  return active < 0 || (active === 0 && lastServed < 0)
}
