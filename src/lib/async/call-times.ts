import { AsyncLocalStorage } from 'node:async_hooks'

/** Milliseconds that a call has spent elsewhere. */
export interface CallTimes {
  /** The time of its git processes. */
  git: number
  /** The time of its statements. */
  database: number
}

const calls = new AsyncLocalStorage<CallTimes>()

/** Runs work whose time elsewhere is counted. */
export const withCallTimes = <T>(spent: CallTimes, work: () => T): T => calls.run(spent, work)

/** Begins to count; call the returned function at the end. */
export function startTiming(on: keyof CallTimes): () => void {
  const spent = calls.getStore()
  if (!spent) return nothing
  const began = performance.now()
  return () => {
    spent[on] += performance.now() - began
  }
}

const nothing = () => undefined
