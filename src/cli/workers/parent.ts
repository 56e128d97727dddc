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
/** The longest delay while no worker listens. */
const MAX_LONE_RESTART_DELAY_MS = 1_000
/** A worker that has run for this long did not end early. */
const STABLE_AFTER_MS = 60_000
/** The start fails when a worker has ended this often during it and no other one listens. */
const MAX_FAILED_STARTS = 5
/** How long a worker may be starting before the next one is started, in milliseconds. */
const TURN_MS = 20_000
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
  /** Called when the database has a newer schema than this version of the program. */
  onOutdated(): void
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
  /** It takes calls. */
  listening: boolean
  /** The path at which it serves the SSH socket, once it does. */
  socket: string | null
  /** Why it could not start. */
  fault?: string
  /** When it last reported that it can serve; set to the present when it begins to listen. */
  healthyAt: number
  /** The ids of `#endedQueueIds` that were sent to it. */
  sentEndedIds: string[]
}

/** A worker that is to be started. */
interface DueStart {
  number: number
  /** When, by `performance.now()`. */
  at: number
  restartDelay: number
}

/**
 * Starts worker processes one after another, because they would slow each other down until none is ready in time, replaces those that end, and connects them. They share
 * the listening sockets: each takes connections by itself, so that none is lost on its way through this process when a
 * worker is killed (docs/adr/0019).
 */
export class Workers {
  /** By number; those of workers that have not been started yet are missing. */
  readonly #slots = new Map<number, WorkerSlot>()
  readonly #locks = new Locks()
  readonly #totals = new Totals()
  /** Ids in the job queue of workers that have ended, until a worker that starts has released their leases. */
  readonly #endedQueueIds = new Set<string>()
  readonly #due: DueStart[] = []
  #nextStart: NodeJS.Timeout | undefined
  /** The worker whose turn it is to start, until it listens or has ended, or its time is over. */
  #starting: WorkerSlot | undefined
  #turnTimer: NodeJS.Timeout | undefined
  /** The first worker that starts prepares the database; no other is started before. */
  #prepared = false
  #stopping = false
  #replaced = 0
  /** How often each worker has ended during the start of the service, by number. */
  readonly #failedStarts = new Map<number, number>()
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

  /**
   * Resolves when all workers listen, or those that do not have failed often while another one listens. Rejects if none
   * can start, or the signal fires.
   */
  async start(signal: AbortSignal): Promise<void> {
    const started = new Promise<void>((resolve, reject) => {
      this.#startup = { resolve, reject }
      signal.addEventListener('abort', () => reject(signal.reason), { once: true })
    })
    this.#healthTimer = setInterval(() => this.#endUnhealthy(), HEALTH_INTERVAL_MS).unref()
    for (let number = 1; number <= this.options.count; number++) this.#due.push({ number, at: 0, restartDelay: MIN_RESTART_DELAY_MS })
    this.#startNext()
    await started.finally(() => {
      this.#startup = undefined
    })
  }

  /** Whether a worker serves the SSH socket at its present path: otherwise there is none. */
  isSocketBound(): boolean {
    return this.#listening().some(({ socket }) => socket === this.options.begin.socket)
  }

