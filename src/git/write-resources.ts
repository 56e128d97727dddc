import { shareOf } from '../lib/share.js'
import type { GitInstallation, GitOptions } from './installation.js'
import { GIT_NICENESS, PER_HOLDER, type PoolLimits, ProcessPool, shareOfLimits } from './process/pool.js'
import { REF_UPDATES_LIMITS, RefUpdates } from './refs/ref-updates.js'
import { removeStaleLocks } from './storage/leftovers.js'
import type { RepositoryKey } from './types.js'
import type { TransportLimits } from './wire/limits.js'
import { Transport } from './wire/transport.js'

/** What all writes, transfers and checks of an installation share. */
export interface WriteResources {
  /** Services on other machines may use the storages as well. */
  shared: boolean
  refUpdates: RefUpdates
  wire: Transport
  checks: ProcessPool
  archives: ProcessPool
  /**
   * Removes locks that no process holds, all or those at the paths. `asking`: the process group that wants one and so
   * holds none.
   */
  removeStaleLocksIn(directory: string, paths?: string[], requester?: number): Promise<void>
  /** Ends a repository's processes and drops what is cached of it, for writes as well as for reads. */
  forget(key: RepositoryKey): void
  close(): Promise<void>
}

export interface WriteOptions extends GitOptions {
  /** The directory of the hooks that git runs. */
  hooks: string
  transport?: TransportLimits
}

export function writeResources(
  { shared = false, workers = 1, wirePool, spawner, hooks, transport }: WriteOptions,
  installation: GitInstallation,
): WriteResources {
  const { resources } = installation
  // clones and pushes keep their turns for as long as they take, so reads must not queue behind them
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

/** Limits of checks of whole repositories, which nobody waits for: a low priority. */
const CHECK_POOL: PoolLimits = {
  running: 2,
  runningPerRepository: 2,
  waiting: 8,
  waitingPerRepository: 8,
  wait: 1_800_000,
  deadline: 1_800_000,
  niceness: 15,
}

/** Limits of archives, which git packs as fast as a core can. */
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
