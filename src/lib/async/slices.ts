/** Milliseconds that all slices together may take in one turn of the event loop. */
const SHARE = 5

/**
 * Runs long work of any number of callers in short pieces: once the pieces have used their share of a turn of the event
 * loop, the next ones wait for the next turn (SEC-145).
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
}

/** Work that can pause wherever it yields. */
export type Steps<T> = Generator<undefined, T, undefined>

const steps = new Slices()

/** Runs work in steps, a few of them in one turn of the event loop; work that yields nowhere runs at once. */
export async function stepwise<T>(work: () => Steps<T>): Promise<T> {
  const running = work()
  for (let step = running.next(); ; step = await steps.run(() => running.next())) if (step.done) return step.value
}
