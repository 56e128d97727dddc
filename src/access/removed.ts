import type { Logger } from 'pino'
import { isMissingReference } from '../db/errors.js'
import { notFound } from '../failures.js'

/**
 * What `work` returns. Where it could not write because something that it refers to has been removed since `find` found
 * the subject, the answer is that of a call that comes after the removal (W-46).
 */
export async function unlessRemoved<T>(log: Pick<Logger, 'warn'>, find: () => Promise<unknown>, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!isMissingReference(error)) throw error
    log.warn({ err: error }, 'what a call refers to was removed meanwhile')
    await find()
    throw notFound()
  }
}
