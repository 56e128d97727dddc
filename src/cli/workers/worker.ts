import { setTimeout as sleep } from 'node:timers/promises'
import type { Config } from '../../config.js'
import type { Context } from '../../context.js'
import { StartFault } from '../../lib/start-fault.js'
import { unavailableIn } from '../../lib/unavailable.js'
import { createLog, logWarnings } from '../../log.js'
import { openConnections } from '../database.js'
import { DRAIN_TIMEOUT_MS, Lifecycle } from '../lifecycle.js'
import { listen, loadProgram, openService, stopServing } from '../open-service.js'
import { ParentLink } from './link.js'
import { serveNamedSocket } from './named-socket.js'

/** How often a worker checks itself, in milliseconds. */
const HEALTH_INTERVAL_MS = 2_000

/**
 * Serves as one of several processes, until the parent stops it. After SIGTERM or a crash the parent replaces it. Exits
 * if the parent does.
 */
export async function serveAsWorker(environmentConfig: Config): Promise<void> {
  if (!process.connected) throw new StartFault('a worker is started by its parent only: set ROOST_WORKERS')
  const link = new ParentLink(process)
  const log = createLog(environmentConfig.logLevel, { shared: true })
  logWarnings(log)
  const lifecycle = new Lifecycle(log)
  const started = start(environmentConfig, lifecycle, link)
  lifecycle.begin(started)
  // a terminal sends these to the whole process group; the parent decides when to stop
  for (const signal of ['SIGINT', 'SIGHUP'] as const) process.on(signal, () => {})
  process.on('SIGTERM', (signal) => lifecycle.end({ signal }))
  lifecycle.signal.addEventListener('abort', () => void link.send({ type: 'ending' }))
  void link.stop.then(() => lifecycle.end({ reason: 'the service ends' }))
  try {
    await started
  } catch (error) {
    if (lifecycle.signal.aborted) return
    const line =
      error instanceof StartFault ? error.message : `the start failed: ${String(error instanceof Error ? error.message : error).split('\n', 1)[0]}`
    if (!(error instanceof StartFault)) log.fatal({ err: error }, 'the start failed')
    await link.send({ type: 'fault', line, passing: unavailableIn(error)?.transient ?? false })
    await lifecycle.close()
    process.exit(1)
  }
}

async function start(environmentConfig: Config, lifecycle: Lifecycle, link: ParentLink): Promise<void> {
  const stopped = new Promise<never>((_, reject) => lifecycle.signal.addEventListener('abort', () => reject(lifecycle.signal.reason), { once: true }))
  const [begin, program] = await Promise.all([Promise.race([link.begin, stopped]), loadProgram()])
  lifecycle.signal.throwIfAborted()
  const { number, port, baseUrl, ssh, databaseUrl, first, killed } = begin
  lifecycle.log.setBindings({ worker: number })
  const config = Object.freeze({ ...environmentConfig, port, baseUrl, ssh })
  const database = await openConnections(databaseUrl, config, { log: lifecycle.log, signal: lifecycle.signal })
  lifecycle.onClose(() => database.close())
  const { ctx, app } = await openService(config, database, lifecycle, {
    program,
    contextOptions: { workers: config.workers, exclusion: link, onOutdated: () => void link.send({ type: 'outdated' }) },
    first: first ? true : { killed },
    onContext: ({ jobs }, prepared) =>
      void prepared.then(
        () => link.send({ type: 'prepared', process: jobs.id }),
        () => {},
      ),
  })
  shareMetrics(ctx, link)
  const answers = await serveNamedSocket({
    link,
    bind: (path) => program.serveSocket(ctx, path),
    onFault: (error) => lifecycle.log.error({ err: error }, 'the SSH socket is not served'),
  })
  lifecycle.onClose(() => Promise.all([stopServing(app, DRAIN_TIMEOUT_MS), answers.close(DRAIN_TIMEOUT_MS)]))
  lifecycle.signal.throwIfAborted()
  await listen(app, config)
  await link.send({ type: 'listening' })
  void reportHealth(ctx, link, lifecycle.signal)
}

/** Reports repeatedly that this process can do what readiness asks for; a load of calls is no fault. */
async function reportHealth({ db, git, cpu }: Context, link: ParentLink, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const checked = Promise.all([db.readRows(undefined, 'select 1', []), git.checkStart()])
    await checked.then(
      () => (cpu.markdown.isHealthy && cpu.highlighter.isHealthy && cpu.ci.isHealthy ? link.send({ type: 'healthy' }) : undefined),
      () => undefined, // reported by the calls that meet it
    )
    await sleep(HEALTH_INTERVAL_MS, undefined, { signal }).catch(() => undefined)
  }
}

/** Makes every worker serve the metrics of the whole service. */
function shareMetrics(ctx: Pick<Context, 'monitoring'>, link: ParentLink): void {
  const own = ctx.monitoring.metrics
  link.onCount = (id) => void own.values().then((values) => link.send({ type: 'counted', id, values }))
  ctx.monitoring.metrics = { ...own, page: () => link.page() }
}
