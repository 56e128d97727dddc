/** Gives keys to one of several processes at a time, in the order in which they ask. */
export interface Exclusion {
  /** Resolves when the key is free, with the function that gives it back. */
  take(key: string): Promise<() => void>
}

/** Runs work of one key one after the other. */
export class KeyedMutex {
  readonly #last = new Map<string, Promise<unknown>>()

  /** `exclusion`: among the processes of the service; without it there is only this one. */
  constructor(private readonly exclusion?: Exclusion) {}

  /** In this process, and in the others of the service on this machine. */
  run<T>(key: string, work: () => Promise<T>): Promise<T> {
    const { exclusion } = this
    if (!exclusion) return this.runHere(key, work)
    return this.runHere(key, async () => {
      const giveBack = await exclusion.take(key)
      try {
        return await work()
      } finally {
        giveBack()
      }
    })
  }

  /** In this process alone. */
  async runHere<T>(key: string, work: () => Promise<T>): Promise<T> {
    const mine = (this.#last.get(key) ?? Promise.resolve()).then(work, work)
    const settled = mine.catch(() => {})
    this.#last.set(key, settled)
    try {
      return await mine
    } finally {
      if (this.#last.get(key) === settled) this.#last.delete(key)
    }
  }
}
