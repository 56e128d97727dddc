import { readlinkSync } from 'node:fs'
import { getPriority, setPriority } from 'node:os'
import { parentPort } from 'node:worker_threads'

/** Makes this the thread of a `TextThread`: says that it has loaded, then answers each task with its HTML. */
export function startTextThread<Task>(htmlOf: (task: Task) => string): void {
  // on Linux priorities are per thread: requests come first
  if (process.platform === 'linux') setPriority(Math.min(19, getPriority() + 5))
  parentPort?.on('message', (task: Task) => parentPort?.postMessage({ html: htmlOf(task) }))
  parentPort?.postMessage({ thread: idOfThread() })
}

/** The id of this thread at the system, by which its time on a core is known; 0 where there is none. */
function idOfThread(): number {
  try {
    return Number(readlinkSync('/proc/thread-self').split('/').at(-1))
  } catch {
    return 0
  }
}
