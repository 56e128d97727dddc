import { databaseError, isUniqueViolation } from './client.js'

/** Runs work. Where a unique index refuses its row because somebody else was quicker, what `refusal` makes of the index's name is thrown. */
export async function unlessUniqueViolation<T>(work: () => Promise<T>, refusal: (index: string) => Error): Promise<T> {
  try {
    return await work()
  } catch (thrown) {
    if (!isUniqueViolation(thrown)) throw thrown
    const { constraint = '' } = databaseError(thrown) as { constraint?: string }
    throw refusal(constraint)
  }
}

/** Runs work, and once more where a unique index refuses its row: now the checks in it see who was quicker and say so. */
export const retryOnUniqueViolation = <T>(work: () => Promise<T>): Promise<T> =>
  work().catch((thrown: unknown) => {
    if (isUniqueViolation(thrown)) return work()
    throw thrown
  })
