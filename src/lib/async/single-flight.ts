interface Running<T> {
  result: Promise<T>
  waiting: number
  stop: AbortController
}

/** Runs work once for all concurrent callers with the same key; it is aborted when the last of them has left. */
export class SingleFlight {
  readonly #running = new Map<string, Running<unknown>>()

  async join<T>(key: string, signal: AbortSignal | undefined, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    signal?.throwIfAborted()
    const running = (this.#running.get(key) as Running<T> | undefined) ?? this.#start(key, work)
    running.waiting++
    let leave = () => {}
    const left = new Promise<never>((_, reject) => {
      leave = () => reject(signal?.reason)
      signal?.addEventListener('abort', leave, { once: true })
    })
    try {
      return await Promise.race([running.result, left])
    } finally {
      signal?.removeEventListener('abort', leave)
      if (--running.waiting === 0) {
        // later callers start a new run
        if (this.#running.get(key) === running) this.#running.delete(key)
        running.stop.abort(new Error('nobody waits for it any more'))
      }
    }
  }

  #start<T>(key: string, work: (signal: AbortSignal) => Promise<T>): Running<T> {
    const stop = new AbortController()
    const result = work(stop.signal)
    // callers that have left do not handle a rejection
    result.catch(() => {})
    const running = { result, waiting: 0, stop }
    this.#running.set(key, running)
    return running
  }
}
