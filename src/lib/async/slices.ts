/** Milliseconds that all sliced work together may take in one turn of the event loop. */
const SHARE = 1

/** Work that can pause wherever it yields. */
export type Steps<T> = Generator<undefined, T, undefined>

/**
 * Runs long work of any number of callers in short pieces: once the pieces have used their share of a turn of the event
 * loop, the next ones wait for the next turn (SEC-145). A process has one, so that the share is one for all its work.
 */
export class Slices {
  #used = 0
  #turn: Promise<void> | undefined

  /** Runs a piece of work, now or in a later turn; a piece should take a few milliseconds at most. */
  async run<T>(work: () => T): Promise<T> {
    while (this.#used >= SHARE) await this.#turn
    this.#turn ??= new Promise((resolve) => {
      setImmediate(() => {
        this.#used = 0
        this.#turn = undefined
        resolve()
      })
    })
    const begin = performance.now()
    try {
      return work()
    } finally {
      this.#used += performance.now() - begin
    }
  }

  /** Runs work step by step; work that yields nowhere runs at once. */
  async steps<T>(work: () => Steps<T>): Promise<T> {
    const running = work()
    for (let step = running.next(); ; step = await this.run(() => running.next())) if (step.done) return step.value
  }
}
