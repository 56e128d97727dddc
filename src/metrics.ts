import type { Registry } from 'prom-client'
import type { Database } from './db/client.js'
import type { Spawner } from './git/process/spawner.js'
import { countJobs, type JobCounts } from './jobs/overview.js'
import type { FinishedAttempt } from './jobs/worker.js'
import { startTiming } from './lib/async/call-times.js'
import type { TextResult } from './lib/text/text-thread.js'

/**
 * Metrics of the service. Labels contain kinds, route patterns and statuses, never names, ids or tokens (SEC-169).
 */
export interface Metrics {
  request(method: string, route: string, status: number, seconds: number): void
  /** Records a git process that has ended; `kind` is the git command. */
  git(kind: string, seconds: number): void
  job(ended: FinishedAttempt): void
  push(kind: 'project' | 'wiki'): void
  login(how: 'password' | 'second factor' | 'token', result: 'done' | 'refused'): void
  /** Records an attempt to deliver a webhook. */
  webhook(event: string, result: 'done' | 'failed', seconds: number): void
  /** Records an attempt to send mail. `refused`: permanently; `failed`: it will be retried. */
  mail(kind: string, result: 'sent' | 'refused' | 'failed'): void
  /** Counts a text that a thread was asked to render. */
  text(kind: 'markdown' | 'source' | 'ci', result: TextResult): void
  /** The metrics of this process, to be merged with those of others. */
  values(): Promise<MetricValues>
  /** The metrics in the Prometheus format. */
  page(): Promise<{ type: string; text: string }>
}

/** The metrics of a process as plain data. */
export type MetricValues = Awaited<ReturnType<Registry['getMetricsAsJSON']>>

/** Hit and miss counts of a cache. */
export interface CacheCounts {
  hits: number
  misses: number
}

/** Counts nothing, so that metrics which are never read cost nothing. */
const noMetrics: Metrics = {
  request() {},
  git() {},
  job() {},
  push() {},
  login() {},
  webhook() {},
  mail() {},
  text() {},
  values: () => Promise.resolve([]),
  page: () => Promise.resolve({ type: 'text/plain', text: '' }),
}

const SHORT_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
const LONG_BUCKETS = [0.01, 0.1, 1, 10, 60, 600, 3_600]

/** Metrics that start to count when they are first read. */
export function lazyMetrics(create: () => Promise<Metrics>): Metrics {
  let metrics = noMetrics
  let creating: Promise<Metrics> | undefined
  const counting = async () => {
    creating ??= create()
    metrics = await creating
    return metrics
  }
  return {
    request: (...of) => metrics.request(...of),
    git: (...of) => metrics.git(...of),
    job: (...of) => metrics.job(...of),
    push: (...of) => metrics.push(...of),
    login: (...of) => metrics.login(...of),
    webhook: (...of) => metrics.webhook(...of),
    mail: (...of) => metrics.mail(...of),
    text: (...of) => metrics.text(...of),
    values: async () => (await counting()).values(),
    page: async () => (await counting()).page(),
  }
}

