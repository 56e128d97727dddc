import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { Config } from '../config.js'
import { StartFault } from '../lib/start-fault.js'
import { createLog } from '../log.js'
import { openMigrated, ownPostgres } from './database.js'
import { checkFolders, checkGit, settleAddress } from './host.js'

/** Milliseconds running requests get after a signal; with what follows the process is gone within ten seconds (SEC-160). */
const DRAIN = 7_000
const READY = 10_000

type Step = () => Promise<unknown>

/** Starts the service and resolves once a request succeeds; signals end it and the process. */
export async function serve(given: Config): Promise<void> {
  const log = createLog(given.logLevel)
  // What was opened last is closed first.
  const opened: Step[] = []
  const stop = new AbortController()
  const started = start(given, log, opened, stop.signal)
  endOnSignal(log, opened, stop, started)
  try {
    await started
  } catch (error) {
    if (stop.signal.aborted) return
    await closeAll(opened, log)
    throw error
  }
}

async function start(given: Config, log: Logger, opened: Step[], signal: AbortSignal): Promise<void> {
  await checkFolders(given)
  await checkGit()
  const launch = async () => {
    const own = await ownPostgres(given, log)
    opened.push(() => own.stop())
    return own.url
  }
  const [url, { createContext, buildApp, bootstrapAdministrator, recover }] = await Promise.all([launch(), loadProgram()])
  signal.throwIfAborted()
  const config = await settleAddress(given)
  const database = await openMigrated(url, config, { log })
  opened.push(() => database.close())

  const ctx = await createContext(config, database, log)
  opened.push(() => ctx.close())
  await bootstrapAdministrator(ctx)
  await recover(ctx)
  const app = await buildApp(ctx)
  opened.push(async () => {
    const late = setTimeout(() => app.server.closeAllConnections(), DRAIN)
    await app.close().finally(() => clearTimeout(late))
  })
  signal.throwIfAborted()
  const address = await app.listen({ host: config.host, port: config.port }).catch((error: NodeJS.ErrnoException) => {
    throw new StartFault(`cannot listen on ${config.host}:${config.port} (${error.code}): set HOST and PORT`)
  })
  await succeeds(new URL('/-/readiness', address.replace('0.0.0.0', '127.0.0.1').replace('[::]', '[::1]')), signal)
  process.stdout.write(`Roost is ready at ${config.baseUrl}\n`)
}

/** The larger part of the program, read while Postgres starts. */
async function loadProgram() {
  const [{ createContext }, { buildApp }, { bootstrapAdministrator }, { recover }] = await Promise.all([
    import('../context.js'),
    import('../app.js'),
    import('../services/bootstrap.js'),
    import('../services/recovery.js'),
  ])
  return { createContext, buildApp, bootstrapAdministrator, recover }
}

async function succeeds(url: URL, signal: AbortSignal): Promise<void> {
  let said = 'no answer'
  for (const until = Date.now() + READY; Date.now() < until && !signal.aborted; await sleep(50)) {
    try {
      const response = await fetch(url, { signal, headers: { connection: 'close' } })
      said = `${response.status} ${(await response.text()).slice(0, 200)}`
      if (response.ok) return
    } catch (error) {
      said = error instanceof Error ? error.message : String(error)
    }
  }
  signal.throwIfAborted()
  throw new StartFault(`the service does not become ready: ${said}`)
}

function endOnSignal(log: Logger, opened: Step[], stop: AbortController, started: Promise<void>): void {
  const end = (signal: NodeJS.Signals) => {
    if (stop.signal.aborted) return
    stop.abort(new Error('stopped while starting'))
    log.info({ signal }, 'stopping')
    // A start that is half done knows best what it has opened.
    const closed = started.then(
      () => closeAll(opened, log),
      () => closeAll(opened, log),
    )
    void Promise.race([closed, sleep(DRAIN + 2_500, false)]).then((clean) => {
      log.flush(() => process.exit(clean ? 0 : 1))
    })
  }
  process.on('SIGTERM', end).on('SIGINT', end)
}

/** True when every step went well; a step that fails does not keep the next from running. */
async function closeAll(opened: Step[], log: Logger): Promise<boolean> {
  let clean = true
  for (let step = opened.pop(); step; step = opened.pop()) {
    await step().catch((error: unknown) => {
      clean = false
      log.error({ err: error }, 'a part did not close')
    })
  }
  return clean
}
