/** A held or pending lock of a worker. */
export interface LockRequest {
  owner: number
  /** The id of the request, unique per worker. */
  id: number
  key: string
  /** Called when the lock is acquired. */
  grant(): void
}

/** Locks by key, shared by workers, granted in the order of the requests. */
export class Locks {
  /** Requests by key; the first holds the lock. */
  readonly #byKey = new Map<string, LockRequest[]>()
  readonly #requests = new Map<string, LockRequest>()

  lock(request: LockRequest): void {
    const queue = this.#byKey.get(request.key) ?? []
    this.#byKey.set(request.key, queue)
    this.#requests.set(`${request.owner} ${request.id}`, request)
    if (queue.push(request) === 1) request.grant()
  }

  /** Releases a lock, or cancels a pending request. */
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

  /** Releases all locks of a worker that has ended. */
  drop(owner: number): void {
    for (const request of [...this.#requests.values()]) if (request.owner === owner) this.unlock(owner, request.id)
  }
}
