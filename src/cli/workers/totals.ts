import type { MetricValues } from '../../metrics.js'
import type { MetricsPage } from './messages.js'

/** How long a worker may take to send its metrics, in milliseconds. */
const COUNT_TIMEOUT_MS = 2_000

interface PendingCount {
  worker: number
  resolve(values: MetricValues | null): void
}

/** Numbers of workers by state. */
export interface WorkerCounts {
  ready: number
  missing: number
  /** Replacements since the start. */
  replaced: number
}

/**
 * Merges the metrics of workers. The last known counts of ended workers stay in the sums, so that counters never
 * decrease.
 */
export class Totals {
  /** The last metrics of each worker. */
  readonly #last = new Map<number, MetricValues>()
  readonly #pending = new Map<number, PendingCount>()
  #ended: MetricValues = []
  #id = 0

  /** The metrics of the whole service. `ask` sends a request to a worker, which answers with the same id. */
  async page(workers: number[], ask: (worker: number, id: number) => void, state: WorkerCounts): Promise<MetricsPage> {
    await Promise.all(workers.map((worker) => this.#ask(worker, ask)))
    const registry = (await aggregator()).aggregate([this.#ended, ...this.#last.values(), parentMetrics(state)])
    return { type: registry.contentType, text: await registry.metrics() }
  }

  receive(id: number, values: MetricValues): void {
    this.#pending.get(id)?.resolve(values)
  }

  /** Keeps the counters of a worker that has ended. */
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

/** The parent's own metrics. */
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
