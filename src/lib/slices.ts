/** Milliseconds that all slices together may take in one turn of the event loop. */
const SHARE = 5

/** Long work of any number of callers in short pieces: once their pieces have used up their share of a turn of the event loop, the next ones wait for the next turn (SEC-145). */
export class Slices {
  #used = 0
  #turn: Promise<void> | undefined

  /** Does a piece of work, now or in a later turn; a piece should take a few milliseconds at most. */
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
}
