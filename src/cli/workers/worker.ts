import type { Config } from '../../config.js'
import type { Context } from '../../context.js'
import { StartFault } from '../../lib/start-fault.js'
import { createLog } from '../../log.js'
import { openConnections } from '../database.js'
import { DRAIN, Life } from '../life.js'
import { listen, loadProgram, openService, stopListening } from '../open-service.js'
import { ParentLink } from './link.js'

/**
 * Serves as one of several processes, until the parent says that it is over, or SIGTERM; then it is replaced. Ends with
 * its parent, however that ends.
 */
export async function serveAsWorker(given: Config): Promise<void> {
  if (!process.connected) throw new StartFault('a worker is started by its parent only: set ROOST_WORKERS')
  const link = new ParentLink(process)
  const log = createLog(given.logLevel, { shared: true })
  const life = new Life(log)
  const started = start(given, life, link)
  // a terminal sends these to the whole group; the parent says when it is time
  for (const signal of ['SIGINT', 'SIGHUP'] as const) process.on(signal, () => {})
  process.on('SIGTERM', (signal) => life.end({ signal }, started))
  void link.stop.then(() => life.end({ reason: 'the service ends' }, started))
  try {
    await started
  } catch (error) {
    if (life.signal.aborted) return
    const line =
      error instanceof StartFault ? error.message : `the start failed: ${String(error instanceof Error ? error.message : error).split('\n', 1)[0]}`
    if (!(error instanceof StartFault)) log.fatal({ err: error }, 'the start failed')
    await link.send({ type: 'fault', line })
    await life.close()
    process.exit(1)
  }
}

async function start(given: Config, life: Life, link: ParentLink): Promise<void> {
  const stopped = new Promise<never>((_, reject) => life.signal.addEventListener('abort', () => reject(life.signal.reason), { once: true }))
  const [begin, program] = await Promise.all([Promise.race([link.begin, stopped]), loadProgram()])
  life.signal.throwIfAborted()
  const { number, port, baseUrl, ssh, databaseUrl, socket, first, gone } = begin
  life.log.setBindings({ worker: number })
  const config = Object.freeze({ ...given, port, baseUrl, ssh })
  const database = await openConnections(databaseUrl, config, { log: life.log })
  life.opened(() => database.close())
  const { ctx, app } = await openService(config, database, life, {
    program,
    among: { workers: config.workers, exclusion: link },
    first: first ? true : { gone },
    onContext: ({ jobs }, prepared) =>
      void prepared.then(
        () => link.send({ type: 'prepared', process: jobs.id }),
        () => {},
      ),
  })
  countTogether(ctx, link)
  const answers = await program.answerOnSocket(ctx, socket)
  life.opened(() => stopListening(app, DRAIN, answers.close(DRAIN)))
  life.signal.throwIfAborted()
  await listen(app, config)
  void link.send({ type: 'listening' })
}

/** Whichever worker is asked for metrics gives those of the whole service. */
function countTogether(ctx: Context, link: ParentLink): void {
  const own = ctx.metrics
  link.onCount = (id) => void own.values().then((values) => link.send({ type: 'counted', id, values }))
  ctx.metrics = { ...own, page: () => link.page() }
}
