import { LRUCache } from 'lru-cache'

/** Addresses that are remembered; the longest quiet are forgotten first (SEC-26). */
const MOST = 10_000

/** Counts bad credentials per address in windows of fixed length, and keeps an address out for the rest of a window in which it had too many (SEC-26, CR-15). Each process counts for itself. */
export class Throttle {
  readonly #failures = new LRUCache<string, { count: number; until: number }>({ max: MOST })

  /** `attempts` 0: nobody is ever kept out. `window` in seconds. */
  constructor(
    private readonly attempts: number,
    private readonly window: number,
    private readonly now: () => Date,
  ) {}

  /** Seconds this address has to wait; 0: none. */
  wait(address: string): number {
    if (this.attempts === 0) return 0
    const known = this.#failures.get(address)
    const left = known && known.count >= this.attempts ? known.until - this.now().getTime() : 0
    return left > 0 ? Math.ceil(left / 1000) : 0
  }

  /** A credential from this address was no good. */
  failed(address: string): void {
    if (this.attempts === 0) return
    const now = this.now().getTime()
    const known = this.#failures.get(address)
    if (known && known.until > now) known.count++
    else this.#failures.set(address, { count: 1, until: now + this.window * 1000 })
  }
}
