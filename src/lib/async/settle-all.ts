/**
 * Waits until all promises have settled, then returns the results, or throws the first error in the order of the list.
 * For statements that are sent together in a transaction: none may still run after the transaction has ended, and the
 * first error causes those after it.
 */
export async function settleAll<T extends readonly unknown[]>(promises: readonly [...T]): Promise<{ -readonly [K in keyof T]: Awaited<T[K]> }> {
  const settled = await Promise.allSettled(promises)
  return settled.map((each) => {
    if (each.status === 'rejected') throw each.reason
    return each.value
  }) as { -readonly [K in keyof T]: Awaited<T[K]> }
}
