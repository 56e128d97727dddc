import { open, readdir, rm, stat, utimes } from 'node:fs/promises'
import { join } from 'node:path'
import { syncDirectory } from '../lib/durable.js'
import type { ProcessPool } from './processes.js'

const DEADLINE = 900_000
const MANY_PACKS = 20
const MANY_LOOSE_REFS = 200

/** Keeps a repository quick: commit-graph always, packs joined and refs packed once there are many. Drops no object, so it is safe beside every request; does nothing while another is at it. */
export async function maintain(pool: ProcessPool, directory: string) {
  const lock = join(directory, 'roost-maintenance.lock')
  if (!(await takeLock(lock))) return
  const alive = setInterval(() => utimes(lock, new Date(), new Date()).catch(() => {}), 30_000)
  try {
    const run = (...args: string[]) => pool.run(directory, args, { deadline: DEADLINE })
    if ((await countPacks(directory)) > MANY_PACKS) {
      await run('repack', '-d', '-q', '--geometric=2', '--write-midx', '--write-bitmap-index')
      await syncDirectory(join(directory, 'objects', 'pack'))
    }
    // the older numbers: for the newer ones git counts beyond the largest date, and with such a date in the history never ends (SEC-152)
    await run('-c', 'commitGraph.generationVersion=1', 'commit-graph', 'write', '--reachable', '--changed-paths', '--split', '--no-progress')
    if ((await countFiles(join(directory, 'refs'))) > MANY_LOOSE_REFS) {
      await run('-c', 'core.fsync=committed,loose-object,reference', '-c', 'core.packedRefsTimeout=10000', 'pack-refs', '--all')
      await syncDirectory(directory)
    }
  } finally {
    clearInterval(alive)
    await rm(lock, { force: true })
  }
}

/** One whose owner has not touched it for long was left by a kill. */
async function takeLock(path: string): Promise<boolean> {
  try {
    const file = await open(path, 'wx')
    await file.close()
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false // no such repository
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    const age = await stat(path).then(
      (info) => Date.now() - info.mtimeMs,
      () => 0,
    )
    if (age < 300_000) return false
    await rm(path, { force: true })
    return takeLock(path)
  }
}

/** Bytes on disk; 0 for a repository that is not there. */
export async function repositorySize(directory: string): Promise<number> {
  let size = 0
  for (const entry of await readdir(directory, { withFileTypes: true }).catch(() => [])) {
    const path = join(directory, entry.name)
    if (entry.isDirectory()) size += await repositorySize(path)
    else
      size += await stat(path).then(
        (info) => info.size,
        () => 0, // a repack has just removed it
      )
  }
  return size
}

async function countPacks(directory: string) {
  const names = await readdir(join(directory, 'objects', 'pack')).catch(() => [])
  return names.filter((name) => name.endsWith('.pack')).length
}

async function countFiles(directory: string): Promise<number> {
  let count = 0
  for (const entry of await readdir(directory, { withFileTypes: true }).catch(() => [])) {
    count += entry.isDirectory() ? await countFiles(join(directory, entry.name)) : 1
  }
  return count
}
