import { setImmediate } from 'node:timers/promises'

/** Lets the event loop serve others; for long computations, between slices of a few milliseconds (SEC-145). */
export const yieldToEventLoop = (): Promise<void> => setImmediate()

/** Tells when a slice is over: cheap enough to ask in an inner loop. */
export class Slice {
  #started = performance.now()
  #asked = 0

  /** The clock is read every so many questions, a power of two. */
  constructor(
    readonly every = 256,
    readonly milliseconds = 6,
  ) {}

  /** True when the work since the last breath took too long; then breathe, and the next slice begins. */
  get over(): boolean {
    return (++this.#asked & (this.every - 1)) === 0 && performance.now() - this.#started > this.milliseconds
  }

  async breathe() {
    await yieldToEventLoop()
    this.#started = performance.now()
  }
}
