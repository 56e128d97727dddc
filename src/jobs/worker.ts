import { randomUUID } from 'node:crypto'
import type { Database } from '../db/client.js'
import { databaseError } from '../db/errors.js'
import { runInHookChain } from '../lib/async/hook-chain.js'
import { settlesWithin } from '../lib/async/settles-within.js'
import { shareOf } from '../lib/share.js'
import { storable } from '../lib/storable.js'
import { unavailableIn } from '../lib/unavailable.js'
import { type AnyJob, defaultRetries, MAX_RETRY_MS, PRIORITIES, SLOTS, type Slots } from './kinds.js'
import {
  type ClaimedJob,
  claimJobs,
  type Demand,
  isAnythingDue,
  type JobOutcome,
  leaveQueue,
  openQueue,
  renewLeases,
  type Schedule,
} from './store.js'

/** A finished attempt, for logs and metrics. */
export interface FinishedAttempt {
  kind: string
  id: number
  attempts: number
  end: JobOutcome['end']
  milliseconds: number
  /** Milliseconds until the next attempt, if there is one. */
  wait?: number
  fault?: unknown
}

export interface Throttling {
  kinds: readonly string[]
  /** The share of the slots that these kinds may use, above 0 and below 1. */
  factor: number
}

export interface WorkerOptions<C> {
  db: Database
  kinds: readonly AnyJob<C>[]
  /** The context passed to `run` of each kind. */
  ctx(): C
  onEnd(ended: FinishedAttempt): void
  /** Called when the queue itself cannot be reached. */
  onFault(fault: unknown): void
  /** Jobs at a time, where they differ from `SLOTS`. */
  slots?: Partial<Record<Slots, number>>
  /** Kinds that are limited to a share of their slots; null for none (AS-62). */
  throttling?(): Promise<Throttling | null>
  /** Processes on this machine that share the slots; 1 by default. */
  processes?: number
  /** Milliseconds. */
  lease?: number
  poll?: number
  /** The newest migration of this program, and what is called, once, when the database has a newer one. */
  schema?: { known: number; onOutdated(): void }
}

export interface Worker {
  /** The id of this process in the table `processes`; null while the worker does not run. */
  readonly id: string | null
  /**
   * Claims jobs until `stop` is called. `exclusive`: no other process uses this database, so jobs of killed processes
   * are claimed at once. `endedProcesses`: ids of processes that are known to have ended; their jobs are claimed at
   * once as well. `schedules` false: no periodic jobs.
   */
  start(options?: { exclusive?: boolean; endedProcesses?: string[]; schedules?: boolean }): Promise<void>
  /**
   * Runs each waiting job once, whenever it is due; resolves when this process runs none any more. Returns false if no
   * job was done, so no new work can have come of it.
   */
  drain(): Promise<boolean>
  /**
   * Claims no more jobs, lets running ones finish within `wait` milliseconds, then aborts them. Unfinished jobs are
   * released for other processes.
   */
  stop(wait: number): Promise<void>
  /** Resolves when no run is in progress, including runs that were abandoned because they did not end in time. */
  untilEnded(): Promise<void>
}

/** Each of several processes has at least so many of the slots of its machine. */
const LEAST_SLOTS: Record<Slots, number> = { work: 2, messages: 2, network: 1, upkeep: 2 }
/** Low-priority jobs get at most half of the slots, rounded up. */
const maxLowPriority = (slots: number) => Math.ceil(slots / 2)
/**
 * Other processes take over the jobs of a killed process within 15 seconds: its leases expire, and the next poll finds
 * the jobs.
 */
const LEASE_MS = 10_000
const POLL_INTERVAL_MS = 1_000
const DEFAULT_DEADLINE_MS = 300_000
/** How long a run may take to end after its signal is aborted, in milliseconds; then its slot is freed. */
const ABORT_GRACE_MS = 5_000
/**
 * The attempts of a job after which it fails without another one. Failed attempts end sooner (see `defaultRetries`), so
 * most of these were cut short by the end of their process, which the job may have caused.
 */
const MAX_ATTEMPTS = 40

interface Running {
  row: ClaimedJob
  controller: AbortController
  finished: Promise<void>
}

const LEASE_LOST = new Error('the lease of the job is lost')
const STOPPING = new Error('the service is stopping')

export function createWorker<C>(options: WorkerOptions<C>): Worker {
  return new QueueWorker(options)
}

