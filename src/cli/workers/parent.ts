import cluster, { type Worker } from 'node:cluster'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import { StartFault } from '../../lib/start-fault.js'
import { Locks } from './locks.js'
import type { Begin, ToParent, ToWorker } from './messages.js'
import { Totals } from './totals.js'

/** Delay before a worker that has ended is replaced, in milliseconds; it doubles while replacements end early. */
const MIN_RESTART_DELAY_MS = 200
const MAX_RESTART_DELAY_MS = 30_000
/** A worker that has run for this long did not end early. */
const STABLE_AFTER_MS = 60_000
/** The start fails when this many workers have ended during it. */
const MAX_FAILED_STARTS = 5
/** How often the parent looks for workers that cannot serve, in milliseconds. */
const HEALTH_INTERVAL_MS = 2_000
/** A worker that could not serve for this long, while another could, is replaced. */
const UNHEALTHY_AFTER_MS = 15_000
/** How long it may take to end what it can still serve. */
const UNHEALTHY_GRACE_MS = 10_000
/** How long workers may take to exit after their requests have ended, in milliseconds. */
const EXIT_GRACE_MS = 1_500

export interface WorkersOptions {
  count: number
  /** The program that workers run. */
  program: string
  /** Sent to all workers. */
  begin: Omit<Begin, 'type' | 'number' | 'first' | 'killed'>
  log: Logger
}

/** A worker, or its replacement. */
interface WorkerSlot {
  number: number
  worker: Worker
  started: number
  /** Delay before its replacement is started. */
  restartDelay: number
  /** Its id in the job queue, once it has joined. */
  queueId: string | null
  listening: boolean
  /** Why it could not start. */
  fault?: string
  /** When it last reported that it can serve; set to the present when it begins to listen. */
  healthyAt: number
  /** The ids of `#endedQueueIds` that were sent to it. */
  sentEndedIds: string[]
}

/**
 * Starts worker processes, replaces those that end, and connects them. They share the listening sockets: each
 * takes connections by itself, so that none is lost on its way through this process when a worker is killed
 * (docs/adr/0019).
 */
export class Workers {
  readonly #slots: WorkerSlot[] = []
  readonly #locks = new Locks()
  readonly #totals = new Totals()
  /** Ids in the job queue of workers that have ended, until a worker that starts has released their leases. */
  readonly #endedQueueIds = new Set<string>()
  /** Workers that wait until the database is prepared. */
  #waiting: WorkerSlot[] = []
  #preparing: WorkerSlot | undefined
  #prepared = false
  #stopping = false
  #replaced = 0
  #failedStarts = 0
  #healthTimer: NodeJS.Timeout | undefined
  #startup: { resolve(): void; reject(fault: Error): void } | undefined

  constructor(private readonly options: WorkersOptions) {
    cluster.schedulingPolicy = cluster.SCHED_NONE
    cluster.setupPrimary({
      exec: options.program,
      args: ['serve', '--worker'],
      execArgv: [...process.execArgv, '--enable-source-maps'],
      serialization: 'advanced',
    })
  }

  /** Resolves when all workers listen. Rejects if a worker cannot start, or the signal fires. */
  async start(signal: AbortSignal): Promise<void> {
    const started = new Promise<void>((resolve, reject) => {
      this.#startup = { resolve, reject }
      signal.addEventListener('abort', () => reject(signal.reason), { once: true })
    })
    for (let number = 1; number <= this.options.count; number++) this.#fork(number, MIN_RESTART_DELAY_MS)
    await started.finally(() => {
      this.#startup = undefined
    })
    this.#healthTimer = setInterval(() => this.#endUnhealthy(), HEALTH_INTERVAL_MS).unref()
  }

