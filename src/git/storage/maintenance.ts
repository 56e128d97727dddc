import { open, readdir, readFile, rm, stat, utimes } from 'node:fs/promises'
import { join } from 'node:path'
import { syncDirectory } from '../../lib/files/durable.js'
import { Unavailable } from '../../lib/unavailable.js'
import { GitFault } from '../errors.js'
import { hasCommitGraph } from '../history/commit-graph.js'
import { packsOf } from '../objects/pack-index.js'
import type { ProcessPool } from '../process/pool.js'
import type { MaintenanceDepth, MaintenanceOptions, Oid } from '../types.js'
import { isAbandoned, MAINTENANCE_LOCK, removeLeftovers, removePacksWithoutIndex, STALE_AFTER } from './leftovers.js'

const DEADLINE_MS = 900_000
const MAX_PACKS = 20
/** Each is a file to open for a clone; a change made through the API writes three or more. */
const MAX_LOOSE_OBJECTS = 500
const DEFAULT_GRAPH_MEMORY_BYTES = 1_500_000_000
const MAX_LOOSE_REFS = 200
const LARGE_REPOSITORY_OBJECTS = 50_000
/** How long an unreachable object is kept, because a running push or merge may be about to reference it (SEC-164). */
const UNREACHABLE_EXPIRY = '2.weeks.ago'

/**
 * Maintains a repository while requests are served. Returns false, having done nothing, if another process is
 * maintaining it.
 */
export async function maintain(
  pool: ProcessPool,
  directory: string,
  { depth = 'usual', packing = true, bitmaps = true, graphMemoryBytes = DEFAULT_GRAPH_MEMORY_BYTES, signal }: MaintenanceOptions = {},
  shared = false,
): Promise<boolean> {
  return withMaintenanceLock(directory, async () => {
    const run = (...args: string[]) => pool.run(directory, args, { deadline: DEADLINE_MS, signal })
    // generation numbers of version 1: with version 2, a commit with the largest possible date makes git overflow and
    // never finish (SEC-152)
    const graph = (paths: string, split = '--split') => [
      '-c',
      'commitGraph.generationVersion=1',
      'commit-graph',
      'write',
      '--reachable',
      paths,
      split,
      '--no-progress',
    ]
    await removeLeftovers(directory, { ...STALE_AFTER, shared })
    if (!(await removePacksWithoutIndex(directory))) throw new Unavailable('a pack is being put in place')
    // A large repository that was just pushed or imported needs a graph soon: without one, each log reads all commits,
    // and joining packs and computing changed paths takes minutes.
    const graphFirst = !hasCommitGraph(directory) && (await countObjects(directory)) > LARGE_REPOSITORY_OBJECTS
    if (graphFirst) await run(...graph('--no-changed-paths'))
    const due = async () =>
      (await countPacks(directory)) > MAX_PACKS ||
      (await countLooseObjects(directory)) > MAX_LOOSE_OBJECTS ||
      (bitmaps && (await lacksBitmap(directory)))
    if (packing && (depth !== 'usual' || (await due()))) {
      await run('repack', '-d', '-q', ...REPACK_ARGS[depth], bitmaps ? '--write-bitmap-index' : '--no-write-bitmap-index')
      await syncDirectory(join(directory, 'objects', 'pack'))
      // a repack packs what is loose, except unreachable objects that have expired
      if (depth === 'gc' && (await countLooseObjects(directory)) > 0) await run('prune', `--expire=${UNREACHABLE_EXPIRY}`)
    }
    // git adds changed-path filters to new layers only
    const split = graphFirst || depth === 'full' || depth === 'gc' ? '--split=replace' : '--split'
    try {
      await pool.run(directory, graph('--changed-paths', split), { deadline: DEADLINE_MS, maxMemoryBytes: graphMemoryBytes, signal })
    } catch (error) {
      // git exceeded the memory limit, because of paths that pushes no longer allow: write the graph without changed
      // paths
      if (!(error instanceof GitFault && error.exitCode === null)) throw error
      await run(...graph('--no-changed-paths', split))
    }
    if ((await countFiles(join(directory, 'refs'))) > MAX_LOOSE_REFS) {
      await run('-c', 'core.fsync=committed,loose-object,reference', '-c', 'core.packedRefsTimeout=10000', 'pack-refs', '--all')
      await syncDirectory(directory)
    }
  })
}

