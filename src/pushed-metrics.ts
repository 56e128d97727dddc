import { hostname } from 'node:os'
import { type Point, PointSender, type PointTarget } from './lib/points.js'
import type { Metrics, MetricValues } from './metrics.js'
import type { Settings } from './services/core/settings-table.js'

/** Metrics that are also sent as points, as `metrics_*` of the settings say. */
export interface PushedMetrics extends Metrics {
  /** Samples the process at intervals from now on. */
  startSampling(): void
  close(): void
}

/** How often the interval of the settings is looked at, in milliseconds. */
const TICK_MS = 1_000
/** Points that wait for the settings at most. */
const MAX_DECIDING = 10_000

export function pushedMetrics(metrics: Metrics, readSettings: () => Promise<Settings>): PushedMetrics {
  const sender = new PointSender()
  const origin = { host: hostname(), process: process.pid }
  let deciding = 0
  /** Sends a point if the settings want it. */
  const push = (name: string, tags: Point['tags'], seconds?: number) => {
    const at = Date.now()
    if (deciding >= MAX_DECIDING) return void sender.dropped++
    deciding++
    readSettings()
      .then((settings) => {
        if (!settings.metrics_enabled || (seconds !== undefined && seconds * 1000 <= settings.metrics_method_call_threshold)) return
        const measured = seconds === undefined ? { field: 'count', value: 1 } : { field: 'seconds', value: seconds }
        sender.add(targetOf(settings), { name, tags: { ...origin, ...tags }, ...measured }, at)
      })
      .catch(() => undefined)
      .finally(() => deciding--)
  }
  const sample = async (settings: Settings) => {
    const at = Date.now()
    for (const point of samplesOf(await metrics.values())) sender.add(targetOf(settings), { ...point, tags: { ...origin, ...point.tags } }, at)
    sender.add(targetOf(settings), { name: 'roost_points_dropped', tags: origin, field: 'value', value: sender.dropped }, at)
  }
  let [timer, sampledAt] = [undefined as NodeJS.Timeout | undefined, 0]
  const tick = async () => {
    const settings = await readSettings()
    const interval = settings.metrics_sample_interval * 1000
    if (!settings.metrics_enabled || interval <= 0 || performance.now() - sampledAt < interval) return
    sampledAt = performance.now()
    await sample(settings)
  }
  return {
    request(method, route, status, seconds) {
      metrics.request(method, route, status, seconds)
      push('roost_request', { method, route, status }, seconds)
    },
    git(kind, seconds) {
      metrics.git(kind, seconds)
      push('roost_git_process', { kind }, seconds)
    },
    job(ended) {
      metrics.job(ended)
      push('roost_job', { kind: ended.kind, end: ended.end }, ended.milliseconds / 1000)
    },
    webhook(event, result, seconds) {
      metrics.webhook(event, result, seconds)
      push('roost_webhook', { event, result }, seconds)
    },
    push(kind) {
      metrics.push(kind)
      push('roost_push', { kind })
    },
    login(how, result) {
      metrics.login(how, result)
      push('roost_login', { how, result })
    },
    mail(kind, result) {
      metrics.mail(kind, result)
      push('roost_mail', { kind, result })
    },
    text(kind, result) {
      metrics.text(kind, result)
      push('roost_text', { kind, result })
    },
    values: () => metrics.values(),
    page: () => metrics.page(),
    startSampling() {
      timer ??= setInterval(() => void tick().catch(() => undefined), TICK_MS).unref()
    },
    close() {
      clearInterval(timer)
      sender.close()
    },
  }
}

const targetOf = (settings: Settings): PointTarget => ({
  host: settings.metrics_host ?? '',
  port: settings.metrics_port,
  packet: settings.metrics_packet_size,
  sockets: settings.metrics_pool_size,
  timeout: settings.metrics_timeout * 1000,
})

/** Gauges and counters as points; what histograms hold has been sent as it happened. */
function samplesOf(values: MetricValues): Point[] {
  const plain = values.filter(({ type }) => ['gauge', 'counter'].includes(String(type)))
  return plain.flatMap(({ name, values: all }) =>
    all.map(({ labels, value }) => ({ name, tags: labels as Point['tags'], field: 'value', value: Number(value) })),
  )
}
