import { open, readdir, readFile, rm, stat, utimes } from 'node:fs/promises'
import { join } from 'node:path'
import { syncDirectory } from '../../lib/files/durable.js'
import { Unavailable } from '../../lib/unavailable.js'
import { GitFault } from '../errors.js'
import { hasCommitGraph } from '../history/commit-graph.js'
import { packsOf } from '../objects/pack-index.js'
import type { ProcessPool } from '../process/pool.js'
import type { MaintenanceDepth, MaintenanceOptions, Oid } from '../types.js'
import { isAbandoned, MAINTENANCE_LOCK, removeHalfPacks, removeLeftovers, STALE } from './leftovers.js'

const DEADLINE = 900_000
const MANY_PACKS = 20
const GRAPH_MEMORY = 1_500_000_000
const MANY_LOOSE_REFS = 200
const MANY_OBJECTS = 50_000
/** How long an unreferenced object is kept: a push or a merge under way may be about to refer to it (SEC-164). */
const GRACE = '2.weeks.ago'

/** Keeps a repository fast, while requests are served. False, and nothing done, while another process maintains it. */
export async function maintain(
  pool: ProcessPool,
  directory: string,
  { depth = 'usual', packing = true, bitmaps = true, memory = GRAPH_MEMORY, signal }: MaintenanceOptions = {},
  shared = false,
): Promise<boolean> {
  return withMaintenanceLock(directory, async () => {
    const run = (...args: string[]) => pool.run(directory, args, { deadline: DEADLINE, signal })
    // version 1 of generation numbers: with version 2 git counts beyond the largest date, and with such a date in the
    // history it never ends (SEC-152)
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
    await removeLeftovers(directory, { ...STALE, shared })
    if (!(await removeHalfPacks(directory))) throw new Unavailable('a pack is being put in place')
    // A large repository that was pushed or imported just now: without a graph each list of commits reads all of them, and
    // joining packs and knowing which paths changed take minutes.
    const hurried = !hasCommitGraph(directory) && (await countObjects(directory)) > MANY_OBJECTS
    if (hurried) await run(...graph('--no-changed-paths'))
    const due = async () => (await countPacks(directory)) > MANY_PACKS || (bitmaps && (await lacksBitmap(directory)))
    if (packing && (depth !== 'usual' || (await due()))) {
      await run('repack', '-d', '-q', ...REPACKS[depth], bitmaps ? '--write-bitmap-index' : '--no-write-bitmap-index')
      await syncDirectory(join(directory, 'objects', 'pack'))
    }
    // git adds changed paths to new layers only
    const split = hurried || depth === 'full' || depth === 'gc' ? '--split=replace' : '--split'
    try {
      await pool.run(directory, graph('--changed-paths', split), { deadline: DEADLINE, maxMemoryBytes: memory, signal })
    } catch (error) {
      // a commit with paths that no push may bring today: knowing which paths changed is not worth gigabytes
      if (!(error instanceof GitFault && error.exitCode === null)) throw error
      await run(...graph('--no-changed-paths', split))
    }
    if ((await countFiles(join(directory, 'refs'))) > MANY_LOOSE_REFS) {
      await run('-c', 'core.fsync=committed,loose-object,reference', '-c', 'core.packedRefsTimeout=10000', 'pack-refs', '--all')
      await syncDirectory(directory)
    }
  })
}

/**
 * Runs work while no maintenance, and no other work of this kind, runs. False, and nothing done, while another runs or
 * the repository no longer exists. `mover`: the only run of a move that counts; it takes over from any other.
 */
export async function withMaintenanceLock(directory: string, work: () => Promise<void>, mover = ''): Promise<boolean> {
  const lock = join(directory, MAINTENANCE_LOCK)
  if (!(await takeLock(directory, lock, mover))) return false
  const alive = setInterval(() => utimes(lock, new Date(), new Date()).catch(() => {}), 30_000)
  try {
    await work()
    return true
  } finally {
    clearInterval(alive)
    // a later run of the same move may have taken it over
    if (mover === '' || (await moverOf(lock)) === mover) await rm(lock, { force: true })
  }
}

/** The run of a move that holds the lock; empty: maintenance does, or nobody. */
const moverOf = (lock: string) => readFile(lock, 'latin1').catch(() => '')

/**
 * Unreachable objects are kept in a pack of their own that records their ages: joined with the others they would be
 * young again.
 */
const REPACKS: Record<MaintenanceDepth, string[]> = {
  usual: ['--geometric=2', '--write-midx'],
  incremental: ['--geometric=2', '--write-midx'],
  full: ['--cruft', '--write-midx'],
  gc: ['--cruft', `--cruft-expiration=${GRACE}`, '--write-midx'],
}

/** Of these commits, those that exist and that no ref, or not this commit, reaches. */
export async function unreached(pool: ProcessPool, directory: string, oids: Oid[], from = '--all'): Promise<Oid[]> {
  if (oids.length === 0) return []
  const args = ['rev-list', '--ignore-missing', '--stdin', '--not', from]
  const { stdout } = await pool.run(directory, args, { input: `${oids.join('\n')}\n`, deadline: DEADLINE })
  const found = new Set(stdout.toString('latin1').split('\n'))
  return oids.filter((oid) => found.has(oid))
}

async function takeLock(directory: string, path: string, mover: string): Promise<boolean> {
  try {
    const file = await open(path, 'wx')
    await file.writeFile(mover).finally(() => file.close())
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false // no such repository
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    const given = mover !== '' && (await moverOf(path)) !== ''
    if (!given && !(await isAbandoned(directory))) return false
    await rm(path, { force: true })
    return takeLock(directory, path, mover)
  }
}

/** Bytes on disk; 0 for a repository that does not exist. */
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

/**
 * Whether a repository that is so large that counting its objects for a clone or fork takes seconds has no bitmap at
 * all, as after its first push.
 */
async function lacksBitmap(directory: string): Promise<boolean> {
  const names = await readdir(join(directory, 'objects', 'pack')).catch(() => [])
  if (names.some((name) => name.endsWith('.bitmap'))) return false
  return (await countObjects(directory)) > MANY_OBJECTS
}

/** Objects in packs; those in several count for each. */
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