class QueueWorker<C> implements Worker {
  readonly #kinds: Map<string, AnyJob<C>>
  readonly #worker = randomUUID()
  readonly #lease: number
  readonly #running = new Map<number, Running>()
  /** By job id, including abandoned runs that have not ended: such a job is not claimed here again. */
  readonly #runs = new Map<number, Promise<unknown>>()
  #outcomes: JobOutcome[] = []
  #schedules: Schedule[] = []
  #timer: NodeJS.Timeout | undefined
  #started = false
  #stopping = false
  #outdated = false
  /** There may be jobs to claim. */
  #claimPending = false
  /** The next claim includes schedules, upkeep and kinds with slots of their own, which may otherwise wait for a poll. */
  #fullClaim = true
  #claiming: Promise<void> | undefined
  #polling = false
  /** When the leases were last known to be held, by `performance.now()`. */
  #renewedAt = 0
  #draining = 0
  /** The number of jobs done. */
  #done = 0
  /** Jobs attempted in this drain. */
  readonly #attempted = new Set<number>()

  constructor(private readonly options: WorkerOptions<C>) {
    this.#kinds = new Map(options.kinds.map((kind) => [kind.kind, kind]))
    if (this.#kinds.size !== options.kinds.length) throw new Error('two kinds of jobs have one name')
    this.#lease = options.lease ?? LEASE_MS
    options.db.onCommitted(() => this.#wake())
    options.db.onReconnect(() => this.#wake())
  }

  get id(): string | null {
    return this.#started ? this.#worker : null
  }

  async start({ exclusive = false, endedProcesses = [] as string[], schedules = true } = {}): Promise<void> {
    if (schedules)
      for (const { kind, every, priority = 'normal' } of this.#kinds.values())
        if (every !== undefined) this.#schedules.push({ kind, every, priority: PRIORITIES[priority] })
    this.#renewedAt = performance.now()
    const { schema } = await openQueue(this.options.db, {
      worker: this.#worker,
      lease: this.#lease,
      schedules: this.#schedules,
      endedProcesses: exclusive ? 'all' : endedProcesses,
    })
    this.#started = true
    this.#checkSchema(schema)
    this.#timer = setInterval(() => void this.#poll(), this.options.poll ?? POLL_INTERVAL_MS).unref()
    this.#wake()
  }

  async drain(): Promise<boolean> {
    this.#draining++
    const before = this.#done
    try {
      let attempted: number
      do {
        attempted = this.#attempted.size
        this.#claimPending = true
        await this.#claimAll()
        await Promise.all([...this.#running.values()].map(({ finished }) => finished))
      } while (!this.#stopping && (this.#attempted.size > attempted || this.#running.size > 0 || this.#outcomes.length > 0))
      return this.#done > before
    } finally {
      if (--this.#draining === 0) this.#attempted.clear()
    }
  }

  async stop(wait: number): Promise<void> {
    this.#stopping = true
    const ended = Promise.all([...this.#running.values()].map(({ finished }) => finished))
    if (!(await settlesWithin(wait, ended))) {
      for (const { controller } of this.#running.values()) controller.abort(STOPPING)
      // a run that continues anyway loses its lease when that expires
      await settlesWithin(ABORT_GRACE_MS / 5, ended)
    }
    clearInterval(this.#timer)
    await this.#claimAll().catch(() => undefined)
    if (this.#started) await leaveQueue(this.options.db, this.#worker).catch(() => undefined)
    this.#started = false
  }

  async untilEnded(): Promise<void> {
    await Promise.allSettled(this.#runs.values())
  }

  #wake(): void {
    this.#claimPending = true
    if (this.#started && !this.#stopping) void this.#claimAll().catch(() => undefined)
  }

  /** Claims until there are no outcomes to store and no jobs to claim; concurrent callers share one loop. */
  async #claimAll(): Promise<void> {
    this.#claiming ??= Promise.resolve().then(() => this.#claimLoop())
    await this.#claiming
  }

  async #claimLoop(): Promise<void> {
    try {
      while (this.#outcomes.length > 0 || (this.#claimPending && !this.#stopping)) if (!(await this.#claimOnce())) return
    } finally {
      // in the same tick as the last check, so that a later wake-up starts a new loop
      this.#claiming = undefined
    }
  }

  /** Returns false if the database does not answer; the next poll tries again. */
  async #claimOnce(): Promise<boolean> {
    this.#claimPending = false
    const outcomes = this.#outcomes
    this.#outcomes = []
    const full = this.#fullClaim || this.#draining > 0
    this.#fullClaim = false
    const sent = performance.now()
    try {
      const throttling = (await this.options.throttling?.()) ?? null
      const rows = await claimJobs(this.options.db, {
        worker: this.#worker,
        lease: this.#lease,
        outcomes,
        demands: this.#demands(full, throttling),
        held: [...this.#running.keys(), ...this.#runs.keys(), ...this.#attempted],
        early: this.#draining > 0,
        schedules: this.#stopping || !full ? [] : this.#schedules,
      })
      if (this.#running.size === 0 && !this.#started) this.#renewedAt = sent
      for (const row of rows) {
        // the worker was stopped while this claim was in progress
        if (this.#stopping) this.#outcomes.push({ id: row.id, end: 'released' })
        else this.#begin(row)
      }
      if (rows.some(({ more }) => more)) this.#claimPending = true
      return true
    } catch (fault) {
      this.#outcomes = [...outcomes, ...this.#outcomes]
      this.#claimPending = true
      this.#fullClaim ||= full
      if (!unavailableIn(fault)?.transient) this.options.onFault(fault)
      if (this.#draining > 0) throw fault
      return false
    }
  }

  /** The free slots of this process for each class of kinds. */
  #demands(full: boolean, throttling: Throttling | null): Demand[] {
    if (this.#stopping) return []
    const { processes = 1 } = this.options
    const slots = { ...SLOTS, ...this.options.slots }
    const share = (whole: number, least = 1) => shareOf(whole, processes, least)
    const all = [...this.#kinds.values()]
    const throttled = throttling === null ? [] : all.filter(({ kind }) => throttling.kinds.includes(kind))
    const unthrottled = all.filter((kind) => !throttled.includes(kind))
    const shared = unthrottled.filter(({ concurrency }) => concurrency === undefined)
    const classes = (Object.keys(SLOTS) as Slots[]).filter((each) => full || each !== 'upkeep')
    return [
      ...classes.map((each) =>
        this.#demand(
          share(slots[each], LEAST_SLOTS[each]),
          shared.filter((kind) => classOf(kind) === each),
        ),
      ),
      ...throttled.map((kind) => this.#demand(share(Math.ceil((kind.concurrency ?? slots[classOf(kind)]) * (throttling?.factor ?? 1))), [kind])),
      ...unthrottled.flatMap((kind) => (kind.concurrency === undefined || !full ? [] : [this.#demand(share(kind.concurrency), [kind])])),
    ]
  }

  #demand(slots: number, of: AnyJob<C>[]): Demand {
    const kinds = of.map(({ kind }) => kind)
    const running = [...this.#running.values()].filter(({ row }) => kinds.includes(row.kind))
    const limit = slots - running.length
    const low = maxLowPriority(slots) - running.filter(({ row }) => row.priority === 2).length
    return { kinds, limit, low: Math.max(0, Math.min(limit, low)) }
  }

  #begin(row: ClaimedJob): void {
    if (this.#draining > 0) this.#attempted.add(row.id)
    const controller = new AbortController()
    const began = performance.now()
    const finished = this.#run(row, controller)
      .catch((fault: unknown): JobOutcome & { fault: unknown } => this.#failure(row, controller.signal, fault))
      .then(async (outcome) => {
        if (outcome.end === 'failed') await this.#recordFailure(row).catch(() => undefined)
        const { fault: thrown, ...written } = { fault: undefined, ...outcome }
        const fault = thrown ?? (written.error === undefined ? undefined : new Error(written.error))
        this.#running.delete(row.id)
        const kind = this.#kinds.get(row.kind) as AnyJob<C>
        this.#fullClaim ||= kind.concurrency !== undefined || classOf(kind) === 'upkeep'
        if (written.end === 'done') this.#done++
        this.#outcomes.push(written)
        this.options.onEnd({
          kind: row.kind,
          id: row.id,
          attempts: row.attempts,
          end: written.end,
          milliseconds: performance.now() - began,
          ...(written.wait !== undefined && { wait: written.wait }),
          ...(fault !== undefined && { fault }),
        })
        this.#claimPending = true
        if (this.#started || this.#draining > 0) void this.#claimAll().catch(() => undefined)
      })
    this.#running.set(row.id, { row, controller, finished })
  }

  async #run(row: ClaimedJob, controller: AbortController): Promise<JobOutcome> {
    const job = this.#kinds.get(row.kind) as AnyJob<C>
    const { id, attempts } = row
    if (attempts > MAX_ATTEMPTS) return { id, end: 'failed', error: 'it was attempted too often: the process may have ended each time' }
    const input = job.input.safeParse(row.payload)
    if (!input.success) return { id, end: 'failed', error: `its input cannot be read: ${input.error.message}` }
    const deadline = setTimeout(() => controller.abort(new Error('the deadline of the job is over')), job.deadline ?? DEFAULT_DEADLINE_MS)
    // not in the chain of the call that woke this worker
    const run = runInHookChain(row.hook_chain?.map(Number) ?? null, async () => {
      await null
      const next = await job.run(this.options.ctx(), input.data, { id, number: attempts, signal: controller.signal })
      return next instanceof Date ? next : undefined
    })
    this.#runs.set(id, run)
    void run.catch(() => undefined).finally(() => this.#runs.delete(id))
    try {
      const next = await resultOrAbort(run, controller.signal)
      return next ? { id, end: 'later', wait: Math.max(0, next.getTime() - Date.now()) } : { id, end: 'done' }
    } finally {
      clearTimeout(deadline)
    }
  }

  async #recordFailure({ kind, payload }: ClaimedJob) {
    const job = this.#kinds.get(kind) as AnyJob<C>
    const input = job.input.safeParse(payload)
    if (input.success) await job.failed?.(this.options.ctx(), input.data)
  }

  /** Whether and when a failed job is retried. */
  #failure({ id, kind, attempts }: ClaimedJob, signal: AbortSignal, thrown: unknown): JobOutcome & { fault: unknown } {
    const fault = databaseError(thrown)
    if (signal.reason === STOPPING || this.#stopping) return { id, end: 'released', fault }
    const error = storable((fault instanceof Error ? `${fault.name}: ${fault.message}` : String(fault)).slice(0, 1_000))
    const { retries = defaultRetries } = this.#kinds.get(kind) as AnyJob<C>
    const wait = retries(attempts)
    if (wait !== null) return { id, end: 'retried', wait, error, fault }
    // attempts while something is unavailable never fail a job, however long that lasts (SEC-186)
    return unavailableIn(fault)?.transient
      ? { id, end: 'retried', wait: MAX_RETRY_MS, uncounted: true, error, fault }
      : { id, end: 'failed', error, fault }
  }

  /** Runs every second: renews leases, and looks for jobs that other processes have enqueued or abandoned. */
  async #poll(): Promise<void> {
    if (this.#polling) return
    this.#polling = true
    try {
      await this.#renew()
      if (this.#stopping) return
      if (this.#outcomes.length > 0 || this.#claimPending || (await isAnythingDue(this.options.db))) {
        this.#fullClaim = true
        this.#wake()
      }
    } catch (fault) {
      if (!unavailableIn(fault)?.transient) this.options.onFault(fault)
    } finally {
      this.#polling = false
    }
  }

  /** Another process has migrated the database: this one does not know how to use it any more. */
  #checkSchema(schema: number): void {
    const { schema: own } = this.options
    if (!own || this.#outdated || schema <= own.known) return
    this.#outdated = true
    own.onOutdated()
  }

  async #renew(): Promise<void> {
    const now = performance.now()
    if (now - this.#renewedAt < this.#lease / 4) return
    const asked = [...this.#running.keys()]
    try {
      const { held, schema } = await renewLeases(this.options.db, this.#worker, this.#lease, asked)
      this.#renewedAt = now
      this.#checkSchema(schema)
      for (const id of asked) if (!held.has(id)) this.#running.get(id)?.controller.abort(LEASE_LOST)
    } catch (fault) {
      // the leases may expire: another process that claims the jobs must not run them at the same time as this one
      if (now - this.#renewedAt > this.#lease * 0.8) for (const { controller } of this.#running.values()) controller.abort(LEASE_LOST)
      throw fault
    }
  }
}

const classOf = ({ slots = 'work' }: { slots?: Slots }): Slots => slots

/**
 * The result of a run. If it continues for too long after its signal was aborted, the run is abandoned and the reason
 * is thrown.
 */
function resultOrAbort<Result>(run: Promise<Result>, signal: AbortSignal): Promise<Result> {
  return new Promise((resolve, reject) => {
    let timer: NodeJS.Timeout | undefined
    const onAbort = () => {
      timer = setTimeout(() => reject(signal.reason), ABORT_GRACE_MS)
    }
    signal.addEventListener('abort', onAbort, { once: true })
    run.then(resolve, reject).finally(() => {
      clearTimeout(timer)
      signal.removeEventListener('abort', onAbort)
    })
  })
}
