import cluster, { type Worker } from 'node:cluster'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import { StartFault } from '../../lib/start-fault.js'
import { Locks } from './locks.js'
import type { Begin, ToParent, ToWorker } from './messages.js'
import { Totals } from './totals.js'

/** Milliseconds before a worker that has ended is replaced; twice as long each time while they end soon. */
const FIRST_WAIT = 200
const LONGEST_WAIT = 30_000
/** A worker that has lived for so many milliseconds did not end soon. */
const LONG = 60_000
/** Workers that end without a word while the service starts, until it gives up. */
const MAX_LOST = 5
/** Milliseconds that workers get to end beyond what their requests get. */
const GRACE = 1_500

export interface WorkersOptions {
  count: number
  /** The program that workers run. */
  program: string
  /** What all of them are given. */
  begin: Omit<Begin, 'type' | 'number' | 'first' | 'gone'>
  log: Logger
}

/** One of the workers, or its replacement. */
interface Place {
  number: number
  worker: Worker
  started: number
  /** Until its replacement is started. */
  wait: number
  /** Its name in the job queue, once it has joined that. */
  process: string | null
  listening: boolean
  /** The ids in `#gone` that it was told. */
  sentGone: string[]
}

/**
 * Starts the processes that serve, replaces those that end, and connects them. They share the listening sockets: each
 * takes connections by itself, so that none is lost on its way through this process when a worker is killed
 * (docs/adr/0019).
 */
export class Workers {
  readonly #places: Place[] = []
  readonly #locks = new Locks()
  readonly #totals = new Totals()
  /** Names in the job queue of workers that have been killed, until another one has ended their leases. */
  readonly #gone = new Set<string>()
  /** Those that wait for the first one to prepare the database. */
  #waiting: Place[] = []
  #preparing: Place | undefined
  #prepared = false
  #stopping = false
  #replaced = 0
  #lost = 0
  #settle: { resolve(): void; reject(fault: Error): void } | undefined

  constructor(private readonly options: WorkersOptions) {
    cluster.schedulingPolicy = cluster.SCHED_NONE
    cluster.setupPrimary({
      exec: options.program,
      args: ['serve', '--worker'],
      execArgv: [...process.execArgv, '--enable-source-maps'],
      serialization: 'advanced',
    })
  }

  /** Resolves when all listen. Rejects with the fault of a worker that cannot start, and when the signal fires. */
  async start(signal: AbortSignal): Promise<void> {
    const started = new Promise<void>((resolve, reject) => {
      this.#settle = { resolve, reject }
      signal.addEventListener('abort', () => reject(signal.reason), { once: true })
    })
    for (let number = 1; number <= this.options.count; number++) this.#fork(number, FIRST_WAIT)
    await started.finally(() => {
      this.#settle = undefined
    })
  }

  /** Lets running requests end for so many milliseconds. */
  async stop(wait: number): Promise<void> {
    this.#stopping = true
    const living = this.#places.filter(({ worker }) => !worker.isDead())
    const ended = Promise.all(living.map(({ worker }) => new Promise((resolve) => worker.once('exit', resolve))))
    for (const place of living) this.#send(place, { type: 'stop' })
    if (await Promise.race([ended.then(() => true), sleep(wait + GRACE, false)])) return
    for (const { worker } of living) worker.process.kill('SIGKILL')
    await ended
  }

