import { shareOf } from '../lib/share.js'
import type { GitInstallation, GitOptions } from './installation.js'
import { GIT_NICENESS, PER_HOLDER, type PoolLimits, ProcessPool, shareOfLimits } from './process/pool.js'
import { REF_UPDATES_LIMITS, RefUpdates } from './refs/ref-updates.js'
import { removeStaleLocks } from './storage/leftovers.js'
import type { RepositoryKey } from './types.js'
import type { TransportLimits } from './wire/limits.js'
import { Transport } from './wire/transport.js'

/** What writes, transfers and checks of all repositories share. */
export interface WriteResources {
  /** Whether services on other machines use the storages too. */
  shared: boolean
  refUpdates: RefUpdates
  wire: Transport
  checks: ProcessPool
  archives: ProcessPool
  /**
   * Removes ref locks that no process holds, all or only those at `paths`. `requester` is the process group that asks,
   * which holds none.
   */
  removeStaleLocksIn(directory: string, paths?: string[], requester?: number): Promise<void>
  /** Ends a repository's processes and drops its cache entries, for reads and writes. */
  forget(key: RepositoryKey): void
  close(): Promise<void>
}

export interface WriteOptions extends GitOptions {
  /** The parent directory for the hooks that git runs. */
  hooks: string
  transport?: TransportLimits
}

export function writeResources(
  { shared = false, workers = 1, wirePool, spawner, hooks, transport }: WriteOptions,
  installation: GitInstallation,
): WriteResources {
  const { resources } = installation
  // clones and pushes occupy their slots for long, so reads must not queue behind them
  const poolOf = (limits: PoolLimits) => new ProcessPool(shareOfLimits(limits, workers), spawner)
  const checks = poolOf(CHECK_POOL)
  const archives = poolOf(wirePool ?? ARCHIVE_POOL)
  const limits = { ...REF_UPDATES_LIMITS, processes: shareOf(REF_UPDATES_LIMITS.processes, workers, 8) }
  const refUpdates = new RefUpdates(resources.pool, { shared, limits, packed: resources.cache.packed })
  const removeStaleLocksIn: WriteResources['removeStaleLocksIn'] = async (directory, paths, requester) => {
    const holdsNone = (group: number) => group === requester || group === refUpdates.idlePid(directory)
    await removeStaleLocks(directory, { shared, paths, holdsNone })
  }
  const wire = new Transport(poolOf(wirePool ?? WIRE_POOL), hooks, resources.cache.packed, transport, removeStaleLocksIn)
  return {
    shared,
    refUpdates,
    wire,
    checks,
    archives,
    removeStaleLocksIn,
    forget(key) {
      refUpdates.forget(installation.directory(key))
      installation.forget(key)
    },
    async close() {
      refUpdates.close()
      await Promise.all([wire.pool.close(), archives.close(), checks.close()])
    },
  }
}

/** Checks of whole repositories run in the background, at a low priority. */
const CHECK_POOL: PoolLimits = {
  running: 2,
  runningPerRepository: 2,
  waiting: 8,
  waitingPerRepository: 8,
  wait: 1_800_000,
  deadline: 1_800_000,
  niceness: 15,
}

/** Archives keep a core busy for as long as they take. */
const ARCHIVE_POOL: PoolLimits = {
  running: 8,
  runningPerRepository: 8,
  runningPerHolder: PER_HOLDER,
  waiting: 256,
  waitingPerRepository: 128,
  wait: 30_000,
  deadline: 3_600_000,
  niceness: GIT_NICENESS,
}

const WIRE_POOL: PoolLimits = {
  running: 16,
  runningPerRepository: 12,
  runningPerHolder: 4,
  waiting: 256,
  waitingPerRepository: 128,
  wait: 30_000,
  deadline: 3_600_000,
  niceness: GIT_NICENESS,
}
