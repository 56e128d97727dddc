/** Background work in this process. A job is a hint and a row is the truth: what is lost here is found again at the next start. */
export interface Jobs {
  /** Runs `work` soon; a failure is reported, never thrown. */
  add(name: string, work: () => Promise<void>): void
  /** Resolves when nothing is running or waiting any more. */
  drain(): Promise<void>
}

const RUNNING = 4

/** A queue that runs a few jobs at once, oldest first. */
export function createJobs(onFault: (fault: unknown, name: string) => void): Jobs {
  const waiting: { name: string; work: () => Promise<void> }[] = []
  const running = new Set<Promise<void>>()
  const next = () => {
    while (running.size < RUNNING) {
      const job = waiting.shift()
      if (!job) return
      const run: Promise<void> = Promise.resolve()
        .then(job.work)
        .catch((fault: unknown) => onFault(fault, job.name))
        .finally(() => {
          running.delete(run)
          next()
        })
      running.add(run)
    }
  }
  return {
    add(name, work) {
      waiting.push({ name, work })
      next()
    },
    async drain() {
      while (running.size > 0) await Promise.all(running)
    },
  }
}