  #fork(number: number, wait: number): void {
    const place: Place = { number, worker: cluster.fork(), started: performance.now(), wait, process: null, listening: false, sentGone: [] }
    this.#places[number - 1] = place
    const { worker } = place
    worker.on('message', (message: ToParent) => this.#hear(place, message))
    worker.on('error', (error) => {
      this.options.log.error({ err: error, worker: number }, 'a worker cannot be reached')
      // the system did not start it
      if (worker.process.pid === undefined) this.#ended(place, { code: null, signal: null })
    })
    worker.once('exit', (code, signal) => this.#ended(place, { code, signal }))
  }

  /** The first one prepares the database, the others begin after it. */
  #awake(place: Place): void {
    if (this.#stopping) this.#send(place, { type: 'stop' })
    else if (this.#preparing && !this.#prepared) this.#waiting.push(place)
    else {
      this.#preparing ??= place
      this.#begin(place)
    }
  }

  #begin(place: Place): void {
    place.sentGone = [...this.#gone]
    this.#send(place, { ...this.options.begin, type: 'begin', number: place.number, first: !this.#prepared, gone: place.sentGone })
  }

  #send({ worker }: Place, message: ToWorker): void {
    // one that has ended is noticed by its exit
    if (worker.isConnected()) worker.send(message, () => {})
  }

  #hear(place: Place, message: ToParent): void {
    const { id: owner } = place.worker
    if (message.type === 'lock') {
      const { id, key } = message
      this.#locks.lock({ owner, id, key, grant: () => this.#send(place, { type: 'locked', id }) })
    } else if (message.type === 'unlock') this.#locks.unlock(owner, message.id)
    else if (message.type === 'counted') this.#totals.heard(message.id, message.values)
    else if (message.type === 'page') void this.#page(place, message.id)
    else this.#hearStart(place, message)
  }

  #hearStart(place: Place, message: Extract<ToParent, { type: 'awake' | 'prepared' | 'listening' | 'fault' }>): void {
    const { log } = this.options
    if (message.type === 'fault') {
      if (this.#settle) this.#settle.reject(new StartFault(message.line))
      else log.error({ worker: place.number, fault: message.line }, 'a worker cannot start')
    } else if (message.type === 'awake') this.#awake(place)
    else if (message.type === 'prepared') {
      place.process = message.process
      for (const id of place.sentGone) this.#gone.delete(id)
      this.#prepared = true
      for (const waiting of this.#waiting.splice(0)) this.#begin(waiting)
    } else {
      place.listening = true
      if (this.#places.every(({ listening }) => listening)) this.#settle?.resolve()
    }
  }

  #ended(place: Place, how: { code: number | null; signal: string | null }): void {
    const { number, worker, process, started } = place
    place.listening = false
    this.#locks.drop(worker.id)
    void this.#totals.left(worker.id)
    if (process !== null) this.#gone.add(process)
    this.#waiting = this.#waiting.filter((waiting) => waiting !== place)
    if (this.#preparing === place && !this.#prepared) this.#prepareElsewhere()
    if (this.#stopping) return
    if (this.#settle && ++this.#lost === MAX_LOST) this.#settle.reject(new StartFault(`workers end while they start (${how.signal ?? how.code})`))
    const soon = performance.now() - started < LONG
    this.options.log.error({ worker: number, ended: worker.process.pid, ...how }, 'a worker has ended and is replaced')
    this.#replaced++
    const replace = () => !this.#stopping && this.#fork(number, soon ? Math.min(2 * place.wait, LONGEST_WAIT) : FIRST_WAIT)
    setTimeout(replace, soon ? place.wait : FIRST_WAIT)
  }

  /** The one that was to prepare the database has ended before it had. */
  #prepareElsewhere(): void {
    this.#preparing = undefined
    const next = this.#waiting.shift()
    if (next) this.#awake(next)
  }

  async #page(asking: Place, id: number): Promise<void> {
    const living = this.#places.filter(({ listening }) => listening)
    const byId = new Map(living.map((place) => [place.worker.id, place]))
    const ask = (worker: number, question: number) => {
      const place = byId.get(worker)
      if (place) this.#send(place, { type: 'count', id: question })
    }
    const state = { ready: living.length, missing: this.#places.length - living.length, replaced: this.#replaced }
    const page = await this.#totals.page([...byId.keys()], ask, state)
    this.#send(asking, { type: 'page', id, page })
  }
}
