import { LRUCache } from 'lru-cache'

/** Callers that are remembered; the least recently seen are forgotten first (SEC-150). */
const MAX = 50_000

/** Where a caller stands in the current window. */
export interface Standing {
  limit: number
  remaining: number
  /** Requests in this window, this one included. */
  observed: number
  /** When the window ends, in seconds since 1970. */
  reset: number
  /** Seconds to wait before the next request; 0: this one is admitted. */
  wait: number
}

/** Counts the requests of each caller in windows of fixed length (SEC-148, W-34). Each process counts for itself. */
export class RequestLimit {
  readonly #counts = new LRUCache<string, { observed: number; until: number }>({ maxSize: MAX, sizeCalculation: () => 1 })

  /**
   * `user` and `anonymous`: requests in a window, of a user and of an address without a credential; 0: no limit.
   * `window` in seconds.
   */
  constructor(
    private readonly limits: { user: number; anonymous: number; window: number },
    private readonly now: () => Date,
  ) {}

  /** Counts a request; null where there is no limit for such callers. */
  count(userId: number | null, address: string): Standing | null {
    const limit = userId === null ? this.limits.anonymous : this.limits.user
    if (limit === 0) return null
    const key = userId === null ? `from ${address}` : `user ${userId}`
    const now = this.now().getTime()
    const known = this.#counts.get(key)
    const window = known && known.until > now ? known : { observed: 0, until: now + this.limits.window * 1000 }
    window.observed++
    this.#counts.set(key, window)
    return {
      limit,
      remaining: Math.max(0, limit - window.observed),
      observed: window.observed,
      reset: Math.ceil(window.until / 1000),
      wait: window.observed > limit ? Math.max(1, Math.ceil((window.until - now) / 1000)) : 0,
    }
  }
}
