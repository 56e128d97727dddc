import { randomBytes } from 'node:crypto'
import { constants, type Dirent } from 'node:fs'
import { access, mkdir, readdir, readlink, rename, rm, stat } from 'node:fs/promises'
import { basename, dirname, join, sep } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { syncDirectory, writeNewFile } from '../lib/durable.js'
import type { RepositoryKey } from './types.js'

const CONFIG = '[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = true\n'

/** Where a repository lives below its storage's folder: `<two hex digits of the id>/<id>.git`, so that no folder grows too large. */
export function repositoryDirectory(storagePath: string, { id, kind }: RepositoryKey) {
  const shard = (id % 256).toString(16).padStart(2, '0')
  return join(storagePath, shard, `${id}${kind === 'wiki' ? '.wiki' : ''}.git`)
}

/** Makes a bare repository without starting git: empty, or with what `fill` puts into it and syncs. It appears complete or not at all; one that is there stays as it is. */
export async function createRepository(directory: string, branch: string, fill?: (temporary: string) => Promise<void>) {
  if (await repositoryExists(directory)) return
  const shard = dirname(directory)
  await mkdir(shard, { recursive: true })
  const temporary = join(shard, `.tmp-${randomBytes(6).toString('hex')}`)
  try {
    const folders = ['objects/info', 'objects/pack', 'refs/heads', 'refs/tags', 'info']
    for (const folder of folders) await mkdir(join(temporary, folder), { recursive: true })
    await Promise.all([writeNewFile(join(temporary, 'HEAD'), `ref: refs/heads/${branch}\n`), writeNewFile(join(temporary, 'config'), CONFIG)])
    await fill?.(temporary)
    await Promise.all(['', 'objects', 'refs'].map((folder) => syncDirectory(join(temporary, folder))))
    await rename(temporary, directory)
  } catch (error) {
    await rm(temporary, { recursive: true, force: true })
    if (!(await repositoryExists(directory))) throw error // somebody else made it at the same moment
  }
  await Promise.all([syncDirectory(shard), syncDirectory(dirname(shard))])
}

/** Whether there is a repository in this directory. */
export async function repositoryExists(directory: string) {
  return access(join(directory, 'HEAD'), constants.F_OK).then(
    () => true,
    () => false,
  )
}

/** Out of sight at once and for good; the bytes go afterwards, or at the next start. */
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

export interface StaleOptions {
  /** Milliseconds without change after which a leftover that nobody holds is stale. */
  unheld: number
  /** The same where a process works in the repository, or where it cannot be told. */
  held: number
}

export const STALE: StaleOptions = { unheld: 2_000, held: 600_000 }

/** Removes what killed processes left behind in a storage, and returns what that was (SEC-159). */
export async function removeStale(storagePath: string, options: StaleOptions = STALE): Promise<string[]> {
  const stale = await staleIn(storagePath, options)
  for (const path of stale) await rm(path, { recursive: true, force: true })
  return stale
}

/** What killed processes left behind in a storage: lock files, temporary packs, quarantines, repositories half made or half removed. Never what a running process has open, nor a young one in a repository some process works in. */
export async function staleIn(storagePath: string, options: StaleOptions = STALE): Promise<string[]> {
  const leftovers: string[] = []
  for (const shard of await folders(storagePath)) {
    if (!/^[0-9a-f]{2}$/.test(shard)) continue
    for (const name of await folders(join(storagePath, shard))) {
      const path = join(storagePath, shard, name)
      if (/^\.(tmp|gone)-/.test(name)) leftovers.push(path)
      else if (name.endsWith('.git')) leftovers.push(...(await leftoversOf(path)))
    }
  }
  if (leftovers.length === 0) return []
  const youngest = Math.max(...(await Promise.all(leftovers.map(changedAt))))
  const wait = youngest + options.unheld - Date.now()
  if (wait > 0) await sleep(Math.min(wait, options.unheld)) // what is being written now is changed or gone when we look again
  const uses = await pathsInUse()
  const stale: string[] = []
  for (const path of leftovers) {
    const repository = path
      .split(sep)
      .slice(0, storagePath.split(sep).length + 2)
      .join(sep)
    const open = uses?.open.some((used) => used === path || used.startsWith(path + sep))
    const busy = uses === null || uses.cwd.some((used) => used === repository || used.startsWith(repository + sep))
    const age = Date.now() - (await changedAt(path))
    if (open || age < (busy ? options.held : options.unheld)) continue
    stale.push(path)
  }
  return stale
}

async function leftoversOf(repository: string): Promise<string[]> {
  const found: string[] = []
  const look = async (folder: string, isLeftover: (entry: Dirent) => boolean, descend: (entry: Dirent) => boolean) => {
    for (const entry of await readdir(folder, { withFileTypes: true }).catch(() => [] as Dirent[])) {
      const path = join(folder, entry.name)
      if (isLeftover(entry)) found.push(path)
      else if (entry.isDirectory() && descend(entry)) await look(path, isLeftover, descend)
    }
  }
  const isLock = ({ name }: Dirent) => name.endsWith('.lock')
  const isTemporary = ({ name }: Dirent) => /^(\.?tmp[_-]|incoming-|bulk_fsync)/.test(name)
  await look(
    repository,
    (entry) => isLock(entry) || isTemporary(entry),
    () => false,
  )
  await look(join(repository, 'refs'), isLock, () => true)
  await look(
    join(repository, 'objects'),
    (entry) => isLock(entry) || isTemporary(entry),
    () => true,
  )
  return found
}

/** When a file, or anything in a folder, last changed; 0 when it is gone. */
export async function changedAt(path: string): Promise<number> {
  const info = await stat(path).catch(() => null)
  if (!info) return 0
  if (!info.isDirectory()) return info.mtimeMs
  const names = await readdir(path).catch(() => [] as string[])
  return Math.max(info.mtimeMs, ...(await Promise.all(names.map((name) => changedAt(join(path, name))))))
}

/** What other processes on this machine have open and work in; null where the system does not tell. */
async function pathsInUse(): Promise<{ open: string[]; cwd: string[] } | null> {
  const processes = (await readdir('/proc').catch(() => [])).filter((name) => /^\d+$/.test(name))
  if (processes.length === 0) return null
  const target = (path: string) => readlink(path).catch(() => '')
  const cwd: string[] = []
  const open: string[] = []
  for (const id of processes) {
    cwd.push(await target(`/proc/${id}/cwd`))
    for (const fd of await readdir(`/proc/${id}/fd`).catch(() => [])) open.push(await target(`/proc/${id}/fd/${fd}`))
  }
  return { open, cwd }
}

async function folders(path: string) {
  const entries = await readdir(path, { withFileTypes: true }).catch(() => [] as Dirent[])
  return entries.filter((entry) => entry.isDirectory()).map((entry) => basename(entry.name))
}
