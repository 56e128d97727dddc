import { setImmediate } from 'node:timers/promises'

/** Yields to the event loop; for long computations, between slices of a few milliseconds (SEC-145). */
export const yieldToEventLoop = (): Promise<void> => setImmediate()

/** Tells when a slice is over; cheap enough for an inner loop. */
export class Slice {
  #started = performance.now()
  #checks = 0

  /** Reads the clock once in `every` calls, which must be a power of two. */
  constructor(
    readonly every = 256,
    readonly milliseconds = 6,
  ) {}

  /** Whether the work since the last pause took too long; then call `pause`, which starts the next slice. */
  get over(): boolean {
    return (++this.#checks & (this.every - 1)) === 0 && performance.now() - this.#started > this.milliseconds
  }

  async pause() {
    await yieldToEventLoop()
    this.#started = performance.now()
  }
}
