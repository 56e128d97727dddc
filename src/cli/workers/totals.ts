import type { MetricValues } from '../../metrics.js'
import type { MetricsPage } from './messages.js'

/** Milliseconds in which a worker says what it has counted. */
const COUNT_TIMEOUT_MS = 2_000

interface PendingCount {
  worker: number
  resolve(values: MetricValues | null): void
}

/** Workers by their state, for the page. */
export interface WorkerCounts {
  ready: number
  missing: number
  /** Those that were replaced. */
  replaced: number
}

/**
 * Joins what workers have counted. What one that has ended was last known to have counted stays in the sums, so that
 * they never go backwards.
 */
export class Totals {
  /** What each worker said last. */
  readonly #last = new Map<number, MetricValues>()
  readonly #pending = new Map<number, PendingCount>()
  #ended: MetricValues = []
  #id = 0

  /** The page of the whole service. `ask` sends a worker the question, under a number that it answers with. */
  async page(workers: number[], ask: (worker: number, id: number) => void, state: WorkerCounts): Promise<MetricsPage> {
    await Promise.all(workers.map((worker) => this.#ask(worker, ask)))
    const registry = (await aggregator()).aggregate([this.#ended, ...this.#last.values(), parentMetrics(state)])
    return { type: registry.contentType, text: await registry.metrics() }
  }

  receive(id: number, values: MetricValues): void {
    this.#pending.get(id)?.resolve(values)
  }

  /** A worker has ended. */
  async workerEnded(worker: number): Promise<void> {
    for (const pending of this.#pending.values()) if (pending.worker === worker) pending.resolve(null)
    const last = this.#last.get(worker)
    this.#last.delete(worker)
    if (!last) return
    const cumulative = last.filter(({ type }) => isCumulative(type))
    this.#ended = await (await aggregator()).aggregate([this.#ended, cumulative]).getMetricsAsJSON()
  }

  async #ask(worker: number, ask: (worker: number, id: number) => void): Promise<void> {
    const id = ++this.#id
    const values = await new Promise<MetricValues | null>((resolve) => {
      const timer = setTimeout(() => resolve(null), COUNT_TIMEOUT_MS)
      this.#pending.set(id, {
        worker,
        resolve(values) {
          clearTimeout(timer)
          resolve(values)
        },
      })
      ask(worker, id)
    })
    this.#pending.delete(id)
    if (values) this.#last.set(worker, values)
  }
}

const aggregator = async () => (await import('prom-client')).default.AggregatorRegistry

/** Whether a metric only grows while its process lives. */
const isCumulative = (type: unknown) => ['counter', 'histogram'].includes(String(type).toLowerCase())

/** What the parent itself has to tell. */
const parentMetrics = ({ ready, missing, replaced }: WorkerCounts) => [
  {
    name: 'roost_workers',
    help: 'Processes that serve, and those that have ended and are started again',
    type: 'gauge',
    aggregator: 'sum',
    values: [
      { value: ready, labels: { state: 'ready' } },
      { value: missing, labels: { state: 'missing' } },
    ],
  },
  {
    name: 'roost_workers_replaced_total',
    help: 'Workers that ended by themselves and were replaced',
    type: 'counter',
    aggregator: 'sum',
    values: [{ value: replaced, labels: {} }],
  },
]
