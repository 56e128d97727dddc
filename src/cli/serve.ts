import { once } from 'node:events'
import http from 'node:http'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { FastifyInstance } from 'fastify'
import { type Config, configWarnings } from '../config.js'
import type { Context } from '../context.js'
import { holderPid } from '../db/postgres/index.js'
import { loadOrCreateHostKeys } from '../lib/crypto/host-keys.js'
import { StartFault } from '../lib/start-fault.js'
import { createLog, logWarnings } from '../log.js'
import { findInitialPassword } from '../services/identity/initial-password.js'
import { sshFolder } from '../transport/ssh/client.js'
import { openSshAt } from '../transport/ssh/reopening.js'
import { createSocketLocation, type SocketLocation } from '../transport/ssh/socket-location.js'
import { type SshService, startSshThread } from '../transport/ssh/thread.js'
import { actAsOwner } from './account.js'
import { checkAddress, checkDescriptors, checkFolders, checkGit, resolveAddress, resolveSshPort, sshLimits } from './host.js'
import { DRAIN_TIMEOUT_MS, Lifecycle, OUTDATED } from './lifecycle.js'
import { listen, loadProgram, openService, stopServing } from './open-service.js'
import { embeddedFolder, openServicePostgres } from './postgres.js'

/** How often a slow start is logged, in milliseconds. */
const LOG_INTERVAL_MS = 10_000
/** The build puts both beside each other: this program, and the SSH thread. */
const PROGRAM = fileURLToPath(new URL('./main.js', import.meta.url))
const SSH_PROGRAM = new URL('./ssh.js', import.meta.url)

/** A configuration with resolved addresses. */
type ResolvedConfig = Config & { baseUrl: string }

/** Starts the service; resolves after a first successful request. Signals shut it down. */
export async function serve(environmentConfig: Config): Promise<void> {
  const lifecycle = new Lifecycle(createLog(environmentConfig.logLevel))
  logWarnings(lifecycle.log)
  await lifecycle.untilStarted(start(environmentConfig, lifecycle))
}

async function start(environmentConfig: Config, lifecycle: Lifecycle): Promise<void> {
  const { log, signal } = lifecycle
  for (const warning of configWarnings(environmentConfig)) log.warn(warning)
  await actAsOwner(environmentConfig)
  await Promise.all([checkDescriptors(), checkGit(), checkAddressFree(environmentConfig)])
  await checkFolders(environmentConfig)
  const resolved = await resolveSshPort(environmentConfig, (fault) => log.warn(`SSH is off: ${fault.message}`))
  // generating keys takes a second or two at the first start
  const hostKeys = resolved.ssh.port === null ? Promise.resolve([]) : loadOrCreateHostKeys(sshFolder(resolved.dataDir))
  hostKeys.catch(() => {})
  const postgres = startPostgres(resolved, lifecycle)
  // load the program while Postgres starts
  await Promise.race([postgres.launched, postgres.url])
  const program = resolved.workers === 1 ? await loadProgram() : null
  const url = await postgres.url
  signal.throwIfAborted()
  const config = await resolveAddress(resolved)
  await (program ? serveInProcess(config, url, lifecycle, program, hostKeys) : serveWithWorkers(config, url, lifecycle, hostKeys))
  process.stdout.write(`Roost is ready at ${config.baseUrl}\n`)
  const passwordAt = await findInitialPassword(config)
  if (passwordAt) process.stdout.write(`Sign in as ${config.admin.username}.\nThe password is in ${passwordAt}\n`)
}

/** Throws if the address cannot be listened on, usually because the service is already running. */
async function checkAddressFree(config: Config): Promise<void> {
  await checkAddress(config).catch(async (error: unknown) => {
    const holder = await holderPid(embeddedFolder(config))
    throw holder === undefined ? error : new StartFault(`${embeddedFolder(config)} is in use by process ${holder}: Roost is running there already`)
  })
}

/** `launched` resolves when its process has been started, `url` when it answers. */
function startPostgres(config: Config, lifecycle: Lifecycle): { launched: Promise<void>; url: Promise<string> } {
  let onLaunch = () => {}
  const launched = new Promise<void>((resolve) => {
    onLaunch = resolve
  })
  const start = async () => {
    const own = await openServicePostgres(config, lifecycle.log, onLaunch)
    lifecycle.onClose(() => own.stop())
    return own.url
  }
  return { launched, url: start() }
}

