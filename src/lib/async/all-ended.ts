/**
 * The results of all of these, once each has ended; then the first fault is thrown. For statements that are sent
 * together in a transaction: none may go on after the transaction has ended.
 */
export async function allEnded<T extends readonly unknown[]>(running: readonly [...T]): Promise<{ -readonly [K in keyof T]: Awaited<T[K]> }> {
  const ended = await Promise.allSettled(running)
  return ended.map((each) => {
    if (each.status === 'rejected') throw each.reason
    return each.value
  }) as { -readonly [K in keyof T]: Awaited<T[K]> }
}
