import { unavailableIn } from '../lib/unavailable.js'

/**
 * Work of this process after a call. It is a hint that is lost with the process: what must be done is a job of the
 * durable queue, or is found again by one.
 */
export interface Hints {
  /**
   * Runs `work` soon and, where something it needs is unavailable, again until it succeeds. Any other failure is
   * reported, never thrown.
   */
  add(name: string, work: () => Promise<void>): void
  /**
   * Runs `work` once for all calls with this key: never twice at a time, and with at least `gap` milliseconds between
   * two starts. Calls while it runs cause another run afterwards.
   */
  coalesce(key: string, gap: number, name: string, work: () => Promise<void>): void
  /**
   * Resolves when nothing is running or waiting any more; what waits for its gap or for another attempt is run at once,
   * and is not tried again.
   */
  drain(): Promise<void>
}

export interface HintsOptions {
  onFault(fault: unknown, name: string): void
  /** Called when work will be tried again after `wait` milliseconds. */
  onRetry?(fault: unknown, name: string, wait: number): void
}

const RUNNING = 4
/** Milliseconds before work is tried again: twice as long each time, up to the longest. */
const FIRST_WAIT = 500
const LONGEST_WAIT = 30_000

interface Job {
  name: string
  work: () => Promise<void>
  /** How often it has been tried. */
  tried: number
}

/** The state of one key. */
interface Turn {
  asked?: (Job & { gap: number }) | undefined
  /** It is running, or waiting for a free place. */
  queued: boolean
  /** Runs until the next start is allowed. */
  timer?: NodeJS.Timeout | undefined
}

/** A queue that runs a few jobs at once, oldest first. */
export function createHints({ onFault, onRetry }: HintsOptions): Hints {
  const waiting: Job[] = []
  const running = new Set<Promise<void>>()
  const delayed = new Map<Job, NodeJS.Timeout>()
  let draining = 0

  const enqueue = (job: Job) => {
    waiting.push(job)
    next()
  }
  /** Milliseconds until a failed job is tried again; undefined: it is not. */
  const retryAfter = (job: Job, fault: unknown): number | undefined => {
    if (!unavailableIn(fault)?.passing || draining > 0) return undefined
    const wait = Math.min(FIRST_WAIT * 2 ** job.tried, LONGEST_WAIT)
    onRetry?.(fault, job.name, wait)
    return wait
  }
  const resume = (job: Job) => {
    clearTimeout(delayed.get(job))
    delayed.delete(job)
    enqueue(job)
  }
  const next = () => {
    while (running.size < RUNNING) {
      const job = waiting.shift()
      if (!job) return
      const run: Promise<void> = Promise.resolve()
        .then(job.work)
        .catch((fault: unknown) => {
          const wait = retryAfter(job, fault)
          if (wait === undefined) return onFault(fault, job.name)
          const again = { ...job, tried: job.tried + 1 }
          delayed.set(again, setTimeout(() => resume(again), wait).unref())
        })
        .finally(() => {
          running.delete(run)
          next()
        })
      running.add(run)
    }
  }

  const turns = new Map<string, Turn>()
  /** The gap of a key is over: what was asked for meanwhile is run, or the key is forgotten. */
  const due = (key: string, turn: Turn) => {
    clearTimeout(turn.timer)
    turn.timer = undefined
    const { asked } = turn
    if (!asked) return void turns.delete(key)
    turn.asked = undefined
    turn.queued = true
    const work = async () => {
      const started = Date.now()
      let wait = 0
      try {
        await asked.work()
      } catch (fault) {
        const again = retryAfter(asked, fault)
        if (again === undefined) throw fault
        wait = again
        turn.asked ??= { ...asked, tried: asked.tried + 1 }
      } finally {
        turn.queued = false
        turn.timer = setTimeout(() => due(key, turn), Math.max(wait, started + asked.gap - Date.now()))
        turn.timer.unref()
      }
    }
    enqueue({ name: asked.name, work, tried: 0 })
  }
  return {
    add: (name, work) => enqueue({ name, work, tried: 0 }),
    coalesce(key, gap, name, work) {
      const turn = turns.get(key) ?? { queued: false }
      turn.asked = { name, gap, work, tried: 0 }
      turns.set(key, turn)
      if (!turn.queued && !turn.timer) due(key, turn)
    },
    async drain() {
      draining++
      try {
        do {
          for (const [key, turn] of turns) if (turn.timer) due(key, turn)
          for (const job of [...delayed.keys()]) resume(job)
          await Promise.all(running)
        } while (running.size > 0 || delayed.size > 0 || [...turns.values()].some(({ asked }) => asked))
      } finally {
        draining--
      }
    },
  }
}
