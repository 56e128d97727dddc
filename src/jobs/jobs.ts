import type { LocalTasks } from './local-tasks.js'
import type { Worker } from './worker.js'

/** Background work: tasks of this process, and the worker of the durable queue. */
export interface Jobs extends Pick<LocalTasks, 'add' | 'coalesce'>, Pick<Worker, 'start' | 'stop' | 'untilEnded' | 'id'> {
  /**
   * Resolves when this process has no task or job running or waiting. Work that is scheduled for later or for a retry
   * runs at once, and is retried only after other jobs have been done.
   */
  drain(): Promise<void>
}

export const createJobs = (tasks: LocalTasks, worker: Worker): Jobs => ({
  add: (name, work) => tasks.add(name, work),
  coalesce: (key, gap, name, work) => tasks.coalesce(key, gap, name, work),
  get id() {
    return worker.id
  },
  start: (options) => worker.start(options),
  async stop(wait) {
    await Promise.all([tasks.drain(), worker.stop(wait)])
  },
  untilEnded: () => worker.untilEnded(),
  async drain() {
    // each may create work for the other
    do await tasks.drain()
    while (await worker.drain())
  },
})
