import { randomBytes } from 'node:crypto'

/** The client's own id when it is a harmless one (SEC-5), else a fresh one. */
export const newRequestId = (given: string | string[] | undefined) =>
  typeof given === 'string' && /^[A-Za-z0-9_-]{1,64}$/.test(given) ? given : randomBytes(12).toString('hex')
