/** A worker that has a lock or waits for it. */
export interface LockRequest {
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
  readonly #byKey = new Map<string, LockRequest[]>()
  readonly #requests = new Map<string, LockRequest>()

  lock(request: LockRequest): void {
    const queue = this.#byKey.get(request.key) ?? []
    this.#byKey.set(request.key, queue)
    this.#requests.set(`${request.owner} ${request.id}`, request)
    if (queue.push(request) === 1) request.grant()
  }

  /** Gives a lock back, or waits for it no longer. */
  unlock(owner: number, id: number): void {
    const request = this.#requests.get(`${owner} ${id}`)
    if (!request) return
    this.#requests.delete(`${owner} ${id}`)
    const queue = this.#byKey.get(request.key) ?? []
    const at = queue.indexOf(request)
    queue.splice(at, 1)
    if (queue.length === 0) this.#byKey.delete(request.key)
    else if (at === 0) queue[0]?.grant()
  }

  /** The owner has ended. */
  drop(owner: number): void {
    for (const request of [...this.#requests.values()]) if (request.owner === owner) this.unlock(owner, request.id)
  }
}
