import { randomBytes } from 'node:crypto'

/** A new id, for what is no HTTP request. */
export const newRequestId = (): string => randomBytes(12).toString('hex')

/** Gives each request its id: the client's own when it is harmless (SEC-5), otherwise a fresh one. */
export const requestIds =
  (fresh = counted()) =>
  (given: string | string[] | undefined): string =>
    typeof given === 'string' && /^[A-Za-z0-9_-]{1,64}$/.test(given) ? given : fresh()

/** A random prefix and a counter, which is unique without asking the system's generator for every call. */
function counted(): () => string {
  const prefix = randomBytes(8).toString('hex')
  let counter = 0
  return () => `${prefix}${(++counter).toString(16).padStart(8, '0')}`
}
