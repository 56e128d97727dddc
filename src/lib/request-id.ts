import { randomBytes } from 'node:crypto'

/** A new id, for work that is not an HTTP request. */
export const newRequestId = (): string => randomBytes(12).toString('hex')

/** The id of a request: that of the client if it is harmless (SEC-5), otherwise a new one. */
export const requestIds =
  (fresh = createCounterIds()) =>
  (given: string | string[] | undefined): string =>
    typeof given === 'string' && /^[A-Za-z0-9_-]{1,64}$/.test(given) ? given : fresh()

/** A random prefix and a counter: unique without calling the random generator of the system for every request. */
function createCounterIds(): () => string {
  const prefix = randomBytes(8).toString('hex')
  let counter = 0
  return () => `${prefix}${(++counter).toString(16).padStart(8, '0')}`
}
