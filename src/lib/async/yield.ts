import { setImmediate } from 'node:timers/promises'

/** Yields to the event loop; for long computations, between slices of a few milliseconds (SEC-145). */
export const yieldToEventLoop = (): Promise<void> => setImmediate()

/** Tells when a slice is over: cheap enough for an inner loop. */
export class Slice {
  #started = performance.now()
  #asked = 0

  /** The clock is read once in so many calls, a power of two. */
  constructor(
    readonly every = 256,
    readonly milliseconds = 6,
  ) {}

  /** True when the work since the last yield took too long; yield then, and the next slice begins. */
  get over(): boolean {
    return (++this.#asked & (this.every - 1)) === 0 && performance.now() - this.#started > this.milliseconds
  }

  async breathe() {
    await yieldToEventLoop()
    this.#started = performance.now()
  }
}
