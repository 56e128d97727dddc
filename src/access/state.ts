import { LRUCache } from 'lru-cache'
import type { Config } from '../config.js'
import type { Database } from '../db/client.js'
import { Counters } from './counters.js'
import { type LiveLimits, RequestLimit } from './request-limit.js'
import { Throttle } from './throttle.js'

/** Addresses that are remembered (SEC-150). */
const REMEMBERED = { maxSize: 10_000, sizeCalculation: () => 1 }

/** What authentication remembers between calls. */
export interface AccessState {
  counters: Counters
  throttle: Throttle
  /** Counts forms that anybody may send, such as for mails: they do not keep an address from signing in (ML-27). */
  formThrottle: Throttle
  requestLimit: RequestLimit
  /** Addresses from which users were recently admitted: "user id, address" → expiry in milliseconds since 1970. */
  admittedAddresses: LRUCache<string, number>
}

/** `now`: limits count by the clock of the machine, also in a service with a test clock. */
export function createAccessState(
  { failedCredentials, requests }: Config,
  db: Database,
  now: () => Date,
  live?: () => Promise<LiveLimits>,
): AccessState {
  const counters = new Counters(db, now)
  return {
    counters,
    throttle: new Throttle(failedCredentials, counters, now),
    formThrottle: new Throttle(failedCredentials, counters, now, 'form'),
    requestLimit: new RequestLimit(requests, counters, now, live),
    admittedAddresses: new LRUCache(REMEMBERED),
  }
}
