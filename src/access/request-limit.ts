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

/** A limit of the settings; while it is off, that of the configuration holds. */
interface SetLimit {
  enabled: boolean
  requests: number
  period: number
}

/** The limits that administrators set while the service runs (WB-206). */
export interface LiveLimits {
  unauthenticated: SetLimit
  api: SetLimit
  web: SetLimit
  /** Of single callers, by `callerName`: requests in a period, 0 for no limit. */
  own: ReadonlyMap<string, number>
}

/** How a user, or an address without a credential, is called in `LiveLimits.own`. */
export const callerName = (userId: number | null, address: string | null): string =>
  userId === null ? `from ${address?.replace(/^::ffff:(?=\d+\.)/, '')}` : `user ${userId}`

/** Limits the requests of each caller per fixed window, across all processes (SEC-148, W-34). */
export class RequestLimit {
  /**
   * `user` and `anonymous`: maximum requests in a window, per user and per address without a credential; 0: no limit.
   * `window` is in seconds. `live`: the limits that replace these.
   */
  constructor(
    private readonly limits: { user: number; anonymous: number; window: number },
    private readonly counters: Counters,
    private readonly now: () => Date,
    private readonly live?: () => Promise<LiveLimits>,
  ) {}

  /** Counts a request; null if there is no limit for this caller. */
  async count(userId: number | null, address: string, to: 'api' | 'web' = 'api'): Promise<RateLimitState | null> {
    const live = await this.live?.()
    const caller = callerName(userId, address)
    const set = live?.[userId === null ? 'unauthenticated' : to]
    const general = set?.enabled ? set.requests : userId === null ? this.limits.anonymous : this.limits.user
    const limit = live?.own.get(caller) ?? general
    if (limit === 0) return null
    const name = set?.enabled ? `requests ${userId === null ? '' : `${to} `}${caller}` : `requests ${caller}`
    const { count: observed, until } = await this.counters.add(name, set?.enabled ? set.period : this.limits.window)
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
