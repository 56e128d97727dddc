/**
 * The results of all of these, once each has ended; then the fault of the first one that has any is thrown. For
 * statements that are sent together in a transaction, in the order of the list: none may go on after the transaction
 * has ended, and those after a fault fail only because of it.
 */
export async function allEnded<T extends readonly unknown[]>(running: readonly [...T]): Promise<{ -readonly [K in keyof T]: Awaited<T[K]> }> {
  const ended = await Promise.allSettled(running)
  return ended.map((each) => {
    if (each.status === 'rejected') throw each.reason
    return each.value
  }) as { -readonly [K in keyof T]: Awaited<T[K]> }
}
