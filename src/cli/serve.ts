import { once } from 'node:events'
import http from 'node:http'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { FastifyInstance } from 'fastify'
import type { Config } from '../config.js'
import type { Context } from '../context.js'
import { holderPid } from '../db/postgres/index.js'
import { loadOrCreateHostKeys } from '../lib/crypto/host-keys.js'
import { StartFault } from '../lib/start-fault.js'
import { createLog } from '../log.js'
import { sshFolder } from '../transport/ssh/client.js'
import { makeSshPlace } from '../transport/ssh/place.js'
import { type SshService, startSshThread } from '../transport/ssh/thread.js'
import { checkAddress, checkDescriptors, checkFolders, checkGit, settleAddress, settleSsh } from './host.js'
import { DRAIN, Life } from './life.js'
import { listen, loadProgram, openService, stopListening } from './open-service.js'
import { embeddedFolder, ownPostgres } from './postgres.js'

/** Milliseconds between two log lines about a slow start. */
const SAY_EVERY = 10_000
/** The bundler puts them beside each other: this program, and the thread that speaks SSH. */
const PROGRAM = fileURLToPath(new URL('./main.js', import.meta.url))
const SSH_PROGRAM = new URL('./ssh.js', import.meta.url)

/** A configuration whose addresses are known. */
type Settled = Config & { baseUrl: string }

/** Starts the service and resolves once a request succeeds; signals end it and the process. */
export async function serve(given: Config): Promise<void> {
  const life = new Life(createLog(given.logLevel))
  await life.begin(start(given, life))
}

async function start(given: Config, life: Life): Promise<void> {
  const { log, signal } = life
  await Promise.all([checkDescriptors(), checkGit(), checkFree(given)])
  await checkFolders(given)
  const settled = await settleSsh(given, (fault) => log.warn(`SSH is off: ${fault.message}`))
  // at the first start they take a second or two
  const keys = settled.ssh.port === null ? Promise.resolve([]) : loadOrCreateHostKeys(sshFolder(settled.dataDir))
  keys.catch(() => {})
  const postgres = startPostgres(settled, life)
  // the program is loaded while Postgres gets ready
  await Promise.race([postgres.launched, postgres.url])
  const program = settled.workers === 1 ? await loadProgram() : null
  const url = await postgres.url
  signal.throwIfAborted()
  const config = await settleAddress(settled)
  await (program ? serveAlone(config, url, life, program, keys) : serveByWorkers(config, url, life, keys))
  process.stdout.write(`Roost is ready at ${config.baseUrl}\n`)
}

/** Refuses an address that cannot be listened on; the usual reason is that the service is already running. */
async function checkFree(config: Config): Promise<void> {
  await checkAddress(config).catch(async (error: unknown) => {
    const holder = await holderPid(embeddedFolder(config))
    throw holder === undefined ? error : new StartFault(`${embeddedFolder(config)} is in use by process ${holder}: Roost is running there already`)
  })
}

/** `launched` resolves when its process has been started, `url` when it answers. */
function startPostgres(config: Config, life: Life): { launched: Promise<void>; url: Promise<string> } {
  let onLaunch = () => {}
  const launched = new Promise<void>((resolve) => {
    onLaunch = resolve
  })
  const start = async () => {
    const own = await ownPostgres(config, life.log, onLaunch)
    life.opened(() => own.stop())
    return own.url
  }
  return { launched, url: start() }
}

/** Serves in this process. */
async function serveAlone(
  config: Settled,
  url: string,
  life: Life,
  program: Awaited<ReturnType<typeof loadProgram>>,
  keys: Promise<string[]>,
): Promise<void> {
  const database = await program.openMigrated(url, config, { log: life.log })
  life.opened(() => database.close())
  let ssh: Promise<SshService> | undefined
  let listening: FastifyInstance | undefined
  const onContext = (ctx: Context, prepared: Promise<void>) => {
    // its thread gets ready while the application is built
    ssh = keys.then(() => program.startSsh(ctx, { program: SSH_PROGRAM, prepared }))
    const started = ssh.catch(() => undefined)
    life.opened(() => Promise.all([listening && stopListening(listening, DRAIN), started.then((service) => service?.close(DRAIN))]))
  }
  const { app } = await openService(config, database, life, { program, first: true, onContext })
  listening = app
  life.signal.throwIfAborted()
  await Promise.all([ssh, listen(app, config).then((address) => succeeds(address, life))])
}

/** Serves in several processes, for which this one keeps the database and SSH connections. */
async function serveByWorkers(config: Settled, databaseUrl: string, life: Life, keys: Promise<string[]>): Promise<void> {
  const { log, signal } = life
  const [{ checkConnections, migrateDatabase }, { Workers }] = await Promise.all([import('./database.js'), import('./workers/parent.js')])
  await migrateDatabase(databaseUrl)
  await checkConnections(databaseUrl, config)
  const { workers: count, port, baseUrl, ssh } = config
  const place = await makeSshPlace(config.dataDir)
  life.opened(() => place.remove())
  const workers = new Workers({ count, program: PROGRAM, begin: { databaseUrl, port, baseUrl, ssh, socket: place.socket }, log })
  let thread: SshService | undefined
  life.opened(() => Promise.all([thread?.close(DRAIN), workers.stop(DRAIN)]))
  signal.throwIfAborted()
  await workers.start(signal)
  await place.publish()
  thread = await startSshThread(ssh, { program: SSH_PROGRAM, hostKeys: await keys, socket: place.socket, log, stopping: signal })
  await succeeds(`http://${config.host.includes(':') ? `[${config.host}]` : config.host}:${port}`, life)
}

/**
 * Waits for a first successful request, for as long as it takes: on a busy machine that may be minutes, and the log
 * says what it waits for.
 */
async function succeeds(address: string, { log, signal }: Life): Promise<void> {
  const url = new URL('/-/readiness', address.replace('0.0.0.0', '127.0.0.1').replace('[::]', '[::1]'))
  let answer = 'no answer'
  for (let next = Date.now() + SAY_EVERY; !signal.aborted; await sleep(50)) {
    if (Date.now() > next) {
      log.warn({ answer }, 'the service is not ready yet')
      next = Date.now() + SAY_EVERY
    }
    try {
      // not by fetch, which takes forty milliseconds to load
      const [response] = (await once(http.get(url, { signal, agent: false }), 'response')) as [http.IncomingMessage]
      answer = `${response.statusCode} ${(await text(response)).slice(0, 200)}`
      if (response.statusCode === 200) return
    } catch (error) {
      answer = error instanceof Error ? error.message : String(error)
    }
  }
  signal.throwIfAborted()
}