/**
 * Runs `work` under the maintenance lock. Returns false, having done nothing, if the lock is held or the repository
 * does not exist. `moveRun` is the current run of a move, which takes the lock over from earlier runs.
 */
export async function withMaintenanceLock(directory: string, work: () => Promise<void>, moveRun = ''): Promise<boolean> {
  const lock = join(directory, MAINTENANCE_LOCK)
  if (!(await acquireLock(directory, lock, moveRun))) return false
  const heartbeat = setInterval(() => utimes(lock, new Date(), new Date()).catch(() => {}), 30_000)
  try {
    await work()
    return true
  } finally {
    clearInterval(heartbeat)
    // a later run of the same move may have taken the lock over
    if (moveRun === '' || (await moveRunOf(lock)) === moveRun) await rm(lock, { force: true })
  }
}

/** The run of a move that holds the lock; empty if maintenance holds it or it is free. */
const moveRunOf = (lock: string) => readFile(lock, 'latin1').catch(() => '')

/**
 * `--cruft` keeps unreachable objects in a separate pack that records their ages; joined with the others, their ages
 * would be reset.
 */
const REPACK_ARGS: Record<MaintenanceDepth, string[]> = {
  usual: ['--geometric=2', '--write-midx'],
  incremental: ['--geometric=2', '--write-midx'],
  full: ['--cruft', '--write-midx'],
  gc: ['--cruft', `--cruft-expiration=${UNREACHABLE_EXPIRY}`, '--write-midx'],
}

/** The existing commits among `oids` that are not reachable from any ref, or from the given commit. */
export async function unreachable(pool: ProcessPool, directory: string, oids: Oid[], from = '--all'): Promise<Oid[]> {
  if (oids.length === 0) return []
  const args = ['rev-list', '--ignore-missing', '--stdin', '--not', from]
  const { stdout } = await pool.run(directory, args, { input: `${oids.join('\n')}\n`, deadline: DEADLINE_MS })
  const found = new Set(stdout.toString('latin1').split('\n'))
  return oids.filter((oid) => found.has(oid))
}

async function acquireLock(directory: string, path: string, moveRun: string): Promise<boolean> {
  try {
    const file = await open(path, 'wx')
    await file.writeFile(moveRun).finally(() => file.close())
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false // no such repository
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    const takeOver = moveRun !== '' && (await moveRunOf(path)) !== ''
    if (!takeOver && !(await isAbandoned(directory))) return false
    await rm(path, { force: true })
    return acquireLock(directory, path, moveRun)
  }
}

/** Bytes on disk; 0 if the repository does not exist. */
export async function repositorySize(directory: string): Promise<number> {
  let size = 0
  for (const entry of await readdir(directory, { withFileTypes: true }).catch(() => [])) {
    const path = join(directory, entry.name)
    if (entry.isDirectory()) size += await repositorySize(path)
    else
      size += await stat(path).then(
        (info) => info.size,
        () => 0, // just removed by a repack
      )
  }
  return size
}

async function countPacks(directory: string) {
  const names = await readdir(join(directory, 'objects', 'pack')).catch(() => [])
  return names.filter((name) => name.endsWith('.pack')).length
}

async function countLooseObjects(directory: string): Promise<number> {
  const objects = join(directory, 'objects')
  const folders = (await readdir(objects)).filter((name) => /^[0-9a-f]{2}$/.test(name))
  const names = await Promise.all(folders.map((folder) => readdir(join(objects, folder)).catch(() => [])))
  return names.reduce((sum, { length }) => sum + length, 0)
}

/**
 * Whether a repository has no bitmap although it is so large that counting objects for a clone or fork takes seconds.
 */
async function lacksBitmap(directory: string): Promise<boolean> {
  const names = await readdir(join(directory, 'objects', 'pack')).catch(() => [])
  if (names.some((name) => name.endsWith('.bitmap'))) return false
  return (await countObjects(directory)) > LARGE_REPOSITORY_OBJECTS
}

/** The number of packed objects; objects in several packs count several times. */
async function countObjects(directory: string): Promise<number> {
  const packs = await packsOf(directory).catch(() => [])
  return packs.reduce((sum, { count }) => sum + count, 0)
}

async function countFiles(directory: string): Promise<number> {
  let count = 0
  for (const entry of await readdir(directory, { withFileTypes: true }).catch(() => [])) {
    count += entry.isDirectory() ? await countFiles(join(directory, entry.name)) : 1
  }
  return count
}
