const turns = new Map<string, Promise<unknown>>()

/** Runs work of one key one after the other, in this process. */
export async function withMutex<T>(key: string, work: () => Promise<T>): Promise<T> {
  const mine = (turns.get(key) ?? Promise.resolve()).then(work, work)
  const settled = mine.catch(() => {})
  turns.set(key, settled)
  try {
    return await mine
  } finally {
    if (turns.get(key) === settled) turns.delete(key)
  }
}
