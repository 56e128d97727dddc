import { setTimeout as sleep } from 'node:timers/promises'

/** Whether the promise settles within this many milliseconds. */
export async function settlesWithin(milliseconds: number, work: Promise<unknown>): Promise<boolean> {
  const late = new AbortController()
  const timer = sleep(milliseconds, false, { signal: late.signal }).catch(() => false)
  const ended = work.then(
    () => true,
    () => true,
  )
  return Promise.race([ended, timer]).finally(() => late.abort())
}
