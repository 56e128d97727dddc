/** A part the service needs (Git's process pool, the database) cannot take this call now; the caller may come back. Becomes 503 with Retry-After. */
export class Unavailable extends Error {
  override name = 'Unavailable'
  constructor(
    message: string,
    /** Seconds after which a new try makes sense. */
    readonly retryAfter = 1,
    options?: ErrorOptions,
  ) {
    super(message, options)
  }
}

/** Whether a call failed because something is not available, also where a library has wrapped the error. */
export const isUnavailable = (error: unknown): boolean =>
  error instanceof Unavailable || (error instanceof Error && error.cause instanceof Unavailable)
