import { ObjectCache } from '../object-cache.js'
import type { ProcessPool } from '../process/pool.js'
import { type DiffReader, diffReader } from './diffs.js'
import { type GuardOptions, guardOf } from './guard.js'
import { type HistoryReader, historyReader, type SearchReader, searchReader } from './history.js'
import { type ObjectReader, objectReader } from './objects.js'
import { type RefReader, refReader } from './refs.js'
import { type ReadResources, readResources } from './resources.js'
import { sourceOf } from './source.js'

/** The read-only half of a repository. */
export type Reader = RefReader & ObjectReader & HistoryReader & SearchReader & DiffReader

export interface ReaderOptions extends GuardOptions {
  /**
   * Additional environment for git, such as a quarantine's object directory. Needs resources of its own, see
   * `quarantineReader`.
   */
  env?: NodeJS.ProcessEnv
}

/** Reads one bare repository. Cheap to create: nothing is read or started before the first call. */
export function readerFor(resources: ReadResources, directory: string, { env, ...options }: ReaderOptions = {}): Reader {
  const source = sourceOf(resources, directory, env)
  const guarded = guardOf(directory, options)
  return {
    ...refReader(source, guarded),
    ...objectReader(source, guarded),
    ...historyReader(source, guarded),
    ...searchReader(source, guarded),
    ...diffReader(source, guarded),
  }
}

/**
 * A reader that also sees the objects of a push that is not accepted yet. It has its own cache and processes; close it.
 */
export function quarantineReader(pool: ProcessPool, directory: string, env: NodeJS.ProcessEnv): Reader & { close(): void } {
  const resources = readResources(pool, 1, new ObjectCache(16 * 1_048_576))
  return { ...readerFor(resources, directory, { env }), close: () => resources.batchProcesses.close() }
}
