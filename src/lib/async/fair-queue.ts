import { Unavailable } from '../unavailable.js'

export interface QueueLimits {
  /** Pieces of work at a time. */
  running: number
  /** Callers that may wait. */
  waiting: number
  /** Milliseconds a caller may wait. */
  wait: number
  /** The messages for a caller that waited too long, or found too many waiting. */
  refusals: { late: string; full: string }
}

/** One of those among whom turns are shared, such as a user or a repository. */
export interface Claim {
  key: string
  running: number
  waiting: number
}

export interface Claims {
  /** The holder of the turn: the one with the fewest turns is next. */
  holder?: Claim | undefined
  /** Others whose limits count as well. */
  also?: Claim[]
}

/** Turns that one claim has taken or waits for. */
interface Share extends Claim {
  taken: number
  queued: number
  /** When the last turn was taken, counted in turns of the queue. */
  served: number
}

interface Waiting {
  holder: Share | undefined
  isFree: () => boolean
  start: () => void
  refuse: (reason: unknown) => void
}

/**
 * Limits pieces of work, in all and for each claim. Turns go to the holder with the fewest, so that a flood by one does
 * not delay others (SEC-180).
 */
export class FairQueue {
  #running = 0
  #turns = 0
  #waiting: Waiting[] = []
  readonly #shares = new Map<string, Share>()
  #closed: Unavailable | undefined

  constructor(readonly limits: QueueLimits) {}

  /**
   * Waits for a turn and returns the function that ends it, which may be called more than once. Throws Unavailable when
   * too many wait or the wait was too long, and the signal's reason.
   */
  acquire({ holder, also = [] }: Claims, signal?: AbortSignal): Promise<() => void> {
    if (this.#closed) return Promise.reject(this.#closed)
    if (signal?.aborted) return Promise.reject(signal.reason)
    const { running, waiting, wait, refusals } = this.limits
    const held = holder && this.#share(holder)
    const shares = [...also.map((claim) => this.#share(claim)), ...(held ? [held] : [])]
    const isFree = () => this.#running < running && shares.every((share) => share.taken < share.running)
    const start = () => {
      this.#running++
      for (const share of shares) {
        share.taken++
        share.served = ++this.#turns
      }
      let released = false
      return () => {
        if (released) return
        released = true
        this.#running--
        for (const share of shares) share.taken--
        this.#next()
        this.#forget(shares)
      }
    }
    if (isFree()) return Promise.resolve(start())
    if (this.#waiting.length >= waiting || shares.some((share) => share.queued >= share.waiting)) {
      this.#forget(shares)
      return Promise.reject(new Unavailable(refusals.full))
    }
    for (const share of shares) share.queued++
    return new Promise((resolve, reject) => {
      const settle = () => {
        clearTimeout(timer)
        signal?.removeEventListener('abort', onAbort)
        for (const share of shares) share.queued--
      }
      const turn: Waiting = {
        holder: held,
        isFree,
        start: () => {
          settle()
          resolve(start())
        },
        refuse: (reason) => {
          this.#waiting = this.#waiting.filter((other) => other !== turn)
          settle()
          this.#forget(shares)
          reject(reason)
        },
      }
      const onAbort = () => turn.refuse(signal?.reason)
      const timer = setTimeout(() => turn.refuse(new Unavailable(refusals.late)), wait)
      signal?.addEventListener('abort', onAbort, { once: true })
      this.#waiting.push(turn)
    })
  }

  /** Refuses all callers from now on, those waiting included. */
  close(reason: Unavailable): void {
    this.#closed = reason
    for (const turn of [...this.#waiting]) turn.refuse(reason)
  }

  #share(claim: Claim): Share {
    const share = this.#shares.get(claim.key) ?? { ...claim, taken: 0, queued: 0, served: 0 }
    this.#shares.set(claim.key, share)
    return share
  }

  #forget(shares: Share[]): void {
    for (const { key, taken, queued } of shares) if (taken === 0 && queued === 0) this.#shares.delete(key)
  }

  #next(): void {
    while (this.#running < this.limits.running) {
      let best: Waiting | undefined
      for (const turn of this.#waiting) if (turn.isFree() && (!best || comesBefore(turn, best))) best = turn
      if (!best) return
      const chosen = best
      this.#waiting = this.#waiting.filter((turn) => turn !== chosen)
      chosen.start()
    }
  }
}

/**
 * The holder with the fewest turns first, and among equals the one whose last turn is longest ago; within one holder,
 * or without one, first come first served.
 */
function comesBefore({ holder: a }: Waiting, { holder: b }: Waiting): boolean {
  if (a === b) return false
  const [taken, served] = [(a?.taken ?? 0) - (b?.taken ?? 0), (a?.served ?? 0) - (b?.served ?? 0)]
  return taken < 0 || (taken === 0 && served < 0)
}
