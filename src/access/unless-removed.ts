import type { Logger } from 'pino'
import { isForeignKeyViolation } from '../db/errors.js'
import { Failure, notFound } from '../failures.js'

/**
 * What `work` returns. Where it could not do its work because its subject, or something that it refers to, has been
 * removed since `find` found the subject, the answer is that of a call that comes after the removal (W-46).
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
    if (!(error instanceof Failure)) log.warn({ err: error }, 'what a call refers to was removed meanwhile')
    throw refusal ?? notFound()
  }
}
