import type { Logger } from 'pino'
import { isForeignKeyViolation } from '../db/errors.js'
import { Failure, notFound } from '../failures.js'

/**
 * Runs `work`. If it fails because its subject, or a row that it refers to, was removed after `find` had loaded the
 * subject, throws what a call after the removal would get (W-46).
 */
export async function unlessRemoved<T>(log: Pick<Logger, 'warn'>, find: () => Promise<unknown>, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    const refusal = await find().then(
      () => null,
      (failure: unknown) => (failure instanceof Failure && failure.kind === 'not_found' ? failure : null),
    )
    if (refusal === null && !isForeignKeyViolation(error)) throw error
    if (!(error instanceof Failure)) log.warn({ err: error }, 'the subject of a call was removed during the call')
    throw refusal ?? notFound()
  }
}
