import { DrizzleQueryError } from 'drizzle-orm'
import { Unavailable } from '../lib/unavailable.js'

/** Error codes of Postgres and the system that mean unavailability, not an error in the statement. */
const UNAVAILABLE_CODES = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ECONNABORTED',
  'EPIPE',
  'ENOENT',
  'ETIMEDOUT',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  '25P03', // idle in transaction for too long
  '53000', // insufficient resources
  '53100', // disk full
  '53200', // out of memory
  '53300', // too many connections
  '55P03', // lock not available
  '58030', // disk I/O error
  '57014', // statement timeout
  '57P01', // shutting down
  '57P02', // crashed
  '57P03', // starting
  '57P05', // idle session ended
])
const UNAVAILABLE_TEXT =
  /^(Cannot use a pool after calling end|Connection terminated|timeout exceeded when trying to connect|timeout expired|Query read timeout|Client (was closed|has encountered a connection error))/
const CONNECTION_LOST = /^(08|57P0[1235])|^E[A-Z_]+$/

/** The code of a Postgres or system error; '' if it has none. */
export const codeOf = (error: unknown) => (error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : '')

/**
 * Unwraps the Postgres or connection error from drizzle's wrapper, whose message contains parameters and must not be
 * logged (SEC-167).
 */
export function databaseError(error: unknown): unknown {
  return error instanceof DrizzleQueryError && error.cause !== undefined ? error.cause : error
}

/** Whether the error is a violation of a unique index. */
export const isUniqueViolation = (error: unknown) => codeOf(databaseError(error)) === '23505'

/** Whether the error is a violation of a foreign key. */
export const isForeignKeyViolation = (error: unknown) => codeOf(databaseError(error)) === '23503'

/** Turns an error that means unavailability into Unavailable, and returns any other error as it is. */
export function translateError(error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof Unavailable) return error
  const code = codeOf(error)
  if (!UNAVAILABLE_CODES.has(code) && !code.startsWith('08') && !UNAVAILABLE_TEXT.test(error.message)) return error
  return new Unavailable(code === '57014' ? 'The database took too long' : 'The database is not available', 1, { cause: error })
}

/** Whether a write was refused because the server is read-only. */
export const isReadOnly = (error: unknown) => codeOf(error) === '25006'

/** Whether the error means that the connection is lost. */
export function isConnectionLoss(error: unknown) {
  const cause = error instanceof Unavailable ? error.cause : error
  return cause instanceof Error && (CONNECTION_LOST.test(codeOf(cause)) || UNAVAILABLE_TEXT.test(cause.message))
}
