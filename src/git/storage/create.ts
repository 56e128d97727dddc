import { randomBytes } from 'node:crypto'
import { accessSync, constants } from 'node:fs'
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { settleAll } from '../../lib/async/settle-all.js'
import { syncDirectory, syncFile } from '../../lib/files/durable.js'
import { isShortage } from '../../lib/unavailable.js'
import type { RepositoryKey } from '../types.js'

const CONFIG = '[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = true\n'

/**
 * The path of a repository in its storage: `<two hex digits of the id>/<id>.git`, so that no directory grows too large.
 */
export function repositoryDirectory(storagePath: string, { id, kind }: RepositoryKey) {
  const shard = (id % 256).toString(16).padStart(2, '0')
  return join(storagePath, shard, `${id}${kind === 'wiki' ? '.wiki' : ''}.git`)
}

/**
 * Creates a bare repository atomically and without starting git; `fill` may write and sync its content. An existing one
 * stays unchanged.
 */
export async function createRepository(directory: string, branch: string, fill?: (temporary: string) => Promise<void>) {
  if (await repositoryExists(directory)) return
  const shard = dirname(directory)
  await mkdir(shard, { recursive: true })
  const temporary = join(shard, `.tmp-${randomBytes(6).toString('hex')}`)
  try {
    const folders = ['objects/info', 'objects/pack', 'refs/heads', 'refs/tags', 'info']
    await settleAll(folders.map((folder) => mkdir(join(temporary, folder), { recursive: true })))
    await settleAll([writeFile(join(temporary, 'HEAD'), `ref: refs/heads/${branch}\n`), writeFile(join(temporary, 'config'), CONFIG)])
    await fill?.(temporary)
    // all at once: a file system writes its journal once for syncs that wait together
    const files = ['HEAD', 'config'].map((name) => syncFile(join(temporary, name)))
    await settleAll([...files, ...['', 'objects', 'refs'].map((folder) => syncDirectory(join(temporary, folder)))])
    await rename(temporary, directory)
  } catch (error) {
    await rm(temporary, { recursive: true, force: true })
    if (!(await repositoryExists(directory))) throw error // another process created it at the same time
  }
  await Promise.all([syncDirectory(shard), syncDirectory(dirname(shard))])
}

export async function repositoryExists(directory: string) {
  return presence(directory) !== 'absent'
}

/**
 * Whether there is a repository in this directory, and whether it can be read. Synchronous, like reading refs: trips
 * through the thread pool cost ten times as much.
 */
export function presence(directory: string): 'readable' | 'unreadable' | 'absent' {
  const head = accessError(join(directory, 'HEAD'), constants.R_OK)
  if (head === 'ENOENT' || head === 'ENOTDIR') return 'absent'
  const folders = ['objects', 'refs'].map((name) => accessError(join(directory, name), constants.R_OK | constants.X_OK))
  return [head, ...folders].every((fault) => fault === null) ? 'readable' : 'unreadable'
}

/** The error code of accessing a path; null if it is accessible. */
function accessError(path: string, mode: number): string | null | undefined {
  try {
    accessSync(path, mode)
    return null
  } catch (fault) {
    return (fault as NodeJS.ErrnoException).code
  }
}

/** A file in every storage in use. If it is missing, the disk is not mounted, and nothing may be created there. */
const MARKER = '.roost-storage'

/** Whether this is a mounted storage in use. Throws where the process is short of descriptors or memory. */
export const isStorage = (path: string): Promise<boolean> =>
  readFile(join(path, MARKER)).then(
    () => true,
    (error: unknown) => {
      if (isShortage(error)) throw error
      return false
    },
  )

/**
 * Marks a storage as in use. Returns false for one that should hold repositories but has none: its disk is not mounted.
 */
export async function claimStorage(path: string, inUse: () => Promise<boolean>): Promise<boolean> {
  if (await isStorage(path)) return true
  const names = await readdir(path).catch(() => [] as string[])
  if (!names.some((name) => /^[0-9a-f]{2}$/.test(name)) && (await inUse())) return false
  await mkdir(path, { recursive: true, mode: 0o700 })
  await writeFile(join(path, MARKER), 'Repositories are kept here. Without this file the storage counts as not mounted.\n')
  return true
}

/** Renames the repository away, then removes its files; if interrupted, the next start removes them. */
export async function removeRepository(directory: string) {
  const shard = dirname(directory)
  const gone = join(shard, `.gone-${randomBytes(6).toString('hex')}`)
  try {
    await rename(directory, gone)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return
    throw error
  }
  await syncDirectory(shard)
  await rm(gone, { recursive: true, force: true, maxRetries: 3 })
}
