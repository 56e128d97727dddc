/** Milliseconds that all sliced work together may take in one tick of the event loop. */
const BUDGET_MS = 1
/** After pieces of a tick that took longer, other calls have the event loop for as long (WB-370). */
const LONG_MS = 3

/** Work that can pause wherever it yields. */
export type Steps<T> = Generator<undefined, T, undefined>

/**
 * Runs long computations of any number of callers in short pieces: once the pieces of a tick have used up its time
 * budget, the next piece waits for the next tick (SEC-145). Each process has one instance, which all its work shares.
 */
export class Slices {
  #used = 0
  #turn: Promise<void> | undefined

  /** Runs a piece of work, now or in a later tick; a piece should take a few milliseconds at most. */
  async run<T>(work: () => T): Promise<T> {
    while (this.#used >= BUDGET_MS) await this.#turn
    this.#turn ??= new Promise((resolve) => {
      const end = () => {
        this.#used = 0
        this.#turn = undefined
        resolve()
      }
      setImmediate(() => (this.#used > LONG_MS ? setTimeout(end, this.#used) : end()))
    })
    const begin = performance.now()
    try {
      return work()
    } finally {
      this.#used += performance.now() - begin
    }
  }

  /** Runs work step by step; work that never yields runs at once. */
  async steps<T>(work: () => Steps<T>): Promise<T> {
    const running = work()
    for (let step = running.next(); ; step = await this.run(() => running.next())) if (step.done) return step.value
  }
}