/** Creates metrics in their own Prometheus registry. */
export async function createMetrics(db: Database, caches: Record<string, CacheCounts>): Promise<Metrics> {
  const prometheus = await import('prom-client')
  const { Counter, Histogram } = prometheus.default
  const registry = new prometheus.default.Registry()
  const registers = [registry]
  prometheus.default.collectDefaultMetrics({ register: registry })
  const histogram = (name: string, help: string, labelNames: string[], buckets = SHORT_BUCKETS) =>
    new Histogram({ name, help, labelNames, buckets, registers })
  const counter = (name: string, help: string, labelNames: string[]) => new Counter({ name, help, labelNames, registers })
  const requests = histogram('roost_request_seconds', 'Requests by route pattern and status', ['method', 'route', 'status'])
  const git = histogram('roost_git_process_seconds', 'Git processes by the command of git', ['kind'], LONG_BUCKETS)
  const jobs = histogram('roost_job_seconds', 'Attempts of jobs by kind and how they ended', ['kind', 'end'], LONG_BUCKETS)
  const pushes = counter('roost_pushes_total', 'Accepted pushes over Git', ['kind'])
  const logins = counter('roost_logins_total', 'Passwords and second factors that were checked, and refused tokens', ['how', 'result'])
  const webhooks = histogram('roost_webhook_seconds', 'Deliveries of webhooks by event', ['event', 'result'])
  const mails = counter('roost_mails_total', 'Mails by kind', ['kind', 'result'])
  const texts = counter('roost_texts_total', 'Texts rendered in threads, by kind', ['kind', 'result'])
  gauges(registry, prometheus.default, db, caches)
  return {
    request: (method, route, status, seconds) => requests.observe({ method, route, status }, seconds),
    git: (kind, seconds) => git.observe({ kind }, seconds),
    job: ({ kind, end, milliseconds }) => jobs.observe({ kind, end }, milliseconds / 1000),
    push: (kind) => pushes.inc({ kind }),
    login: (how, result) => logins.inc({ how, result }),
    webhook: (event, result, seconds) => webhooks.observe({ event, result }, seconds),
    values: () => registry.getMetricsAsJSON(),
    mail: (kind, result) => mails.inc({ kind, result }),
    text: (kind, result) => texts.inc({ kind, result }),
    page: async () => ({ type: registry.contentType, text: await registry.metrics() }),
  }
}

type Kinds = Pick<typeof import('prom-client'), 'Counter' | 'Gauge'>

/** Gauges that are computed when the metrics are read. */
function gauges(registry: Registry, { Counter, Gauge }: Kinds, db: Database, caches: Record<string, CacheCounts>): void {
  const registers = [registry]
  let pendingCounts: Promise<JobCounts[]> | undefined
  /**
   * Shared by the gauges of one read. Empty if the database is unavailable, so that the other metrics are still served.
   */
  const jobCounts = () => {
    pendingCounts ??= countJobs(db)
      .catch(() => [])
      .finally(() => {
        pendingCounts = undefined
      })
    return pendingCounts
  }
  new Gauge({
    name: 'roost_job_delay_seconds',
    help: 'How long the oldest waiting job of a kind has been due',
    labelNames: ['kind'],
    aggregator: 'max',
    registers,
    async collect() {
      const all = await jobCounts()
      this.reset()
      for (const { kind, delay } of all) this.set({ kind }, delay)
    },
  })
  new Gauge({
    name: 'roost_jobs',
    help: 'Jobs of all processes by kind and state',
    labelNames: ['kind', 'state'],
    aggregator: 'max',
    registers,
    async collect() {
      const all = await jobCounts()
      this.reset()
      for (const { kind, delay, ...states } of all) for (const [state, jobs] of Object.entries(states)) this.set({ kind, state }, jobs)
    },
  })
  new Gauge({
    name: 'roost_database_connections',
    help: 'Connections of the pool by state, and calls that wait for one',
    labelNames: ['state'],
    registers,
    collect() {
      for (const [state, connections] of Object.entries(db.poolStats())) this.set({ state }, connections)
    },
  })
  new Counter({
    name: 'roost_cache_lookups',
    help: 'Look-ups in caches since the start',
    labelNames: ['cache', 'result'],
    registers,
    collect() {
      this.reset()
      for (const [cache, { hits, misses }] of Object.entries(caches)) {
        this.inc({ cache, result: 'hit' }, hits)
        this.inc({ cache, result: 'miss' }, misses)
      }
    },
  })
}

/** Wraps a spawner to record its processes in the metrics and in the times of the current call. */
export function countedSpawner(spawner: Spawner, metrics: () => Metrics): Spawner {
  return {
    async spawn(program, args, options) {
      const start = performance.now()
      const spent = startTiming('git', commandOf(args))
      const child = await spawner.spawn(program, args, options)
      void child.closed.then(() => {
        spent()
        metrics().git(commandOf(args), (performance.now() - start) / 1000)
      })
      return child
    },
    close: () => spawner.close(),
  }
}

/** The git command: the first argument that is neither an option nor its value. */
function commandOf(args: string[]): string {
  for (let at = 0; at < args.length; at++) {
    const arg = args[at] as string
    if (arg === '-c' || arg === '-C') at++
    else if (!arg.startsWith('-')) return arg
  }
  return 'other'
}