  /** Makes all workers serve this SSH socket, unless they do already. */
  serveSocket(path: string): void {
    if (this.options.begin.socket === path) return
    this.options.begin.socket = path
    for (const slot of this.#running()) this.#send(slot, { type: 'socket', path })
  }

  /** Stops the workers; running requests may take `wait` milliseconds. */
  async stop(wait: number): Promise<void> {
    this.#stopping = true
    clearInterval(this.#healthTimer)
    clearTimeout(this.#turnTimer)
    clearTimeout(this.#nextStart)
    const running = this.#running()
    const ended = Promise.all(running.map(({ worker }) => new Promise((resolve) => worker.once('exit', resolve))))
    for (const slot of running) this.#send(slot, { type: 'stop' })
    if (await Promise.race([ended.then(() => true), sleep(wait + EXIT_GRACE_MS, false)])) return
    for (const { worker } of running) worker.process.kill('SIGKILL')
    await ended
  }

  /** Workers that have been started and have not ended. */
  #running(): WorkerSlot[] {
    return [...this.#slots.values()].filter(({ worker }) => !worker.isDead())
  }

  #listening(): WorkerSlot[] {
    return [...this.#slots.values()].filter(({ listening }) => listening)
  }

  #startNext(): void {
    clearTimeout(this.#nextStart)
    if (this.#starting || this.#stopping || this.#due.length === 0) return
    const next = this.#due.reduce((first, other) => (other.at < first.at ? other : first))
    const longest = this.#listening().length === 0 ? MAX_LONE_RESTART_DELAY_MS : MAX_RESTART_DELAY_MS
    this.#nextStart = setTimeout(() => this.#startNow(next), Math.min(next.at - performance.now(), longest))
  }

  #startNow(next: DueStart): void {
    this.#due.splice(this.#due.indexOf(next), 1)
    const slot = this.#fork(next)
    this.#starting = slot
    // before the database is prepared, no other could start either
    const passTurn = () => (this.#prepared ? this.#endTurn(slot) : this.#turnTimer?.refresh())
    this.#turnTimer = setTimeout(passTurn, TURN_MS)
  }

  #endTurn(slot: WorkerSlot): void {
    if (this.#starting !== slot) return
    clearTimeout(this.#turnTimer)
    this.#starting = undefined
    this.#startNext()
  }

  #fork({ number, restartDelay }: DueStart): WorkerSlot {
    const slot: WorkerSlot = {
      number,
      worker: cluster.fork(),
      started: performance.now(),
      restartDelay,
      queueId: null,
      listening: false,
      socket: null,
      healthyAt: 0,
      sentEndedIds: [],
    }
    this.#slots.set(number, slot)
    const { worker } = slot
    worker.on('message', (message: ToParent) => this.#receive(slot, message))
    worker.on('error', (error) => {
      this.options.log.error({ err: error, worker: number }, 'a worker cannot be reached')
      // the process was not started
      if (worker.process.pid === undefined) this.#ended(slot, { code: null, signal: null })
    })
    // with the last worker the shared sockets are closed
    worker.once('disconnect', () => {
      slot.listening = false
    })
    worker.once('exit', (code, signal) => this.#ended(slot, { code, signal }))
    return slot
  }

  /**
   * Ends workers that cannot serve, for example because git cannot be started, while others can: they are replaced. What
   * keeps all of them from serving is outside of them.
   */
  #endUnhealthy(): void {
    const now = performance.now()
    const listening = this.#listening()
    if (!listening.some(({ healthyAt }) => now - healthyAt < 2 * HEALTH_INTERVAL_MS)) return
    for (const { number, worker, healthyAt } of listening.filter((slot) => now - slot.healthyAt > UNHEALTHY_AFTER_MS)) {
      const hangs = now - healthyAt > UNHEALTHY_AFTER_MS + UNHEALTHY_GRACE_MS
      this.options.log.error({ worker: number, pid: worker.process.pid, hangs }, 'a worker cannot serve')
      worker.process.kill(hangs ? 'SIGKILL' : 'SIGTERM')
    }
  }

  #begin(slot: WorkerSlot): void {
    if (this.#stopping) {
      this.#send(slot, { type: 'stop' })
      return
    }
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
    else if (message.type === 'bound') slot.socket = message.path
    else if (message.type === 'outdated') this.options.onOutdated()
    else if (message.type === 'ending') slot.socket = null
    else if (message.type === 'page') void this.#sendMetrics(slot, message.id)
    else this.#receiveStartup(slot, message)
  }

  #receiveStartup(slot: WorkerSlot, message: Extract<ToParent, { type: 'awake' | 'prepared' | 'listening' | 'fault' }>): void {
    const { log } = this.options
    if (message.type === 'fault') {
      slot.fault = message.line
      if (this.#startup && !message.passing && this.#listening().length === 0) this.#startup.reject(new StartFault(message.line))
      else log.error({ worker: slot.number, fault: message.line }, 'a worker cannot start')
    } else if (message.type === 'awake') this.#begin(slot)
    else if (message.type === 'prepared') {
      slot.queueId = message.process
      for (const id of slot.sentEndedIds) this.#endedQueueIds.delete(id)
      this.#prepared = true
    } else {
      slot.listening = true
      slot.healthyAt = performance.now()
      this.#endTurn(slot)
      this.#checkStarted()
    }
  }

  /** Ends the start of the service when each worker listens or has failed often: it serves if one worker does. */
  #checkStarted(): void {
    const slots = [...this.#slots.values()]
    const isSettled = ({ number, listening }: WorkerSlot) => listening || (this.#failedStarts.get(number) ?? 0) >= MAX_FAILED_STARTS
    if (slots.length === this.options.count && slots.every(isSettled) && this.#listening().length > 0) this.#startup?.resolve()
  }

  #ended(slot: WorkerSlot, how: { code: number | null; signal: string | null }): void {
    const { number, worker, queueId, started } = slot
    slot.listening = false
    this.#locks.drop(worker.id)
    void this.#totals.workerEnded(worker.id)
    if (queueId !== null) this.#endedQueueIds.add(queueId)
    if (this.#stopping) return
    const soon = performance.now() - started < STABLE_AFTER_MS
    this.options.log.error({ worker: number, ended: worker.process.pid, ...how }, 'a worker has ended and is replaced')
    this.#replaced++
    const delay = soon ? slot.restartDelay : MIN_RESTART_DELAY_MS
    this.#due.push({ number, at: performance.now() + delay, restartDelay: soon ? Math.min(2 * delay, MAX_RESTART_DELAY_MS) : MIN_RESTART_DELAY_MS })
    if (this.#startup) this.#countFailure(slot, how)
    this.#endTurn(slot)
    this.#startNext()
  }

  #countFailure({ number, fault }: WorkerSlot, { code, signal }: { code: number | null; signal: string | null }): void {
    const failures = (this.#failedStarts.get(number) ?? 0) + 1
    this.#failedStarts.set(number, failures)
    if (failures >= MAX_FAILED_STARTS && this.#listening().length === 0)
      this.#startup?.reject(new StartFault(fault ?? `workers end while they start (${signal ?? code})`))
    this.#checkStarted()
  }

  async #sendMetrics(asking: WorkerSlot, id: number): Promise<void> {
    const running = this.#listening()
    const byId = new Map(running.map((slot) => [slot.worker.id, slot]))
    const ask = (worker: number, requestId: number) => {
      const slot = byId.get(worker)
      if (slot) this.#send(slot, { type: 'count', id: requestId })
    }
    const state = { ready: running.length, missing: this.options.count - running.length, replaced: this.#replaced }
    const page = await this.#totals.page([...byId.keys()], ask, state)
    this.#send(asking, { type: 'page', id, page })
  }
}
