import { AsyncLocalStorage } from 'node:async_hooks'

/** How long a call has waited for others, in milliseconds. */
export interface CallTimes {
  /** Time of its git processes. */
  git: number
  /** Time of its database statements. */
  database: number
  /** What it waited for, if somebody may want to see it. */
  details?: CallDetails
}

export interface CallDetails {
  git: Waits
  database: Waits
  /** Look-ups in caches. */
  hits: number
  misses: number
}

/** The first of what a call waited for, in the order in which it ended, and how much there was. */
interface Waits {
  count: number
  first: { what: string; ms: number }[]
}

const MAX_WAITS = 100
const MAX_TEXT = 6_000

const calls = new AsyncLocalStorage<CallTimes>()

/** Runs work and adds its times to `spent`. */
export const withCallTimes = <T>(spent: CallTimes, work: () => T): T => calls.run(spent, work)

export const noDetails = (): CallDetails => ({ git: { count: 0, first: [] }, database: { count: 0, first: [] }, hits: 0, misses: 0 })

/** Starts a timer; call the returned function to stop it. `what`: the statement, or the command of git. */
export function startTiming(on: 'git' | 'database', what: string): () => void {
  const spent = calls.getStore()
  if (!spent) return nothing
  const began = performance.now()
  return () => {
    const ms = performance.now() - began
    spent[on] += ms
    const waits = spent.details?.[on]
    if (!waits) return
    waits.count++
    if (waits.first.length < MAX_WAITS) waits.first.push({ what: what.slice(0, MAX_TEXT), ms })
  }
}

/** Counts look-ups in a cache for the current call. */
export function countLookups(hits: number, misses: number): void {
  const details = calls.getStore()?.details
  if (!details) return
  details.hits += hits
  details.misses += misses
}

const nothing = () => undefined
