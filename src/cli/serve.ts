import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { Logger } from 'pino'
import type { Config } from '../config.js'
import { holderOf } from '../db/postgres/index.js'
import { SpawnerProcess } from '../git/process/spawner-process.js'
import { ownHostKeys } from '../lib/crypto/host-keys.js'
import { StartFault } from '../lib/start-fault.js'
import { createLog } from '../log.js'
import { sshFolder } from '../transport/ssh/client.js'
import { embeddedFolder, openMigrated, ownPostgres } from './database.js'
import { cannotListen, checkAddress, checkDescriptors, checkFolders, checkGit, settleAddress, settleSsh } from './host.js'

/**
 * Milliseconds that running requests get after a signal; with everything else the process ends within ten seconds
 * (SEC-160).
 */
const DRAIN = 7_000
/** Milliseconds between two log lines about a slow start. */
const SAY_EVERY = 10_000
/** The program of the spawner process, beside this one where it is built. */
const SPAWNER = fileURLToPath(new URL('./spawner.js', import.meta.url))

type Step = () => Promise<unknown>

/** Starts the service and resolves once a request succeeds; signals end it and the process. */
export async function serve(given: Config): Promise<void> {
  const log = createLog(given.logLevel)
  // Closed in the reverse order.
  const opened: Step[] = []
  const stop = new AbortController()
  const started = start(given, log, opened, stop.signal)
  endOnSignal(log, opened, stop, started)
  try {
    await started
  } catch (error) {
    if (stop.signal.aborted) return
    await closeAll(opened, log)
    if (error instanceof StartFault) throw error
    log.fatal({ err: error }, 'the start failed')
    throw new StartFault(`the start failed: ${String(error instanceof Error ? error.message : error).split('\n', 1)[0]}`)
  }
}

async function start(given: Config, log: Logger, opened: Step[], signal: AbortSignal): Promise<void> {
  await checkDescriptors()
  await checkGit()
  await checkAddress(given).catch(async (error: unknown) => {
    // the usual reason is that the service is already running
    const holder = await holderOf(embeddedFolder(given))
    throw holder === undefined ? error : new StartFault(`${embeddedFolder(given)} is in use by process ${holder}: Roost is running there already`)
  })
  await checkFolders(given)
  const settled = await settleSsh(given, (fault) => log.warn(`SSH is off: ${fault.message}`))
  // at the first start they take a second or two
  const keys = settled.ssh.port === null ? null : ownHostKeys(sshFolder(settled.dataDir))
  keys?.catch(() => {})
  const launch = async () => {
    const own = await ownPostgres(settled, log)
    opened.push(() => own.stop())
    return own.url
  }
  const [url, { createContext, buildApp, startSsh, bootstrapAdministrator, recover, announceMail }] = await Promise.all([launch(), loadProgram()])
  signal.throwIfAborted()
  const config = await settleAddress(settled)
  const database = await openMigrated(url, config, { log })
  opened.push(() => database.close())

  const spawner = new SpawnerProcess(SPAWNER)
  opened.push(() => spawner.close())
  const ctx = await createContext(config, database, log, spawner)
  opened.push(() => ctx.close())
  await bootstrapAdministrator(ctx)
  await recover(ctx)
  await announceMail(ctx)
  await ctx.jobs.start({ alone: config.databaseUrl === undefined })
  const app = await buildApp(ctx)
  let ssh: { close(wait: number): Promise<void> } | undefined
  opened.push(async () => {
    const late = setTimeout(() => app.server.closeAllConnections(), DRAIN)
    await Promise.all([ssh?.close(DRAIN), app.close()]).finally(() => clearTimeout(late))
  })
  signal.throwIfAborted()
  const address = await app.listen({ host: config.host, port: config.port }).catch((error: NodeJS.ErrnoException) => {
    throw cannotListen(config.host, config.port, error)
  })
  await keys
  // the bundler puts it beside this program
  ssh = await startSsh(ctx, { program: new URL('./ssh.js', import.meta.url) })
  await succeeds(new URL('/-/readiness', address.replace('0.0.0.0', '127.0.0.1').replace('[::]', '[::1]')), log, signal)
  process.stdout.write(`Roost is ready at ${config.baseUrl}\n`)
}

/** The larger part of the program, loaded while Postgres starts. */
async function loadProgram() {
  const [{ createContext }, { buildApp }, { startSsh }, { bootstrapAdministrator }, { recover }, { announceMail }] = await Promise.all([
    import('./create-context.js'),
    import('../app.js'),
    import('../transport/ssh/server.js'),
    import('../services/operations/bootstrap.js'),
    import('../services/operations/recovery.js'),
    import('../services/mail/switch.js'),
  ])
  return { createContext, buildApp, startSsh, bootstrapAdministrator, recover, announceMail }
}

/**
 * Waits for a first successful request, for as long as it takes: on a busy machine that may be minutes, and the log
 * says what it waits for.
 */
async function succeeds(url: URL, log: Logger, signal: AbortSignal): Promise<void> {
  let said = 'no answer'
  for (let next = Date.now() + SAY_EVERY; !signal.aborted; await sleep(50)) {
    if (Date.now() > next) {
      log.warn({ said }, 'the service is not ready yet')
      next = Date.now() + SAY_EVERY
    }
    try {
      const response = await fetch(url, { signal, headers: { connection: 'close' } })
      said = `${response.status} ${(await response.text()).slice(0, 200)}`
      if (response.ok) return
    } catch (error) {
      said = error instanceof Error ? error.message : String(error)
    }
  }
  signal.throwIfAborted()
}

function endOnSignal(log: Logger, opened: Step[], stop: AbortController, started: Promise<void>): void {
  const end = (signal: NodeJS.Signals) => {
    if (stop.signal.aborted) return
    stop.abort(new Error('stopped while starting'))
    log.info({ signal }, 'stopping')
    // A start that is half done knows what it has opened.
    const closed = started.then(
      () => closeAll(opened, log),
      () => closeAll(opened, log),
    )
    void Promise.race([closed, sleep(DRAIN + 2_500, false)]).then((clean) => {
      log.flush(() => process.exit(clean ? 0 : 1))
    })
  }
  process.on('SIGTERM', end).on('SIGINT', end)
  // under nohup a terminal that closes is to be ignored
  if (!ignoresHangup()) process.on('SIGHUP', end)
}

/** Whether this process was started with SIGHUP ignored, as nohup does. */
function ignoresHangup(): boolean {
  try {
    const mask = /^SigIgn:\s*([0-9a-f]+)$/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1] ?? '0'
    return (BigInt(`0x${mask}`) & 1n) === 1n
  } catch {
    return false
  }
}

/** True when every step succeeded; a failing step does not keep the next from running. */
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
