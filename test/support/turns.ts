/** How often the event loop is looked at, in milliseconds. */
const TICK_MS = 4

/**
 * Watches how long one turn of the event loop of this process takes: the time until the next look, or the CPU time of it
 * if that is less, so that a turn that waits for a core does not count.
 */
export class Turns {
  #then = performance.now()
  #cpu = process.cpuUsage()
  #longest = 0
  readonly #timer = setInterval(() => this.#look(), TICK_MS)

  #look(): void {
    const [now, { user, system }] = [performance.now(), process.cpuUsage(this.#cpu)]
    this.#longest = Math.max(this.#longest, Math.min(now - this.#then, (user + system) / 1_000))
    this.#then = now
    this.#cpu = process.cpuUsage()
  }

  /**
   * The longest turn of some work, in milliseconds. Above `limit` the work is repeated twice and its shortest counts: a
   * collection of garbage does not come three times.
   */
  async longestOf(work: () => Promise<unknown>, limit: number): Promise<number> {
    let least = Number.POSITIVE_INFINITY
    for (let i = 0; i < 3 && least > limit; i++) {
      this.#look()
      this.#longest = 0
      await work()
      this.#look()
      least = Math.min(least, this.#longest)
    }
    return least
  }

  stop(): void {
    clearInterval(this.#timer)
  }
}

/** What is repeated: what lists, paths, Markdown, references and markup are made of. */
const REPEATED = ['/', ' ', '\n', '-', 'a,', '.', '@a ', '#1 ', '<', '`', '\\', '_a', '%', '"', '> ', '[](']

/** A text with long runs of each, which a quadratic search takes a second for, each between other characters. */
export const longText = (characters: number): string => `x${REPEATED.map((each) => `${each.repeat(Math.ceil(characters / each.length))}x`).join('')}`
