import { join } from 'node:path'
import { type PoolLimits, ProcessPool } from './processes.js'
import { exists, type Reader, type ReadFloor, readerFor, readFloor } from './reader.js'
import type { RepositoryKey } from './types.js'

export interface GitOptions {
  /** Directories by the names that keys use. */
  storages: Record<string, string>
  /** Told of repositories that are missing on disk. */
  onFault?: (fault: Error, key: RepositoryKey) => void
  pool?: PoolLimits
}

/** What reading and writing a repository stand on: where it is, the pool, the resident processes and what is remembered. */
export interface Ground {
  floor: ReadFloor
  directory(key: RepositoryKey): string
  reader(key: RepositoryKey): Reader & { readonly key: RepositoryKey }
  exists(key: RepositoryKey): Promise<boolean>
  /** Ends a repository's processes and forgets what was read of it; call it when it has been taken out of sight. */
  forget(key: RepositoryKey): void
  close(): Promise<void>
}

/** Opens the storages for reading. */
export function openGround({ storages, onFault, pool }: GitOptions): Ground {
  const floor = readFloor(new ProcessPool(pool))
  const directory = (key: RepositoryKey) => directoryOf(storages, key)
  return {
    floor,
    directory,
    reader: (key) => ({ key, ...readerFor(floor, directory(key), { onFault: (fault) => onFault?.(fault, key) }) }),
    exists: (key) => exists(directory(key)),
    forget(key) {
      floor.residents.forget(directory(key))
      floor.memory.forget(directory(key))
    },
    async close() {
      floor.residents.close()
      await floor.pool.close()
    },
  }
}

/** `<storage>/<two hex digits of the id>/<id>.git`, so that no folder grows too large. */
function directoryOf(storages: Record<string, string>, { storage, id, kind }: RepositoryKey): string {
  const root = Object.hasOwn(storages, storage) ? storages[storage] : undefined
  if (root === undefined) throw new Error(`there is no storage called ${storage}`)
  if (!Number.isSafeInteger(id) || id < 0) throw new Error(`${id} is no repository id`)
  return join(root, (id % 256).toString(16).padStart(2, '0'), `${id}${kind === 'wiki' ? '.wiki' : ''}.git`)
}
