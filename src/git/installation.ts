import { RepositoryMissing } from './errors.js'
import { POOL_LIMITS, type PoolLimits, ProcessPool, shareOfLimits } from './process/pool.js'
import type { Spawner } from './process/spawner.js'
import { type Reader, readerFor } from './reading/reader.js'
import { type ReadResources, readResources } from './reading/resources.js'
import { isStorage, presence, repositoryDirectory } from './storage/create.js'
import type { RepositoryKey, StorageAccess } from './types.js'

export interface GitOptions {
  /** Storage directories, by the storage names in repository keys. */
  storages: Record<string, string>
  /** Called when a repository is missing on disk. */
  onFault?: (fault: Error, key: RepositoryKey) => void
  pool?: PoolLimits
  /** The limits for fetches and pushes. */
  wirePool?: PoolLimits
  /** Called with a repository's directory before each read or write. */
  onUse?: ((directory: string) => void) | undefined
  /** Starts git processes; by default they are children of this process. */
  spawner?: Spawner
  /** Whether services on other machines use the storages too. */
  shared?: boolean
  /** Returns why a storage must not be read or written now, or null (SEC-188). */
  refusal?: (storage: string, access: StorageAccess) => Error | null
  /** Number of service processes on this machine, which share the limits; 1 by default. */
  workers?: number
}

/** What all repositories share: directories, the process pool, long-lived processes and caches. */
export interface GitInstallation {
  resources: ReadResources
  /** Throws if the storage must not be read now, or with `write` not written. */
  directory(key: RepositoryKey, access?: StorageAccess): string
  reader(key: RepositoryKey): Reader & { readonly key: RepositoryKey }
  /** Throws RepositoryMissing if the storage is not mounted or the repository cannot be read. */
  exists(key: RepositoryKey): Promise<boolean>
  /** Ends a repository's processes and drops its cache entries; call it after the repository was moved or removed. */
  forget(key: RepositoryKey): void
  close(): Promise<void>
}

/** Opens the storages for reading. */
export function openInstallation({ storages, onFault, onUse, pool = POOL_LIMITS, spawner, workers = 1, refusal }: GitOptions): GitInstallation {
  const resources = readResources(new ProcessPool(shareOfLimits(pool, workers), spawner), workers)
  const directory = (key: RepositoryKey, access: StorageAccess = 'read') => {
    const refused = refusal?.(key.storage, access)
    if (refused) throw refused
    const path = directoryOf(storages, key)
    onUse?.(path)
    return path
  }
  return {
    resources,
    directory,
    reader: (key) => ({
      key,
      ...readerFor(resources, directory(key), { onFault: (fault) => onFault?.(fault, key), optional: key.kind === 'wiki' }),
    }),
    async exists(key) {
      const found = presence(directory(key))
      if (found === 'readable') return true
      if (found === 'absent' && (await isStorage(storages[key.storage] as string))) return false
      const missing = new RepositoryMissing()
      onFault?.(missing, key)
      throw missing
    },
    forget(key) {
      resources.batchProcesses.forget(directory(key))
      resources.cache.forget(directory(key))
    },
    async close() {
      resources.batchProcesses.close()
      await Promise.all([resources.pool.close(), resources.searches.close()])
    },
  }
}

function directoryOf(storages: Record<string, string>, key: RepositoryKey): string {
  const { storage, id } = key
  const root = Object.hasOwn(storages, storage) ? storages[storage] : undefined
  if (root === undefined) throw new Error(`there is no storage called ${storage}`)
  if (!Number.isSafeInteger(id) || id < 0) throw new Error(`${id} is no repository id`)
  return repositoryDirectory(root, key)
}
