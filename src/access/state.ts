import { LRUCache } from 'lru-cache'
import type { Config } from '../config.js'
import type { Database } from '../db/client.js'
import type { SignedIn } from './actor.js'
import { Counters } from './counters.js'
import { type LiveLimits, RequestLimit } from './request-limit.js'
import { Throttle } from './throttle.js'

/** Callers, and addresses, that are remembered (SEC-150). */
const REMEMBERED = { maxSize: 10_000, sizeCalculation: () => 1 }

/** What authentication remembers between calls. */
export interface AccessState {
  counters: Counters
  throttle: Throttle
  requestLimit: RequestLimit
  /** Callers by the digest of the token that they were last authenticated by: predictions that each call verifies. */
  recentCallers: LRUCache<string, SignedIn>
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
    requestLimit: new RequestLimit(requests, counters, now, live),
    recentCallers: new LRUCache(REMEMBERED),
    admittedAddresses: new LRUCache(REMEMBERED),
  }
}
