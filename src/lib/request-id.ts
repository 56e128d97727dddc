import { randomBytes } from 'node:crypto'

/** Ids of one process begin alike and count up: unique without asking the system's generator for every call. */
const PREFIX = randomBytes(8).toString('hex')
let counter = 0

/** The client's own id when it is a harmless one (SEC-5), else a fresh one. */
export const newRequestId = (given: string | string[] | undefined) =>
  typeof given === 'string' && /^[A-Za-z0-9_-]{1,64}$/.test(given) ? given : `${PREFIX}${(++counter).toString(16).padStart(8, '0')}`
