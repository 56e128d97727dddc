import { randomUUID } from 'node:crypto'
import type { Database } from '../db/client.js'
import { databaseError } from '../db/errors.js'
import { settlesWithin } from '../lib/async/settles-within.js'
import { shareOf } from '../lib/share.js'
import { unavailableIn } from '../lib/unavailable.js'
import { type AnyJob, LONGEST_WAIT, PRIORITIES, usualRetries } from './kinds.js'
import { storable } from './storable.js'
import { claimJobs, type Demand, isAnythingDue, type JobOutcome, leaveQueue, openQueue, renewLeases, type Schedule, type TakenJob } from './store.js'

/** How an attempt has ended, for logs and metrics. */
export interface Ended {
  kind: string
  id: number
  attempts: number
  end: JobOutcome['end']
  milliseconds: number
  /** Until the next attempt, where there is one. */
  wait?: number
  fault?: unknown
}

export interface Throttling {
  kinds: readonly string[]
  /** Above 0 and below 1. */
  factor: number
}

export interface WorkerOptions<C> {
  db: Database
  kinds: readonly AnyJob<C>[]
  /** What the kinds' `run` gets. */
  ctx(): C
  onEnd(ended: Ended): void
  /** Told when the queue itself could not be reached. */
  onFault(fault: unknown): void
  /** Jobs at a time, and those that mostly wait for the network. */
  places?: { work: number; network: number }
  /** Kinds that may have this share of the places only; null: none (AS-62). */
  throttling?(): Promise<Throttling | null>
  /** Processes on this machine among which places are shared; 1 by default. */
  processes?: number
  /** Milliseconds. */
  lease?: number
  poll?: number
}

export interface Worker {
  /** This process, as in the table `processes` while the worker runs; null: it does not. */
  readonly id: string | null
  /**
   * Takes jobs from now on, until `stop`. `alone`: no other process can be at work on this database, so jobs that a
   * killed one ran are taken at once. `gone`: ids of processes that are known to have ended; the same holds for their
   * jobs. `schedules` false: nothing is repeated by itself.
   */
  start(options?: { alone?: boolean; gone?: string[]; schedules?: boolean }): Promise<void>
  /**
   * Runs all that waits, whenever it is due, each once; resolves when this process runs nothing any more. False: no job
   * has been done by that, so there is nothing that could have come of it.
   */
  drain(): Promise<boolean>
  /**
   * Takes no more jobs, lets those that run end within `wait` milliseconds, then tells them to stop; what has not been
   * done is free for others.
   */
  stop(wait: number): Promise<void>
  /** Resolves when no run is under way any more, not even one that was given up because it did not end in time. */
  untilEnded(): Promise<void>
}

const PLACES = { work: 4, network: 32 }
/** Low priority gets at most half of the places, rounded up. */
const lowOf = (places: number) => Math.ceil(places / 2)
/** A killed process' jobs are free after the lease, and are found within a poll: within 15 seconds in all. */
const LEASE = 10_000
const POLL = 1_000
const DEADLINE = 300_000
/** Milliseconds that a run gets to end after it was told to; then its place is given up. */
const GRACE = 5_000
/** A job whose process was killed so often while it ran is set aside: it may be the cause. */
const MAX_TAKEN = 40

interface Running {
  row: TakenJob
  controller: AbortController
  finished: Promise<void>
}

const LOST = new Error('the lease of the job is lost')
const STOPPING = new Error('the service is stopping')

export function createWorker<C>(options: WorkerOptions<C>): Worker {
  return new QueueWorker(options)
}

class QueueWorker<C> implements Worker {
  readonly #kinds: Map<string, AnyJob<C>>
  readonly #worker = randomUUID()
  readonly #lease: number
  readonly #running = new Map<number, Running>()
  /** By job, those included that were given up because they did not end in time: such a job is not taken here again. */
  readonly #runs = new Map<number, Promise<unknown>>()
  #endings: JobOutcome[] = []
  #schedules: Schedule[] = []
  #timer: NodeJS.Timeout | undefined
  #started = false
  #stopping = false
  /** Something may be waiting. */
  #asked = false
  /** The next turn looks for everything: schedules, and kinds with places of their own, which may wait for a poll. */
  #thorough = true
  #turning: Promise<void> | undefined
  #polling = false
  /** When leases were last known to be held, by the clock of this process. */
  #renewedAt = 0
  #draining = 0
  /** How many jobs have been done. */
  #done = 0
  /** What has been tried in this drain. */
  readonly #tried = new Set<number>()

