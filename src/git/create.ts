import { randomBytes } from 'node:crypto'
import { constants } from 'node:fs'
import { access, mkdir, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
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
