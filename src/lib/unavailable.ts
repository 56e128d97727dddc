/**
 * Something the service needs (Git's process pool, the database) cannot take this call now; the caller may retry.
 * Becomes 503 with Retry-After.
 */
export class Unavailable extends Error {
  override name = 'Unavailable'
  /** It may be over soon, so background work is worth another attempt. */
  readonly passing: boolean = true
  constructor(
    message: string,
    /** Seconds after which a retry makes sense. */
    readonly retryAfter = 1,
    options?: ErrorOptions,
  ) {
    super(message, options)
  }
}

/**
 * The error of a call that failed because something is unavailable, also where a library has wrapped it; null for any
 * other error.
 */
export const unavailableIn = (error: unknown): Unavailable | null =>
  error instanceof Unavailable ? error : error instanceof Error && error.cause instanceof Unavailable ? error.cause : null

export const isUnavailable = (error: unknown): boolean => unavailableIn(error) !== null

/** The messages for faults of the machine; callers must not see its paths. */
const SYSTEM: Record<string, string> = {
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

/** A fault of the machine (disk, descriptors, memory, processes) as Unavailable; null for any other error. */
export function systemFault(error: unknown): Unavailable | null {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  const text = Object.hasOwn(SYSTEM, code) ? SYSTEM[code] : undefined
  return text === undefined ? null : new Unavailable(text, 30, { cause: error })
}

/** The error of a call for which a part of the service or of the machine is unavailable; null for any other error. */
export const asUnavailable = (error: unknown): Unavailable | null => (error instanceof Unavailable ? error : systemFault(error))
