import { randomBytes } from 'node:crypto'
import { constants } from 'node:fs'
import { access, mkdir, readdir, rm, rmdir, stat, utimes, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { RepositoryMoving } from '../errors.js'
import { isReceivingPush } from './leftovers.js'
import { isWriterDead, processIdentity, WRITER_FILE_PREFIX } from './writer-files.js'

/**
 * The two markers of a move to another storage (SEC-187), each of which keeps writers out while it is closed: `leaving`
 * lets new pushes wait, `left` refuses every move of a ref. A gate covers a project's repository and its wiki; its
 * directory lies beside their former copies and is deleted with them.
 */
export type Gate = 'leaving' | 'left'

/** A push without a heartbeat for this long counts as killed. */
const WRITER_TIMEOUT_MS = 60_000
const HEARTBEAT_INTERVAL_MS = 10_000

const idOf = (directory: string) => basename(directory).split('.', 1)[0] as string
/**
 * A directory with one file per run that holds the gate. It is removed with its last file, so an abandoned run cannot
 * open another run's gate.
 */
const gateOf = (directory: string, gate: Gate) => join(dirname(directory), `.${gate}-${idOf(directory)}`)

export async function isClosed(directory: string, gate: Gate): Promise<boolean> {
  try {
    await access(gateOf(directory, gate), constants.F_OK)
    return true
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '')) return false
    throw error
  }
}

/** Throws RepositoryMoving if the repository has moved to another storage, so that no ref may move here. */
export async function assertNotMoved(directory: string, onNetworkFileSystem = false): Promise<void> {
  // changing the directory makes a network file system fetch its entries from the server again
  if (onNetworkFileSystem) await utimes(dirname(directory), new Date(), new Date()).catch(() => undefined)
  if (await isClosed(directory, 'left')) throw new RepositoryMoving()
}

/** Closes a gate on behalf of one run of a move. */
export async function closeGate(directory: string, gate: Gate, run: string): Promise<void> {
  const folder = gateOf(directory, gate)
  for (;;) {
    await mkdir(folder, { recursive: true })
    try {
      return await writeFile(join(folder, run), '')
    } catch (error) {
      // another run removed the directory in between
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    }
  }
}

/** Releases one run's hold on a gate; it stays closed while another run holds it. */
export async function openGate(directory: string, gate: Gate, run: string): Promise<void> {
  const folder = gateOf(directory, gate)
  await rm(join(folder, run), { force: true })
  await rmdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (!['ENOENT', 'ENOTEMPTY', 'EEXIST'].includes(error.code ?? '')) throw error
  })
}

/** Opens both gates for all runs. */
export async function removeGates(directory: string): Promise<void> {
  for (const gate of ['left', 'leaving'] as const) await rm(gateOf(directory, gate), { recursive: true, force: true })
}

const writerFilePrefix = (directory: string) => `${WRITER_FILE_PREFIX}${idOf(directory)}-`

/**
 * Registers a push with a heartbeat file that all processes see, until the returned function is called. Throws
 * RepositoryMoving while the repository is leaving.
 */
export async function registerWriter(directory: string): Promise<() => Promise<void>> {
  const path = join(dirname(directory), `${writerFilePrefix(directory)}${randomBytes(8).toString('hex')}`)
  await writeFile(path, await processIdentity(process.pid), { flag: 'wx' })
  const heartbeat = setInterval(() => void utimes(path, new Date(), new Date()).catch(() => undefined), HEARTBEAT_INTERVAL_MS).unref()
  const unregister = async () => {
    clearInterval(heartbeat)
    await rm(path, { force: true }).catch(() => undefined)
  }
  // check after creating the file: the process that closes the gate looks for files afterwards
  const closed = await isClosed(directory, 'leaving').catch(async (error: unknown) => {
    await unregister()
    throw error
  })
  if (!closed) return unregister
  await unregister()
  throw new RepositoryMoving({ begun: false })
}

/** Whether a push to one of a project's repositories is running. */
export async function hasActivePushes(directories: string[]): Promise<boolean> {
  const [first] = directories
  if (first === undefined) return false
  const shard = dirname(first)
  const prefix = writerFilePrefix(first)
  for (const name of (await readdir(shard)).filter((each) => each.startsWith(prefix))) {
    const found = await stat(join(shard, name)).catch(() => null)
    if (!found) continue
    if (Date.now() - found.mtimeMs < WRITER_TIMEOUT_MS && !(await isWriterDead(join(shard, name)))) return true
    await rm(join(shard, name), { force: true })
  }
  // git may outlive the service process that started it
  for (const directory of directories) if (await isReceivingPush(directory)) return true
  return false
}
