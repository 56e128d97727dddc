import type { ProcessMutex } from '../../lib/async/keyed-mutex.js'
import { Unavailable } from '../../lib/unavailable.js'
import type { Begin, MetricsPage, ToParent, ToWorker } from './messages.js'

/**
 * How long to wait for a lock, in milliseconds. Git and Postgres ensure correctness; this lock only makes writers wait
 * in order, so work goes on without it.
 */
const LOCK_TIMEOUT_MS = 10_000
const PAGE_TIMEOUT_MS = 5_000

/** The channel of a worker to its parent. */
export class ParentLink implements ProcessMutex {
  /** Resolves when the parent tells this worker to start. */
  readonly begin: Promise<Begin>
  /** Resolves when the parent tells it to stop. */
  readonly stop: Promise<void>
  /** The path at which the SSH socket is served; the parent names another one after something has removed the socket. */
  socket = ''
  /** Called when the parent has named another path. */
  onSocket: () => void = () => undefined
  /** Called when the parent requests the metrics of this worker. */
  onCount: (id: number) => void = () => undefined
  readonly #locks = new Map<number, () => void>()
  readonly #pages = new Map<number, (page: MetricsPage) => void>()
  #id = 0

  constructor(private readonly channel: NodeJS.Process) {
    const received = <Type extends ToWorker['type']>(type: Type) =>
      new Promise<Extract<ToWorker, { type: Type }>>((resolve) => {
        channel.on('message', (message: ToWorker) => message.type === type && resolve(message as Extract<ToWorker, { type: Type }>))
      })
    this.begin = received('begin')
    this.stop = received('stop').then(() => undefined)
    channel.on('message', (message: ToWorker) => {
      if (message.type === 'locked') this.#locks.get(message.id)?.()
      else if (message.type === 'page') this.#pages.get(message.id)?.(message.page)
      else if (message.type === 'begin') this.socket = message.socket
      else if (message.type === 'socket') {
        this.socket = message.path
        this.onSocket()
      } else if (message.type === 'count') this.onCount(message.id)
    })
    // messages before this would be lost
    void this.send({ type: 'awake' })
  }

  /** Resolves when the message has been sent, or the parent is gone. */
  send(message: ToParent): Promise<void> {
    return new Promise((resolve) => {
      if (!this.channel.connected) return resolve()
      this.channel.send?.(message, undefined, {}, () => resolve())
    })
  }

  acquire(key: string): Promise<() => void> {
    const id = ++this.#id
    return new Promise((resolve) => {
      const done = () => {
        clearTimeout(timer)
        this.#locks.delete(id)
        resolve(() => void this.send({ type: 'unlock', id }))
      }
      const timer = setTimeout(done, LOCK_TIMEOUT_MS)
      this.#locks.set(id, done)
      void this.send({ type: 'lock', id, key })
    })
  }

  /** The metrics of the whole service. */
  page(): Promise<MetricsPage> {
    const id = ++this.#id
    return new Promise<MetricsPage>((resolve, reject) => {
      const timer = setTimeout(() => reject(new Unavailable('the metrics of the other workers did not come in time')), PAGE_TIMEOUT_MS)
      this.#pages.set(id, (page) => {
        clearTimeout(timer)
        resolve(page)
      })
      void this.send({ type: 'page', id })
    }).finally(() => this.#pages.delete(id))
  }
}
