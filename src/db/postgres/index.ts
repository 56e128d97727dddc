import { mkdir, readFile, realpath, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { StartFault } from '../../lib/start-fault.js'
import { type Account, accountForPostgres, chownTree } from './account.js'
import { databaseHome } from './home.js'
import { initialise } from './initialise.js'
import { stopLeftover } from './leftover.js'
import { acquireLock, giveBack, type Lock, lockOwner, releaseLock } from './lock.js'
import { newPassword, passwordFor } from './password.js'
import { readRunning, removeRunning, writePreparation, writeRunning } from './records.js'
import { chooseServer } from './server.js'
import type { ServerOptions } from './settings.js'
import { clearSockets, makeSocketFolder } from './sockets.js'
import { type Log, START_TIMEOUT, Supervisor } from './supervisor.js'

export interface EmbeddedOptions {
  /** The folder of Postgres; created if missing. */
  directory: string
  log: Log
  /** False trades durability for speed, for test databases. */
  durable?: boolean
  /** Keeps less in memory, and takes a sixth more of the processor; for a service beside others. */
  compact?: boolean
  /** The minimum of `max_connections`. */
  connections?: number
  /** Called when the process has been started, before it is ready. */
  onLaunch?: () => void
}

export interface EmbeddedPostgres {
  url: string
  /** Stops Postgres and releases the folder. */
  stop(): Promise<void>
}

/** Starts the embedded Postgres, also after a kill. A StartFault says in one line what is missing. */
export async function startEmbeddedPostgres({
  directory,
  log,
  durable = true,
  compact = false,
  connections = 0,
  onLaunch,
}: EmbeddedOptions): Promise<EmbeddedPostgres> {
  const account = await accountForPostgres()
  await mkdir(directory, { recursive: true, mode: account ? 0o711 : 0o700 }).catch((error: NodeJS.ErrnoException) => {
    throw new StartFault(`cannot make ${directory}: ${error.code}`)
  })
  const lock = await acquireLock(directory)
  try {
    return await startLocked(await realpath(directory), account, log, { durable, compact, connections, onLaunch }, lock)
  } catch (error) {
    await releaseLock(lock)
    throw error
  }
}

/** The process id of the service that holds the folder; undefined if there is none. */
export async function holderPid(directory: string): Promise<string | undefined> {
  return (await lockOwner(directory))?.split(' ')[0]
}

/** The URL of the Postgres that a running service started in the folder; undefined if there is none. */
export async function findEmbeddedPostgres(directory: string): Promise<string | undefined> {
  const deadline = Date.now() + START_TIMEOUT
  while (Date.now() < deadline) {
    const owner = await lockOwner(directory)
    if (owner === undefined) return undefined
    const running = await readRunning(directory)
    if (running?.owner === owner) return running.url
    await sleep(50) // it is starting
  }
  return undefined
}

async function startLocked(directory: string, account: Account | undefined, log: Log, tuning: ServerOptions, lock: Lock): Promise<EmbeddedPostgres> {
  const home = await databaseHome(directory, account)
  const data = join(home, 'data')
  await clearSockets((await readRunning(directory))?.sockets)
  await removeRunning(directory)

  const existing = await readFile(join(data, 'PG_VERSION'), 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    throw new StartFault(`cannot read ${data} (${error.code}): it belongs to another user; ${giveBack(directory)}`)
  })
  if (existing !== undefined) await stopLeftover(data, log)
  const server = await chooseServer(directory, account, existing === undefined ? undefined : Number.parseInt(existing, 10))
  if (existing === undefined) {
    log.info({ server: server.origin }, 'preparing the database')
    await initialise(server, home, account, tuning.durable, await newPassword(directory))
    await writePreparation(directory, { origin: server.origin, major: server.major, home, directory })
  } else if (account && (await stat(data)).uid !== account.uid) chownTree(data, account)
  const password = await passwordFor(directory, server, data, account, existing !== undefined)

  const sockets = await makeSocketFolder(account)
  const supervisor = new Supervisor({ server, data, sockets, account }, log, tuning)
  try {
    await supervisor.start()
  } catch (error) {
    await clearSockets(sockets)
    throw error
  }
  const url = `postgresql://roost:${password}@localhost/postgres?host=${encodeURIComponent(sockets)}`
  await writeRunning(directory, { url, sockets, owner: lock.owner })
  let stopping: Promise<void> | undefined
  const stop = async () => {
    await supervisor.stop()
    await clearSockets(sockets)
    await removeRunning(directory)
    await releaseLock(lock)
  }
  return {
    url,
    stop() {
      stopping ??= stop()
      return stopping
    },
  }
}
