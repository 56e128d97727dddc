/**
 * Something the service needs (the pool of git processes, the database) cannot take this call now; the caller may
 * retry. Becomes a 503 with Retry-After.
 */
export class Unavailable extends Error {
  override name = 'Unavailable'
  /** Whether the problem may pass soon, so that background work should be retried. */
  readonly transient: boolean = true
  constructor(
    message: string,
    /** Seconds after which a retry makes sense. */
    readonly retryAfter = 1,
    options?: ErrorOptions,
  ) {
    super(message, options)
  }
}

/** The Unavailable in an error, also if a library has wrapped it; null for any other error. */
export const unavailableIn = (error: unknown): Unavailable | null =>
  error instanceof Unavailable ? error : error instanceof Error && error.cause instanceof Unavailable ? error.cause : null

export const isUnavailable = (error: unknown): boolean => unavailableIn(error) !== null

/** Messages for system errors, whose own messages contain paths that callers must not see. */
const SYSTEM_MESSAGES: Record<string, string> = {
  ENOSPC: 'The disk is full',
  EDQUOT: 'The disk is full',
  EROFS: 'The disk cannot be written',
  EACCES: 'The disk cannot be used',
  EPERM: 'The disk cannot be used',
  EIO: 'The disk does not work',
  EMFILE: 'Too many files are open',
  ENFILE: 'Too many files are open',
  ENOMEM: 'There is not enough memory',
  EAGAIN: 'Too many processes are running',
}

/** Whether the process is short of descriptors or memory, which says nothing about what it tried to use. */
export const isShortage = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && ['EMFILE', 'ENFILE', 'ENOMEM'].includes(String(error.code))

/** A system error (disk, file descriptors, memory, processes) as Unavailable; null for any other error. */
export function systemFault(error: unknown): Unavailable | null {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  const text = Object.hasOwn(SYSTEM_MESSAGES, code) ? SYSTEM_MESSAGES[code] : undefined
  return text === undefined ? null : new Unavailable(text, 30, { cause: error })
}

/** An error as Unavailable if a part of the service or of the machine is unavailable; null for any other error. */
export const asUnavailable = (error: unknown): Unavailable | null => unavailableIn(error) ?? systemFault(error)
