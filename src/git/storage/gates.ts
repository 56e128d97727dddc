import { randomBytes } from 'node:crypto'
import { constants } from 'node:fs'
import { access, mkdir, readdir, readFile, readlink, rm, rmdir, stat, utimes, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { startTimeOf } from '../../lib/is-running.js'
import { RepositoryMoving } from '../errors.js'
import { isPushedTo, SIGN_OF_WRITER } from './leftovers.js'

/**
 * What keeps writers out while a repository goes to another storage (SEC-187). `leaving`: whoever begins a write waits.
 * `left`: no ref may move here any more. Both concern the repository of a project and its wiki together, and stay
 * beside the former copy until that is removed.
 */
export type Gate = 'leaving' | 'left'

/** Milliseconds after which a push that has not said that it goes on counts as killed. */
const SILENT = 60_000
const SIGN_OF_LIFE = 10_000

const idOf = (directory: string) => basename(directory).split('.', 1)[0] as string
/** A folder: it is gone when nobody's file is left in it, so a move that was given up cannot open another one's. */
const gateOf = (directory: string, gate: Gate) => join(dirname(directory), `.${gate}-${idOf(directory)}`)

/** Whether a gate of the repository in this directory is closed. */
export async function isClosed(directory: string, gate: Gate): Promise<boolean> {
  try {
    await access(gateOf(directory, gate), constants.F_OK)
    return true
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '')) return false
    throw error
  }
}

/** Throws RepositoryMoving where no ref may move any more. */
export async function checkHere(directory: string, shared = false): Promise<void> {
  // a network file system asks its server again for the names in a folder that this machine has just changed
  if (shared) await utimes(dirname(directory), new Date(), new Date()).catch(() => undefined)
  if (await isClosed(directory, 'left')) throw new RepositoryMoving()
}

/** Closes a gate in the name of one run of a move. */
export async function closeGate(directory: string, gate: Gate, run: string): Promise<void> {
  const folder = gateOf(directory, gate)
  for (;;) {
    await mkdir(folder, { recursive: true })
    try {
      return await writeFile(join(folder, run), '')
    } catch (error) {
      // somebody has opened theirs in between
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    }
  }
}

/** Opens a gate, unless another run keeps it closed. */
export async function openGate(directory: string, gate: Gate, run: string): Promise<void> {
  const folder = gateOf(directory, gate)
  await rm(join(folder, run), { force: true })
  await rmdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (!['ENOENT', 'ENOTEMPTY', 'EEXIST'].includes(error.code ?? '')) throw error
  })
}

/** Opens both gates, whoever has closed them. */
export async function removeGates(directory: string): Promise<void> {
  for (const gate of ['left', 'leaving'] as const) await rm(gateOf(directory, gate), { recursive: true, force: true })
}

const writersPrefix = (directory: string) => `${SIGN_OF_WRITER}${idOf(directory)}-`

/**
 * Makes a push visible to all processes until the returned function is called. Throws RepositoryMoving, and nothing has
 * begun, while the repository is leaving.
 */
export async function enter(directory: string): Promise<() => Promise<void>> {
  const path = join(dirname(directory), `${writersPrefix(directory)}${randomBytes(8).toString('hex')}`)
  await writeFile(path, await ownName(process.pid), { flag: 'wx' })
  const alive = setInterval(() => void utimes(path, new Date(), new Date()).catch(() => undefined), SIGN_OF_LIFE).unref()
  const leave = async () => {
    clearInterval(alive)
    await rm(path, { force: true }).catch(() => undefined)
  }
  // after the file is there: whoever closes the gate looks for it then
  const closed = await isClosed(directory, 'leaving').catch(async (error: unknown) => {
    await leave()
    throw error
  })
  if (!closed) return leave
  await leave()
  throw new RepositoryMoving(false)
}

/** Machine, process and its start; empty where the system does not tell. */
async function ownName(pid: number): Promise<string> {
  try {
    const [boot, space] = await Promise.all([readFile('/proc/sys/kernel/random/boot_id', 'utf8'), readlink('/proc/self/ns/pid')])
    const started = startTimeOf(pid)
    return started === undefined ? '' : `${boot.trim()} ${space} ${pid} ${started}`
  } catch {
    return ''
  }
}

/** Whether the process that wrote this file ran on this machine and is gone. */
async function isKilled(path: string): Promise<boolean> {
  const name = (await readFile(path, 'utf8').catch(() => '')).split(' ')
  const [boot, space, pid] = name
  const [ownBoot, ownSpace] = (await ownName(process.pid)).split(' ')
  return pid !== undefined && boot === ownBoot && space === ownSpace && (await ownName(Number(pid))) !== name.join(' ')
}

/** Whether a push to the repository, or to its wiki, is going on. */
export async function isEntered(directories: string[]): Promise<boolean> {
  const [first] = directories
  if (first === undefined) return false
  const shard = dirname(first)
  const prefix = writersPrefix(first)
  for (const name of (await readdir(shard)).filter((each) => each.startsWith(prefix))) {
    const found = await stat(join(shard, name)).catch(() => null)
    if (!found) continue
    if (Date.now() - found.mtimeMs < SILENT && !(await isKilled(join(shard, name)))) return true
    await rm(join(shard, name), { force: true })
  }
  // git may outlive the process that started it
  for (const directory of directories) if (await isPushedTo(directory)) return true
  return false
}
