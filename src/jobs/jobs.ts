import type { Hints } from './hints.js'
import type { Worker } from './worker.js'

/** Work in the background: hints of this process, and the worker on the durable queue. */
export interface Jobs extends Pick<Hints, 'add' | 'coalesce'>, Pick<Worker, 'start' | 'stop' | 'untilEnded' | 'id'> {
  /**
   * Resolves when nothing of this process is running or waiting any more. What waits for its time or for another
   * attempt is run at once, and tried again only after other jobs have been done.
   */
  drain(): Promise<void>
}

export const createJobs = (hints: Hints, worker: Worker): Jobs => ({
  add: (name, work) => hints.add(name, work),
  coalesce: (key, gap, name, work) => hints.coalesce(key, gap, name, work),
  get id() {
    return worker.id
  },
  start: (options) => worker.start(options),
  async stop(wait) {
    await Promise.all([hints.drain(), worker.stop(wait)])
  },
  untilEnded: () => worker.untilEnded(),
  async drain() {
    // each may leave work to the other
    do await hints.drain()
    while (await worker.drain())
  },
})
