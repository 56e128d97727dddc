import { setImmediate } from 'node:timers/promises'

/** Yields to the event loop; for long computations, between pieces of a few milliseconds (SEC-145). */
export const yieldToEventLoop = (): Promise<void> => setImmediate()

/** Work's turn of the event loop: says when it has taken too long. Cheap enough for an inner loop. */
export class Turn {
  #started = performance.now()
  #checks = 0

  /** Reads the clock once in `every` calls, which must be a power of two. */
  constructor(
    readonly every = 256,
    readonly milliseconds = 6,
  ) {}

  /** Whether the turn has taken too long; then call `end`. */
  get over(): boolean {
    return (++this.#checks & (this.every - 1)) === 0 && performance.now() - this.#started > this.milliseconds
  }

  /** Lets others have the event loop, and begins the next turn. */
  async end() {
    await yieldToEventLoop()
    this.#started = performance.now()
  }
}
