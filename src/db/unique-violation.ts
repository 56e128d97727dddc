import { databaseError, isUniqueViolation } from './errors.js'

/** Runs work, and throws `refusal(index)` if it violates a unique index. */
export async function unlessUniqueViolation<T>(work: () => Promise<T>, refusal: (index: string) => Error): Promise<T> {
  try {
    return await work()
  } catch (thrown) {
    if (!isUniqueViolation(thrown)) throw thrown
    const { constraint = '' } = databaseError(thrown) as { constraint?: string }
    throw refusal(constraint)
  }
}

/** Runs work, and repeats it once if it violates a unique index: its checks then see the other row and report it. */
export const retryOnUniqueViolation = <T>(work: () => Promise<T>): Promise<T> =>
  work().catch((thrown: unknown) => {
    if (isUniqueViolation(thrown)) return work()
    throw thrown
  })
