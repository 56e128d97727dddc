/** A worker that has a lock or waits for it. */
export interface Asked {
  owner: number
  /** Its own number for the lock. */
  id: number
  key: string
  /** Called when it has the lock. */
  grant(): void
}

/** Locks of keys among workers, each given in the order in which it was asked for. */
export class Locks {
  /** The first of each list has the lock. */
  readonly #byKey = new Map<string, Asked[]>()
  readonly #asked = new Map<string, Asked>()

  lock(asked: Asked): void {
    const all = this.#byKey.get(asked.key) ?? []
    this.#byKey.set(asked.key, all)
    this.#asked.set(`${asked.owner} ${asked.id}`, asked)
    if (all.push(asked) === 1) asked.grant()
  }

  /** Gives a lock back, or waits for it no longer. */
  unlock(owner: number, id: number): void {
    const asked = this.#asked.get(`${owner} ${id}`)
    if (!asked) return
    this.#asked.delete(`${owner} ${id}`)
    const all = this.#byKey.get(asked.key) ?? []
    const at = all.indexOf(asked)
    all.splice(at, 1)
    if (all.length === 0) this.#byKey.delete(asked.key)
    else if (at === 0) all[0]?.grant()
  }

  /** The owner has ended. */
  drop(owner: number): void {
    for (const asked of [...this.#asked.values()]) if (asked.owner === owner) this.unlock(owner, asked.id)
  }
}
