import { randomBytes } from 'node:crypto'

/** All ids of one process have a prefix and a counter: unique without asking the system's generator for every call. */
const PREFIX = randomBytes(8).toString('hex')
let counter = 0

/** The client's own id when it is harmless (SEC-5), otherwise a new one. */
export const newRequestId = (given: string | string[] | undefined) =>
  typeof given === 'string' && /^[A-Za-z0-9_-]{1,64}$/.test(given) ? given : `${PREFIX}${(++counter).toString(16).padStart(8, '0')}`