  constructor(private readonly options: WorkerOptions<C>) {
    this.#kinds = new Map(options.kinds.map((kind) => [kind.kind, kind]))
    if (this.#kinds.size !== options.kinds.length) throw new Error('two kinds of jobs have one name')
    this.#lease = options.lease ?? LEASE
    options.db.onCommitted(() => this.#wake())
    options.db.onBack(() => this.#wake())
  }

  get id(): string | null {
    return this.#started ? this.#worker : null
  }

  async start({ alone = false, gone = [] as string[], schedules = true } = {}): Promise<void> {
    if (schedules)
      for (const { kind, every, priority = 'normal' } of this.#kinds.values())
        if (every !== undefined) this.#schedules.push({ kind, every, priority: PRIORITIES[priority] })
    this.#renewedAt = performance.now()
    await openQueue(this.options.db, { worker: this.#worker, lease: this.#lease, schedules: this.#schedules, gone: alone ? 'all' : gone })
    this.#started = true
    this.#timer = setInterval(() => void this.#poll(), this.options.poll ?? POLL).unref()
    this.#wake()
  }

  async drain(): Promise<boolean> {
    this.#draining++
    const before = this.#done
    try {
      let taken: number
      do {
        taken = this.#tried.size
        this.#asked = true
        await this.#turns()
        await Promise.all([...this.#running.values()].map(({ finished }) => finished))
      } while (!this.#stopping && (this.#tried.size > taken || this.#running.size > 0 || this.#endings.length > 0))
      return this.#done > before
    } finally {
      if (--this.#draining === 0) this.#tried.clear()
    }
  }

  async stop(wait: number): Promise<void> {
    this.#stopping = true
    const ended = Promise.all([...this.#running.values()].map(({ finished }) => finished))
    if (!(await settlesWithin(wait, ended))) {
      for (const { controller } of this.#running.values()) controller.abort(STOPPING)
      // the lease of one that goes on all the same ends by itself
      await settlesWithin(GRACE / 5, ended)
    }
    clearInterval(this.#timer)
    await this.#turns().catch(() => undefined)
    if (this.#started) await leaveQueue(this.options.db, this.#worker).catch(() => undefined)
    this.#started = false
  }

  async untilEnded(): Promise<void> {
    await Promise.allSettled(this.#runs.values())
  }

  #wake(): void {
    this.#asked = true
    if (this.#started && !this.#stopping) void this.#turns().catch(() => undefined)
  }

  /** Takes turns until there is nothing to write and nothing to take; one run for all callers. */
  async #turns(): Promise<void> {
    this.#turning ??= Promise.resolve().then(() => this.#takeTurns())
    await this.#turning
  }

  async #takeTurns(): Promise<void> {
    try {
      while (this.#endings.length > 0 || (this.#asked && !this.#stopping)) if (!(await this.#takeOne())) return
    } finally {
      // in the step that has found nothing more to do: whoever asks from now on starts a new run
      this.#turning = undefined
    }
  }

  /** False: the database does not answer; the next poll tries again. */
  async #takeOne(): Promise<boolean> {
    this.#asked = false
    const endings = this.#endings
    this.#endings = []
    const thorough = this.#thorough || this.#draining > 0
    this.#thorough = false
    const sent = performance.now()
    try {
      const throttling = (await this.options.throttling?.()) ?? null
      const rows = await claimJobs(this.options.db, {
        worker: this.#worker,
        lease: this.#lease,
        outcomes: endings,
        demands: this.#demands(thorough, throttling),
        held: [...this.#running.keys(), ...this.#runs.keys(), ...this.#tried],
        early: this.#draining > 0,
        schedules: this.#stopping || !thorough ? [] : this.#schedules,
      })
      if (this.#running.size === 0 && !this.#started) this.#renewedAt = sent
      for (const row of rows) {
        // this turn was under way when the worker was told to stop
        if (this.#stopping) this.#endings.push({ id: row.id, end: 'released' })
        else this.#begin(row)
      }
      if (rows.some(({ more }) => more)) this.#asked = true
      return true
    } catch (fault) {
      this.#endings = [...endings, ...this.#endings]
      this.#asked = true
      this.#thorough ||= thorough
      if (!unavailableIn(fault)?.passing) this.options.onFault(fault)
      if (this.#draining > 0) throw fault
      return false
    }
  }

  /** How many more jobs of each class this process has places for. */
  #demands(thorough: boolean, throttling: Throttling | null): Demand[] {
    if (this.#stopping) return []
    const { places: { work, network } = PLACES, processes = 1 } = this.options
    const share = (whole: number, least = 1) => shareOf(whole, processes, least)
    const all = [...this.#kinds.values()]
    const throttled = throttling === null ? [] : all.filter(({ kind }) => throttling.kinds.includes(kind))
    const free = all.filter((kind) => !throttled.includes(kind))
    const shared = free.filter(({ concurrency: atOnce }) => atOnce === undefined)
    const placesOf = ({ concurrency: atOnce, network: waits }: AnyJob<C>) => atOnce ?? (waits ? network : work)
    return [
      this.#demand(share(work, 2), shared.filter((kind) => !kind.network)), // biome-ignore format: one line each
      this.#demand(share(network), shared.filter((kind) => kind.network)), // biome-ignore format: one line each
      ...throttled.map((kind) => this.#demand(share(Math.ceil(placesOf(kind) * (throttling?.factor ?? 1))), [kind])),
      ...free.flatMap((kind) => (kind.concurrency === undefined || !thorough ? [] : [this.#demand(share(kind.concurrency), [kind])])),
    ]
  }

  #demand(places: number, of: AnyJob<C>[]): Demand {
    const kinds = of.map(({ kind }) => kind)
    const running = [...this.#running.values()].filter(({ row }) => kinds.includes(row.kind))
    const limit = places - running.length
    const low = lowOf(places) - running.filter(({ row }) => row.priority === 2).length
    return { kinds, limit, low: Math.max(0, Math.min(limit, low)) }
  }

  #begin(row: TakenJob): void {
    if (this.#draining > 0) this.#tried.add(row.id)
    const controller = new AbortController()
    const began = performance.now()
    const finished = this.#run(row, controller)
      .catch((fault: unknown): JobOutcome & { fault: unknown } => this.#failure(row, controller.signal, fault))
      .then((ending) => {
        const { fault, ...written } = { fault: undefined, ...ending }
        this.#running.delete(row.id)
        if (written.end === 'done') this.#done++
        this.#endings.push(written)
        this.options.onEnd({
          kind: row.kind,
          id: row.id,
          attempts: row.attempts,
          end: written.end,
          milliseconds: performance.now() - began,
          ...(written.wait !== undefined && { wait: written.wait }),
          ...(fault !== undefined && { fault }),
        })
        this.#asked = true
        if (this.#started || this.#draining > 0) void this.#turns().catch(() => undefined)
      })
    this.#running.set(row.id, { row, controller, finished })
  }

  async #run(row: TakenJob, controller: AbortController): Promise<JobOutcome> {
    const job = this.#kinds.get(row.kind) as AnyJob<C>
    const { id, attempts } = row
    if (attempts > MAX_TAKEN) return { id, end: 'failed', error: 'the process ended each time it ran' }
    const input = job.input.safeParse(row.payload)
    if (!input.success) return { id, end: 'failed', error: `its input cannot be read: ${input.error.message}` }
    const deadline = setTimeout(() => controller.abort(new Error('the deadline of the job is over')), job.deadline ?? DEADLINE)
    const run = Promise.resolve().then(async () => {
      const next = await job.run(this.options.ctx(), input.data, { id, number: attempts, signal: controller.signal })
      return next instanceof Date ? next : undefined
    })
    this.#runs.set(id, run)
    void run.catch(() => undefined).finally(() => this.#runs.delete(id))
    try {
      const next = await orGivenUp(run, controller.signal)
      return next ? { id, end: 'later', wait: Math.max(0, next.getTime() - Date.now()) } : { id, end: 'done' }
    } finally {
      clearTimeout(deadline)
    }
  }

  /** Whether a job that has failed is tried again, and when. */
  #failure({ id, kind, attempts }: TakenJob, signal: AbortSignal, thrown: unknown): JobOutcome & { fault: unknown } {
    const fault = databaseError(thrown)
    if (signal.reason === STOPPING || this.#stopping) return { id, end: 'released', fault }
    const error = storable((fault instanceof Error ? `${fault.name}: ${fault.message}` : String(fault)).slice(0, 1_000))
    const { retries = usualRetries } = this.#kinds.get(kind) as AnyJob<C>
    const wait = retries(attempts) ?? (unavailableIn(fault)?.passing ? LONGEST_WAIT : null)
    return wait === null ? { id, end: 'failed', error, fault } : { id, end: 'retried', wait, error, fault }
  }

  /** Every second: renews leases, and looks for what other processes have enqueued or left. */
  async #poll(): Promise<void> {
    if (this.#polling) return
    this.#polling = true
    try {
      await this.#renew()
      if (this.#stopping) return
      if (this.#endings.length > 0 || this.#asked || (await isAnythingDue(this.options.db))) {
        this.#thorough = true
        this.#wake()
      }
    } catch (fault) {
      if (!unavailableIn(fault)?.passing) this.options.onFault(fault)
    } finally {
      this.#polling = false
    }
  }

  async #renew(): Promise<void> {
    const now = performance.now()
    if (now - this.#renewedAt < this.#lease / 4) return
    const asked = [...this.#running.keys()]
    try {
      const held = await renewLeases(this.options.db, this.#worker, this.#lease, asked)
      this.#renewedAt = now
      for (const id of asked) if (!held.has(id)) this.#running.get(id)?.controller.abort(LOST)
    } catch (fault) {
      // whoever takes them now must not meet a run of this process
      if (now - this.#renewedAt > this.#lease * 0.8) for (const { controller } of this.#running.values()) controller.abort(LOST)
      throw fault
    }
  }
}

/** Waits for a run; where it goes on for long after its signal has fired it is given up, and that reason is thrown. */
function orGivenUp<Result>(run: Promise<Result>, signal: AbortSignal): Promise<Result> {
  return new Promise((resolve, reject) => {
    let timer: NodeJS.Timeout | undefined
    const onAbort = () => {
      timer = setTimeout(() => reject(signal.reason), GRACE)
    }
    signal.addEventListener('abort', onAbort, { once: true })
    run.then(resolve, reject).finally(() => {
      clearTimeout(timer)
      signal.removeEventListener('abort', onAbort)
    })
  })
}
