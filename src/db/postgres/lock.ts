import { link, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { isRunning, startTimeOf } from '../../lib/is-running.js'
import { StartFault } from '../../lib/start-fault.js'

export interface Lock {
  path: string
  owner: string
}

/**
 * Acquires the lock file of the folder, which names the process that holds it; a lock of a process that has ended is
 * taken over.
 */
export async function acquireLock(directory: string): Promise<Lock> {
  const path = join(directory, 'lock')
  const owner = `${process.pid} ${startTimeOf(process.pid) ?? ''}`.trim()
  const temporary = `${path}.${process.pid}.${Math.random().toString(36).slice(2)}`
  try {
    await writeFile(temporary, owner, { mode: 0o600 })
  } catch (error) {
    throw new StartFault(
      `cannot write in ${directory} (${(error as NodeJS.ErrnoException).code}): if it belongs to another user, ${giveBack(directory)}`,
    )
  }
  try {
    for (;;) {
      try {
        // a link appears with its content, unlike a file that is opened and then written
        await link(temporary, path)
        await removeStaleTemporaries(directory, temporary)
        return { path, owner }
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
      }
      const holder = await readFile(path, 'utf8').catch(() => undefined)
      if (holder === undefined) continue
      if (isAlive(holder)) throw new StartFault(`${directory} is in use by process ${holder.split(' ')[0]}: Roost is running there already`)
      // only the process that renames the stale lock removes it, so that no process removes the next lock
      const stale = `${temporary}.dead`
      await rename(path, stale).catch(() => undefined)
      const moved = await readFile(stale, 'utf8').catch(() => undefined)
      if (moved !== undefined && isAlive(moved)) await link(stale, path).catch(() => undefined)
      await rm(stale, { force: true })
    }
  } finally {
    await rm(temporary, { force: true })
  }
}

export async function releaseLock({ path, owner }: Lock): Promise<void> {
  if ((await readFile(path, 'utf8').catch(() => '')) === owner) await rm(path, { force: true })
}

/** What root can do about a folder that does not belong to the user of this process. */
export const giveBack = (directory: string) => `as root: chown -R ${process.getuid?.() ?? 'USER'} ${directory}`

/** Removes temporary files of starts that were killed while they acquired the lock. */
async function removeStaleTemporaries(directory: string, temporary: string): Promise<void> {
  for (const name of await readdir(directory)) {
    const pid = Number(/^lock\.(\d+)\./.exec(name)?.[1])
    if (pid && join(directory, name) !== temporary && !isRunning(pid)) await rm(join(directory, name), { force: true })
  }
}

/** The holder of the lock, as process id and start time; undefined if there is none or it has ended. */
export async function lockOwner(directory: string): Promise<string | undefined> {
  const owner = await readFile(join(directory, 'lock'), 'utf8').catch(() => undefined)
  return owner !== undefined && isAlive(owner) ? owner : undefined
}

function isAlive(owner: string): boolean {
  const [pid, start] = owner.split(' ')
  if (!pid || !isRunning(Number(pid))) return false
  // process ids are reused; the start time tells two processes apart
  return start === undefined || startTimeOf(Number(pid)) === start
}