  /** Makes all workers serve this SSH socket, unless they do already. */
  serveSocket(path: string): void {
    if (this.options.begin.socket === path) return
    this.options.begin.socket = path
    for (const slot of this.#slots) if (slot.listening) this.#send(slot, { type: 'socket', path })
  }

  /** Stops the workers; running requests may take `wait` milliseconds. */
  async stop(wait: number): Promise<void> {
    this.#stopping = true
    clearInterval(this.#healthTimer)
    const running = this.#slots.filter(({ worker }) => !worker.isDead())
    const ended = Promise.all(running.map(({ worker }) => new Promise((resolve) => worker.once('exit', resolve))))
    for (const slot of running) this.#send(slot, { type: 'stop' })
    if (await Promise.race([ended.then(() => true), sleep(wait + EXIT_GRACE_MS, false)])) return
    for (const { worker } of running) worker.process.kill('SIGKILL')
    await ended
  }

  #fork(number: number, restartDelay: number): void {
    const slot: WorkerSlot = {
      number,
      worker: cluster.fork(),
      started: performance.now(),
      restartDelay,
      queueId: null,
      listening: false,
      healthyAt: 0,
      sentEndedIds: [],
    }
    this.#slots[number - 1] = slot
    const { worker } = slot
    worker.on('message', (message: ToParent) => this.#receive(slot, message))
    worker.on('error', (error) => {
      this.options.log.error({ err: error, worker: number }, 'a worker cannot be reached')
      // the process was not started
      if (worker.process.pid === undefined) this.#ended(slot, { code: null, signal: null })
    })
    worker.once('exit', (code, signal) => this.#ended(slot, { code, signal }))
  }

  /**
   * Ends workers that cannot serve, for example because git cannot be started, while others can: they are replaced. What
   * keeps all of them from serving is outside of them.
   */
  #endUnhealthy(): void {
    const now = performance.now()
    const listening = this.#slots.filter((slot) => slot.listening)
    if (!listening.some(({ healthyAt }) => now - healthyAt < 2 * HEALTH_INTERVAL_MS)) return
    for (const { number, worker, healthyAt } of listening.filter((slot) => now - slot.healthyAt > UNHEALTHY_AFTER_MS)) {
      const hangs = now - healthyAt > UNHEALTHY_AFTER_MS + UNHEALTHY_GRACE_MS
      this.options.log.error({ worker: number, pid: worker.process.pid, hangs }, 'a worker cannot serve')
      worker.process.kill(hangs ? 'SIGKILL' : 'SIGTERM')
    }
  }

  /** The first worker prepares the database; the others start afterwards. */
  #onReady(slot: WorkerSlot): void {
    if (this.#stopping) this.#send(slot, { type: 'stop' })
    else if (this.#preparing && !this.#prepared) this.#waiting.push(slot)
    else {
      this.#preparing ??= slot
      this.#begin(slot)
    }
  }

  #begin(slot: WorkerSlot): void {
    slot.sentEndedIds = [...this.#endedQueueIds]
    this.#send(slot, { ...this.options.begin, type: 'begin', number: slot.number, first: !this.#prepared, killed: slot.sentEndedIds })
  }

  #send({ worker }: WorkerSlot, message: ToWorker): void {
    // the exit event handles a worker that has ended
    if (worker.isConnected()) worker.send(message, () => {})
  }

  #receive(slot: WorkerSlot, message: ToParent): void {
    const { id: owner } = slot.worker
    if (message.type === 'lock') {
      const { id, key } = message
      this.#locks.lock({ owner, id, key, grant: () => this.#send(slot, { type: 'locked', id }) })
    } else if (message.type === 'unlock') this.#locks.unlock(owner, message.id)
    else if (message.type === 'counted') this.#totals.receive(message.id, message.values)
    else if (message.type === 'healthy') slot.healthyAt = performance.now()
    else if (message.type === 'page') void this.#sendMetrics(slot, message.id)
    else this.#receiveStartup(slot, message)
  }

  #receiveStartup(slot: WorkerSlot, message: Extract<ToParent, { type: 'awake' | 'prepared' | 'listening' | 'fault' }>): void {
    const { log } = this.options
    if (message.type === 'fault') {
      slot.fault = message.line
      if (this.#startup && !message.passing) this.#startup.reject(new StartFault(message.line))
      else log.error({ worker: slot.number, fault: message.line }, 'a worker cannot start')
    } else if (message.type === 'awake') this.#onReady(slot)
    else if (message.type === 'prepared') {
      slot.queueId = message.process
      for (const id of slot.sentEndedIds) this.#endedQueueIds.delete(id)
      this.#prepared = true
      for (const waiting of this.#waiting.splice(0)) this.#begin(waiting)
    } else {
      slot.listening = true
      slot.healthyAt = performance.now()
      if (this.#slots.every(({ listening }) => listening)) this.#startup?.resolve()
    }
  }

  #ended(slot: WorkerSlot, how: { code: number | null; signal: string | null }): void {
    const { number, worker, queueId, started } = slot
    slot.listening = false
    this.#locks.drop(worker.id)
    void this.#totals.workerEnded(worker.id)
    if (queueId !== null) this.#endedQueueIds.add(queueId)
    this.#waiting = this.#waiting.filter((waiting) => waiting !== slot)
    if (this.#preparing === slot && !this.#prepared) this.#prepareElsewhere()
    if (this.#stopping) return
    if (this.#startup && ++this.#failedStarts === MAX_FAILED_STARTS)
      this.#startup.reject(new StartFault(slot.fault ?? `workers end while they start (${how.signal ?? how.code})`))
    const soon = performance.now() - started < STABLE_AFTER_MS
    this.options.log.error({ worker: number, ended: worker.process.pid, ...how }, 'a worker has ended and is replaced')
    this.#replaced++
    const replace = () => !this.#stopping && this.#fork(number, soon ? Math.min(2 * slot.restartDelay, MAX_RESTART_DELAY_MS) : MIN_RESTART_DELAY_MS)
    setTimeout(replace, soon ? slot.restartDelay : MIN_RESTART_DELAY_MS)
  }

  /** The worker that should prepare the database has ended: another takes over. */
  #prepareElsewhere(): void {
    this.#preparing = undefined
    const next = this.#waiting.shift()
    if (next) this.#onReady(next)
  }

  async #sendMetrics(asking: WorkerSlot, id: number): Promise<void> {
    const running = this.#slots.filter(({ listening }) => listening)
    const byId = new Map(running.map((slot) => [slot.worker.id, slot]))
    const ask = (worker: number, requestId: number) => {
      const slot = byId.get(worker)
      if (slot) this.#send(slot, { type: 'count', id: requestId })
    }
    const state = { ready: running.length, missing: this.#slots.length - running.length, replaced: this.#replaced }
    const page = await this.#totals.page([...byId.keys()], ask, state)
    this.#send(asking, { type: 'page', id, page })
  }
}
