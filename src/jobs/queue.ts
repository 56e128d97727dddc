/** Background work in this process. A job is a hint and a row is the truth: what is lost here is found again at the next start. */
export interface Jobs {
  /** Runs `work` soon; a failure is reported, never thrown. */
  add(name: string, work: () => Promise<void>): void
  /** Runs `work` for all calls with this key together: never twice at once, and with `gap` milliseconds or more between two starts. What is asked for while it runs is done afterwards. */
  coalesce(key: string, gap: number, name: string, work: () => Promise<void>): void
  /** Resolves when nothing is running or waiting any more; what waits for its gap is run at once. */
  drain(): Promise<void>
}

const RUNNING = 4

/** Where the work of one key stands. */
interface Turn {
  asked?: { name: string; gap: number; work: () => Promise<void> } | undefined
  /** It runs, or waits for a free place. */
  queued: boolean
  /** Until the next start may be. */
  timer?: NodeJS.Timeout | undefined
}

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
  const add = (name: string, work: () => Promise<void>) => {
    waiting.push({ name, work })
    next()
  }

  const turns = new Map<string, Turn>()
  /** The gap of a key is over: what was asked for meanwhile is done, or the key forgotten. */
  const due = (key: string, turn: Turn) => {
    clearTimeout(turn.timer)
    turn.timer = undefined
    const { asked } = turn
    if (!asked) return void turns.delete(key)
    turn.asked = undefined
    turn.queued = true
    add(asked.name, async () => {
      const started = Date.now()
      await asked.work().finally(() => {
        turn.queued = false
        turn.timer = setTimeout(() => due(key, turn), Math.max(0, started + asked.gap - Date.now()))
        turn.timer.unref()
      })
    })
  }
  return {
    add,
    coalesce(key, gap, name, work) {
      const turn = turns.get(key) ?? { queued: false }
      turn.asked = { name, gap, work }
      turns.set(key, turn)
      if (!turn.queued && !turn.timer) due(key, turn)
    },
    async drain() {
      do {
        for (const [key, turn] of turns) if (turn.timer) due(key, turn)
        await Promise.all(running)
      } while (running.size > 0 || [...turns.values()].some(({ asked }) => asked))
    },
  }
}
