import type { Counters } from './counters.js'

/** A caller's rate limit in the current window. */
export interface RateLimitState {
  limit: number
  remaining: number
  /** Requests in this window, this one included. */
  observed: number
  /** When the window ends, in seconds since 1970. */
  reset: number
  /** Seconds to wait before the next request; 0 if this one is admitted. */
  wait: number
}

/** Limits the requests of each caller per fixed window, across all processes (SEC-148, W-34). */
export class RequestLimit {
  /**
   * `user` and `anonymous`: maximum requests in a window, per user and per address without a credential; 0: no limit.
   * `window` is in seconds.
   */
  constructor(
    private readonly limits: { user: number; anonymous: number; window: number },
    private readonly counters: Counters,
    private readonly now: () => Date,
  ) {}

  /** Counts a request; null if there is no limit for this kind of caller. */
  async count(userId: number | null, address: string): Promise<RateLimitState | null> {
    const limit = userId === null ? this.limits.anonymous : this.limits.user
    if (limit === 0) return null
    const caller = userId === null ? `from ${address}` : `user ${userId}`
    const { count: observed, until } = await this.counters.add(`requests ${caller}`, this.limits.window)
    return rateLimitState(limit, observed, until.getTime(), this.now().getTime())
  }
}

/** The state after `observed` requests in a window that ends at `until`; times in milliseconds since 1970. */
export const rateLimitState = (limit: number, observed: number, until: number, now: number): RateLimitState => ({
  limit,
  remaining: Math.max(0, limit - observed),
  observed,
  reset: Math.ceil(until / 1000),
  wait: observed > limit ? Math.max(1, Math.ceil((until - now) / 1000)) : 0,
})
