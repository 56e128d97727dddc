import { AsyncLocalStorage } from 'node:async_hooks'

/** How long a call has waited for others, in milliseconds. */
export interface CallTimes {
  /** Time of its git processes. */
  git: number
  /** Time of its database statements. */
  database: number
}

const calls = new AsyncLocalStorage<CallTimes>()

/** Runs work and adds its times to `spent`. */
export const withCallTimes = <T>(spent: CallTimes, work: () => T): T => calls.run(spent, work)

/** Starts a timer; call the returned function to stop it. */
export function startTiming(on: keyof CallTimes): () => void {
  const spent = calls.getStore()
  if (!spent) return nothing
  const began = performance.now()
  return () => {
    spent[on] += performance.now() - began
  }
}

const nothing = () => undefined
