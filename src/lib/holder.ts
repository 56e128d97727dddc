import { AsyncLocalStorage } from 'node:async_hooks'
import { Unavailable } from './unavailable.js'

const holders = new AsyncLocalStorage<string>()

/** Does work in somebody's name: what has turns shares them fairly among these. */
export const inNameOf = <T>(holder: string, work: () => T): T => holders.run(holder, work)

/** In whose name the running work is done, background work that it left included; undefined: the service's own. */
export const currentHolder = (): string | undefined => holders.getStore()

/** A user, or an address where nobody is signed in. */
export const holderOfCall = (userId: number | undefined, address: string): string => (userId === undefined ? address : `user ${userId}`)

/** So many pieces of work of each holder at once; the next ones wait, a bounded number of them. */
export class TurnsOfHolders {
  readonly #held = new Map<string, { running: number; waiting: (() => void)[] }>()

  constructor(
    private readonly running: number,
    private readonly waiting: number,
  ) {}

  async run<T>(holder: string, work: () => Promise<T>): Promise<T> {
    const held = this.#held.get(holder) ?? { running: 0, waiting: [] }
    this.#held.set(holder, held)
    if (held.running < this.running) held.running++
    else if (held.waiting.length >= this.waiting) throw new Unavailable('too many of your large requests are waiting')
    else await new Promise<void>((resolve) => held.waiting.push(resolve))
    try {
      return await work()
    } finally {
      // the next one takes over this turn
      const next = held.waiting.shift()
      if (next) next()
      else if (--held.running === 0) this.#held.delete(holder)
    }
  }
}
