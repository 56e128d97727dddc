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

/** Work that can pause wherever it says `yield`. */
export type Steps<T> = Generator<undefined, T, undefined>

const steps = new Slices()

/** Does work in steps, of which the event loop does a few at a time; what pauses nowhere is done at once. */
export async function stepwise<T>(work: () => Steps<T>): Promise<T> {
  const running = work()
  for (let step = running.next(); ; step = await steps.run(() => running.next())) if (step.done) return step.value
}
