import { access, constants, lstat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Config, setUserVariables } from '../config.js'
import { canEnter, readAccounts } from '../db/postgres/account.js'
import { StartFault } from '../lib/start-fault.js'

/** What the types of Node leave out. */
type Initialising = NodeJS.Process & { initgroups(user: string, group: number): void }

/** An account other than root that a data folder belongs to. */
export interface Owner {
  uid: number
  gid: number
  /** Its name and home; undefined if it has no entry in /etc/passwd. */
  entry: { name: string; home: string } | undefined
}

/**
 * If this process is root: the account that the instance in the data folder belongs to, or without an instance the
 * folder itself; null for root.
 */
export async function findOwner({ dataDir }: Config): Promise<Owner | null> {
  if (process.getuid?.() !== 0) return null
  // the service has made this folder; the data folder itself may belong to another user, as volumes of containers do
  const found = (await statOf(join(dataDir, 'hooks'))) ?? (await statOf(dataDir))
  if (!found || found.uid === 0) return null
  const [name, , , gid, , home] = (await readAccounts()).find(([, , uid]) => Number(uid) === found.uid) ?? []
  if (name === undefined || home === undefined) return { uid: found.uid, gid: found.gid, entry: undefined }
  return { uid: found.uid, gid: Number(gid), entry: { name, home } }
}

const statOf = (path: string) => lstat(path).catch(() => null)

/**
 * If this process is root, makes it a process of the account that the instance belongs to: no file changes its owner,
 * and the service can read what a command has written (SEC-255).
 */
export async function actAsOwner(config: Config): Promise<void> {
  const owner = await findOwner(config)
  if (!owner) return
  const { uid, gid, entry } = owner
  const name = entry?.name ?? `the user id ${uid}`
  const program = fileURLToPath(new URL('.', import.meta.url))
  if (!(await canEnter(program, { uid, gid, named: entry !== undefined })))
    throw new StartFault(`${config.dataDir} belongs to ${name}, who cannot read the program in ${program}: install it elsewhere`)
  try {
    if (entry) (process as Initialising).initgroups(entry.name, gid)
    else process.setgroups?.([gid])
    process.setgid?.(gid)
    process.setuid?.(uid)
  } catch (error) {
    const reason = (error as NodeJS.ErrnoException).code ?? (error as Error).message
    throw new StartFault(
      `${config.dataDir} belongs to ${name}, and root may not act as another user here (${reason}): run this as that user, in a container with docker compose exec --user ${uid}`,
    )
  }
  const usable = await access(tmpdir(), constants.W_OK | constants.X_OK).then(
    () => true,
    () => false,
  )
  setUserVariables(entry, usable)
}
