import { randomBytes } from 'node:crypto'
import { constants } from 'node:fs'
import { access, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { shareOf } from '../lib/share.js'
import { RepositoryMissing } from './errors.js'
import { canMerge, draftMerge, draftPick } from './merge/merge.js'
import { take } from './objects/fetch-objects.js'
import { fileSizes } from './objects/file-sizes.js'
import { draftCommit, draftHistory, writeCommit, writeTag } from './objects/writer.js'
import { GIT_NICENESS, PER_HOLDER, POOL_LIMITS, type PoolLimits, ProcessPool, shareOfLimits } from './process/pool.js'
import type { Spawner } from './process/spawner.js'
import { quarantineReader, type Reader, type ReadFloor, readerFor, readFloor } from './reader.js'
import { REF_UPDATES_LIMITS, RefUpdates, writeHead } from './refs/ref-updates.js'
import { restoreRepository, saveRepository } from './storage/copies.js'
import { claimStorage, createRepository, isStorage, presence, removeRepository, repositoryDirectory } from './storage/create.js'
import {
  dropCommitGraph,
  dropUnreadableRef,
  examine,
  existing,
  quarantineRepository,
  removeQuarantinedRepositories,
  repositoriesIn,
} from './storage/examine.js'
import { fork } from './storage/fork.js'
import { checkHere, isClosed, removeGates } from './storage/gates.js'
import { isWorkedIn, removeStale, removeStaleLocks, STALE, staleIn } from './storage/leftovers.js'
import { maintain, repositorySize, unreached } from './storage/maintenance.js'
import { relocate, removeHalfCopies } from './storage/relocate.js'
import type { Git, GitRepository, Oid, RepositoryKey } from './types.js'
import { archive } from './wire/archive.js'
import { fetchAll, remoteHead } from './wire/fetch.js'
import { eachPointer, pointersOf } from './wire/lfs-pointers.js'
import { Transport, type TransportLimits } from './wire/transport.js'

export interface GitOptions {
  /** Directories by the names that repository keys use. */
  storages: Record<string, string>
  /** Told of repositories that are missing on disk. */
  onFault?: (fault: Error, key: RepositoryKey) => void
  pool?: PoolLimits
  /** Of fetches and pushes. */
  wirePool?: PoolLimits
  /** Told of a repository's directory each time before it is read or written. */
  onUse?: ((directory: string) => void) | undefined
  /** Starts the processes; by default this process does. */
  spawner?: Spawner
  /** Services on other machines may use the storages as well. */
  shared?: boolean
  /** Why a storage must not be used now (SEC-188). */
  refusal?: (storage: string) => Error | null
  /** Processes of the service on this machine, each of which gets a part of the limits; 1 by default. */
  workers?: number
}

/** What reading and writing a repository need: its directory, the pool, the long-lived processes and the caches. */
export interface GitInstallation {
  floor: ReadFloor
  directory(key: RepositoryKey): string
  reader(key: RepositoryKey): Reader & { readonly key: RepositoryKey }
  /** Throws RepositoryMissing when that cannot be told, because its storage is not mounted or it cannot be read. */
  exists(key: RepositoryKey): Promise<boolean>
  /**
   * Ends a repository's processes and forgets what was read of it; to be called when it has been moved out of sight.
   */
  forget(key: RepositoryKey): void
  close(): Promise<void>
}

/** Opens the storages for reading. */
export function openInstallation({ storages, onFault, onUse, pool = POOL_LIMITS, spawner, workers = 1, refusal }: GitOptions): GitInstallation {
  const floor = readFloor(new ProcessPool(shareOfLimits(pool, workers), spawner), workers)
  const directory = (key: RepositoryKey) => {
    const refused = refusal?.(key.storage)
    if (refused) throw refused
    const path = directoryOf(storages, key)
    onUse?.(path)
    return path
  }
  return {
    floor,
    directory,
    reader: (key) => ({
      key,
      ...readerFor(floor, directory(key), { onFault: (fault) => onFault?.(fault, key), optional: key.kind === 'wiki' }),
    }),
    async exists(key) {
      const found = await presence(directory(key))
      if (found === 'readable') return true
      if (found === 'absent' && (await isStorage(storages[key.storage] as string))) return false
      const missing = new RepositoryMissing()
      onFault?.(missing, key)
      throw missing
    },
    forget(key) {
      floor.batchProcesses.forget(directory(key))
      floor.memory.forget(directory(key))
    },
    async close() {
      floor.batchProcesses.close()
      await Promise.all([floor.pool.close(), floor.searches.close()])
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

/** All repositories of this installation, for reading, writing and the wire protocol. */
export function openGit(options: GitOptions & { hooks: string; transport?: TransportLimits }): Git {
  const ground = openInstallation(options)
  const { pool } = ground.floor
  // clones and pushes keep their turns for as long as they take, so reads must not queue behind them
  const { shared = false, workers = 1 } = options
  const poolOf = (limits: PoolLimits) => new ProcessPool(shareOfLimits(limits, workers), options.spawner)
  const checks = poolOf(CHECK_POOL)
  const archives = poolOf(options.wirePool ?? ARCHIVE_POOL)
  const stale = { ...STALE, shared }
  const limits = { ...REF_UPDATES_LIMITS, processes: shareOf(REF_UPDATES_LIMITS.processes, workers, 8) }
  const updates = new RefUpdates(pool, { shared, limits, packed: ground.floor.memory.packed })
  const unlock = async (directory: string, paths?: string[], asking?: number) => {
    const holdsNone = (group: number) => group === asking || group === updates.unused(directory)
    await removeStaleLocks(directory, { shared, paths, holdsNone })
  }
  const wire = new Transport(poolOf(options.wirePool ?? WIRE_POOL), options.hooks, options.transport, unlock)
  const fetchLimits = { bytes: wire.limits.packBytes, deadline: IMPORT_DEADLINE }

  const open = (key: RepositoryKey): GitRepository => {
    const directory = ground.directory(key)
    const reader = ground.reader(key)
    const readObject = (oid: Oid) => ground.floor.batchProcesses.catFile(directory).readKnown(oid)
    const openWith = (env: NodeJS.ProcessEnv) => quarantineReader(pool, directory, env)
    return {
      ...reader,
      fileSizes: (commit, take) => fileSizes(pool, directory, commit, take),
      setHeadBranch: (branch) => writeHead(directory, branch, shared),
      whileAt: (ref, oid, work) => updates.holding(directory, ref, oid, work),
      updateRefs: (moves) => updates.update(directory, moves),
      draftCommit: (draft) => draftCommit({ directory, pool, readObject }, draft),
      draftHistory: () => draftHistory({ directory, pool, readObject }),
      draftPick: (draft) => draftPick({ directory, pool, readObject }, draft),
      canMerge: async (into, from) => {
        const answer = await ground.floor.memory.answer(directory, `merges ${into} ${from}`, () => 50, async () => {
          const merges = await canMerge({ directory, pool, readObject }, into, from, await reader.onlyBase(into, from))
          return { merges }
        }) // biome-ignore format: one question
        return answer?.merges ?? false
      },
      draftMerge: async (draft, beside) => draftMerge({ directory, pool, readObject }, draft, await reader.onlyBase(draft.into, draft.from), beside),
      writeCommit: (commit) => writeCommit(directory, commit),
      writeTag: (tag) => writeTag(directory, tag),
      archive: (options) => archive(archives, directory, options),
      advertise: (service, request) => wire.advertise(directory, service, request),
      uploadPack: (request) => wire.uploadPack(directory, request),
      uploadArchive: (request) => wire.uploadArchive(archives, directory, request),
      receivePack: (request, policy) => wire.receivePack(directory, request, policy, openWith),
      remoteHead: (source, signal) => remoteHead(wire.pool, directory, source, signal),
      fetch: (source, signal, { bytes = Number.POSITIVE_INFINITY, refspecs = [] } = {}) => {
        const limits = { ...fetchLimits, bytes: Math.min(bytes, fetchLimits.bytes), objectBytes: wire.limits.objectBytes, refspecs }
        return fetchAll(wire.pool, directory, source, limits, signal)
      },
      take: (from, commits, have) => take(pool, { directory, refs: reader.refs }, ground.directory(from), commits, have),
      lfsPointers: (commits, have) => pointersOf(pool, directory, commits, have),
      eachLfsPointer: (take) => eachPointer(checks, directory, take),
      size: () => repositorySize(directory),
      maintain: (options) => maintain(pool, directory, options, shared),
      examine: (options) => examine(checks, directory, options),
      async dropUnreadableRef(name) {
        await dropUnreadableRef(directory, name)
        ground.forget(key)
      },
      existing: (oids) => existing(pool, directory, oids),
      async dropCommitGraph() {
        await dropCommitGraph(directory)
        ground.forget(key)
      },
      removeStaleLocks: () => unlock(directory),
      unreached: (oids, from) => unreached(pool, directory, oids, from),
    }
  }

  const useStorage = async (storage: string) => {
    const path = options.storages[storage] as string
    await access(path, constants.R_OK | constants.W_OK)
    if (!(await isStorage(path))) throw new RepositoryMissing()
  }
  const forget = (key: RepositoryKey) => {
    updates.forget(ground.directory(key))
    ground.forget(key)
  }
  const remove = async (key: RepositoryKey) => {
    await removeRepository(ground.directory(key))
    forget(key)
  }

  return {
    open,
    async create(key, branch) {
      if (await ground.exists(key)) return
      await createRepository(ground.directory(key), branch)
      // a wiki whose project goes to another storage
      await checkHere(ground.directory(key), shared)
    },
    exists: ground.exists,
    async advertiseEmpty(service, request) {
      const root = Object.values(options.storages)[0] as string
      const directory = join(root, '00', `.tmp-${randomBytes(6).toString('hex')}`)
      await createRepository(directory, 'main')
      try {
        await wire.advertise(directory, service, request)
      } finally {
        await rm(directory, { recursive: true, force: true })
      }
    },
    fork: (from, to, branch) => fork(pool, { directory: ground.directory(from), refs: ground.reader(from).refs }, ground.directory(to), branch),
    remove,
    async *all(unchanged) {
      for (const [storage, root] of Object.entries(options.storages)) yield* repositoriesIn(storage, root, unchanged)
    },
    async refsNow(key) {
      if (!(await ground.exists(key))) return null
      const reader = ground.reader(key)
      return { head: `refs/heads/${(await reader.headBranch()) ?? 'main'}`, refs: await reader.refs('refs/') }
    },
    async isLeaving(key) {
      try {
        return await isClosed(ground.directory(key), 'leaving')
      } catch {
        // a write that needs the storage will fail, and others go on
        return false
      }
    },
    async relocate(id, { from, to }, move) {
      if (!(await isStorage(options.storages[to] as string))) throw new RepositoryMissing()
      const route = (kind: 'project' | 'wiki') => ({
        from: ground.directory({ storage: from, id, kind }),
        to: ground.directory({ storage: to, id, kind }),
      })
      await relocate(pool, [route('project'), route('wiki')], { ...move, shared })
      for (const kind of KINDS) forget({ storage: from, id, kind })
    },
    async undoRelocation(id, storage, spared) {
      for (const other of Object.keys(options.storages)) {
        const keys = KINDS.map((kind) => ({ storage: other, id, kind }))
        await removeHalfCopies(keys.map(ground.directory))
        if (spared.includes(other)) continue
        if (other !== storage) for (const key of keys) await remove(key)
        await removeGates(ground.directory({ storage: other, id, kind: 'project' }))
      }
    },
    async isReadFrom(id, storage) {
      const used = await Promise.all(KINDS.map((kind) => isWorkedIn(ground.directory({ storage, id, kind }))))
      return shared || used.includes(true)
    },
    async removeFormer(id, storage) {
      for (const kind of KINDS) await remove({ storage, id, kind })
      await removeGates(ground.directory({ storage, id, kind: 'project' }))
    },
    save: (key, refs, target) => saveRepository(ground.directory(key), refs, target),
    restoreRepository: (saved, key) => restoreRepository(saved, ground.directory(key)),
    async quarantineRepository(key) {
      const place = await quarantineRepository(options.storages[key.storage] as string, ground.directory(key))
      forget(key)
      return place
    },
    removeQuarantinedRepositories: async (older) =>
      (await Promise.all(Object.values(options.storages).map((root) => removeQuarantinedRepositories(root, older)))).flat(),
    async claimStorages(inUse) {
      const claimed = Object.entries(options.storages).map(async ([name, path]) => ((await claimStorage(path, () => inUse(name))) ? [] : [name]))
      return (await Promise.all(claimed)).flat()
    },
    use: useStorage,
    async ping() {
      for (const storage of Object.keys(options.storages)) {
        const refused = options.refusal?.(storage)
        if (refused) throw refused
        await useStorage(storage)
      }
      await pool.run('/', ['--version'])
    },
    clean: async () => (await Promise.all(Object.values(options.storages).map((path) => removeStale(path, stale)))).flat(),
    leftovers: async () => (await Promise.all(Object.values(options.storages).map((path) => staleIn(path, stale)))).flat(),
    async close() {
      updates.close()
      await Promise.all([wire.pool.close(), archives.close(), checks.close(), ground.close()])
    },
  }
}

/** What a project has. */
const KINDS = ['project', 'wiki'] as const

/** Milliseconds to fetch a repository from another server. */
const IMPORT_DEADLINE = 1_800_000

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
