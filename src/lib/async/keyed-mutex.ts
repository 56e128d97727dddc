/** A mutex per key among several processes, in order of request. */
export interface ProcessMutex {
  /** Resolves when the key is free, with the function that releases it. */
  acquire(key: string): Promise<() => void>
}

/** Runs work with the same key one at a time. */
export class KeyedMutex {
  readonly #last = new Map<string, Promise<unknown>>()

  /** `processMutex` extends the mutex to all processes of the service; without it there is only this process. */
  constructor(private readonly processMutex?: ProcessMutex) {}

  /** Excludes other work in all processes of the service on this machine. */
  run<T>(key: string, work: () => Promise<T>): Promise<T> {
    const { processMutex } = this
    if (!processMutex) return this.runHere(key, work)
    return this.runHere(key, async () => {
      const release = await processMutex.acquire(key)
      try {
        return await work()
      } finally {
        release()
      }
    })
  }

  /** Excludes other work in this process only. */
  async runHere<T>(key: string, work: () => Promise<T>): Promise<T> {
    const result = (this.#last.get(key) ?? Promise.resolve()).then(work, work)
    const settled = result.catch(() => {})
    this.#last.set(key, settled)
    try {
      return await result
    } finally {
      if (this.#last.get(key) === settled) this.#last.delete(key)
    }
  }
}