/** Serves in this process. */
async function serveInProcess(
  config: ResolvedConfig,
  url: string,
  lifecycle: Lifecycle,
  program: Awaited<ReturnType<typeof loadProgram>>,
  hostKeys: Promise<string[]>,
): Promise<void> {
  const database = await program.openMigrated(url, config, { log: lifecycle.log, signal: lifecycle.signal, alone: config.databaseUrl === undefined })
  lifecycle.onClose(() => database.close())
  let ssh: Promise<SshService> | undefined
  let listening: FastifyInstance | undefined
  const onContext = (ctx: Context, prepared: Promise<void>) => {
    // start the SSH thread while the application is built
    ssh = hostKeys.then(async () => program.startSsh(ctx, { program: SSH_PROGRAM, limits: await sshLimits(), prepared }))
    const started = ssh.catch(() => undefined)
    lifecycle.onClose(() =>
      Promise.all([listening && stopServing(listening, DRAIN_TIMEOUT_MS), started.then((service) => service?.close(DRAIN_TIMEOUT_MS))]),
    )
  }
  const { app } = await openService(config, database, lifecycle, { program, first: true, onContext })
  listening = app
  lifecycle.signal.throwIfAborted()
  await Promise.all([ssh, listen(app, config).then((address) => waitUntilReady(address, lifecycle))])
}

/** Serves in several worker processes; this one runs the embedded Postgres and the SSH thread. */
async function serveWithWorkers(config: ResolvedConfig, databaseUrl: string, lifecycle: Lifecycle, hostKeys: Promise<string[]>): Promise<void> {
  const { log, signal } = lifecycle
  const [{ checkConnections, migrateDatabase }, { Workers }] = await Promise.all([import('./database.js'), import('./workers/parent.js')])
  await migrateDatabase(databaseUrl, { alone: config.databaseUrl === undefined })
  await checkConnections(databaseUrl, config)
  const { workers: count, port, baseUrl, ssh } = config
  const firstLocation = await createSocketLocation(config.dataDir)
  lifecycle.onClose(() => firstLocation.remove())
  const begin = { databaseUrl, port, baseUrl, ssh, socket: firstLocation.socket }
  const workers = new Workers({ count, program: PROGRAM, begin, log, onOutdated: () => lifecycle.end(OUTDATED) })
  let thread: SshService | undefined
  lifecycle.onClose(() => Promise.all([thread?.close(DRAIN_TIMEOUT_MS), workers.stop(DRAIN_TIMEOUT_MS)]))
  signal.throwIfAborted()
  await workers.start(signal)
  const openSsh = async ({ socket, publish, remove }: SocketLocation): Promise<SshService> => {
    workers.serveSocket(socket)
    await publish()
    const own = { program: SSH_PROGRAM, limits: await sshLimits(), hostKeys: await hostKeys, socket }
    const opened = await startSshThread(ssh, { ...own, log, stopping: signal })
    return { close: (wait) => opened.close(wait).then(remove) }
  }
  thread = await openSshAt(firstLocation, openSsh, { dataDir: config.dataDir, log, isBound: () => workers.isSocketBound() })
  await waitUntilReady(`http://${config.host.includes(':') ? `[${config.host}]` : config.host}:${port}`, lifecycle)
}

/**
 * Waits for a first successful request, without a timeout: on a busy machine that may take minutes.
 */
async function waitUntilReady(address: string, { log, signal }: Lifecycle): Promise<void> {
  const url = new URL('/-/readiness', address.replace('0.0.0.0', '127.0.0.1').replace('[::]', '[::1]'))
  let answer = 'no answer'
  for (let next = Date.now() + LOG_INTERVAL_MS; !signal.aborted; await sleep(50)) {
    if (Date.now() > next) {
      log.warn({ answer }, 'the service is not ready yet')
      next = Date.now() + LOG_INTERVAL_MS
    }
    try {
      // not with fetch, which takes 40 ms to load
      const [response] = (await once(http.get(url, { signal, agent: false }), 'response')) as [http.IncomingMessage]
      answer = `${response.statusCode} ${(await text(response)).slice(0, 200)}`
      if (response.statusCode === 200) return
    } catch (error) {
      answer = error instanceof Error ? error.message : String(error)
    }
  }
  signal.throwIfAborted()
}
