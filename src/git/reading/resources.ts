import { SingleFlight } from '../../lib/async/single-flight.js'
import { shareOf } from '../../lib/share.js'
import { ObjectCache } from '../object-cache.js'
import { BATCH_LIMITS, BatchProcesses } from '../process/batch-processes.js'
import { ProcessPool, SEARCH_LIMITS, shareOfLimits } from '../process/pool.js'

/** What the readers of all repositories share. */
export interface ReadResources {
  pool: ProcessPool
  /** The process pool for searches. */
  searches: ProcessPool
  runningSearches: SingleFlight
  batchProcesses: BatchProcesses
  cache: ObjectCache
}

/** `workers` is the number of service processes that share this machine's limits. */
export const readResources = (pool: ProcessPool, workers = 1, cache = new ObjectCache()): ReadResources => ({
  pool,
  searches: new ProcessPool(shareOfLimits(SEARCH_LIMITS, workers), pool.spawner),
  runningSearches: new SingleFlight(),
  batchProcesses: new BatchProcesses(pool, { ...BATCH_LIMITS, repositories: shareOf(BATCH_LIMITS.repositories, workers, 8) }),
  cache,
})
