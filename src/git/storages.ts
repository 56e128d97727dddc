import { constants } from 'node:fs'
import { access } from 'node:fs/promises'
import { gitFailure, RepositoryMissing } from './errors.js'
import type { GitInstallation, GitOptions } from './installation.js'
import { claimStorage, isStorage, removeRepository } from './storage/create.js'
import { quarantineRepository, removeQuarantinedRepositories, repositoriesIn } from './storage/examine.js'
import { isClosed, removeGates } from './storage/gates.js'
import { changedAt, hasGitProcesses, removeStale, STALE_AFTER, staleIn } from './storage/leftovers.js'
import { relocate, removeTemporaryCopies } from './storage/relocate.js'
import { isWriterFile } from './storage/writer-files.js'
import type { Git } from './types.js'
import type { WriteResources } from './write-resources.js'

type Removal = Pick<Git, 'remove' | 'quarantineRepository' | 'removeQuarantinedRepositories'>
type Moves = Pick<Git, 'isMoving' | 'relocate' | 'undoRelocation' | 'isFormerCopyInUse' | 'removeFormerCopies'>
type Storages = Pick<Git, 'listRepositories' | 'claimStorages' | 'checkStorage' | 'checkStart' | 'ping' | 'removeLeftovers' | 'leftovers'>

/** The kinds of repositories that a project has. */
const KINDS = ['project', 'wiki'] as const

/** Removes repositories, or quarantines damaged ones. */
export function removalOf(installation: GitInstallation, { forget }: WriteResources, { storages }: GitOptions): Removal {
  return {
    async remove(key) {
      await removeRepository(installation.directory(key, 'write'))
      forget(key)
    },
    async quarantineRepository(key) {
      const target = await quarantineRepository(storages[key.storage] as string, installation.directory(key, 'write'))
      forget(key)
      return target
    },
    removeQuarantinedRepositories: async (minAgeMs) =>
      (await Promise.all(Object.values(storages).map((root) => removeQuarantinedRepositories(root, minAgeMs)))).flat(),
  }
}

/** Moves the repositories of a project from one storage to another. */
export function movesOf(installation: GitInstallation, { shared, forget }: WriteResources, { storages }: GitOptions, remove: Git['remove']): Moves {
  return {
    async isMoving(key) {
      try {
        return await isClosed(installation.directory(key), 'leaving')
      } catch {
        // the storage cannot be read: a write that needs it fails later, other writes need not wait
        return false
      }
    },
    async relocate(id, { from, to }, move) {
      if (!(await isStorage(storages[to] as string))) throw new RepositoryMissing()
      const route = (kind: 'project' | 'wiki') => ({
        from: installation.directory({ storage: from, id, kind }),
        to: installation.directory({ storage: to, id, kind }, 'write'),
      })
      await relocate(installation.resources.pool, [route('project'), route('wiki')], { ...move, shared })
      for (const kind of KINDS) forget({ storage: from, id, kind })
    },
    async undoRelocation(id, storage, spared) {
      for (const other of Object.keys(storages)) {
        const keys = KINDS.map((kind) => ({ storage: other, id, kind }))
        await removeTemporaryCopies(keys.map((key) => installation.directory(key, 'write')))
        if (spared.includes(other)) continue
        if (other !== storage) for (const key of keys) await remove(key)
        await removeGates(installation.directory({ storage: other, id, kind: 'project' }))
      }
    },
    async isFormerCopyInUse(id, storage) {
      const used = await Promise.all(KINDS.map((kind) => hasGitProcesses(installation.directory({ storage, id, kind }))))
      return shared || used.includes(true)
    },
    async removeFormerCopies(id, storage) {
      for (const kind of KINDS) await remove({ storage, id, kind })
      await removeGates(installation.directory({ storage, id, kind: 'project' }))
    },
  }
}

/** Operations on whole storages. */
export function storagesOf({ resources }: GitInstallation, { shared }: WriteResources, { storages, refusal }: GitOptions): Storages {
  const stale = { ...STALE_AFTER, shared }
  const inEach = async <T>(work: (root: string) => Promise<T[]>) => (await Promise.all(Object.values(storages).map(work))).flat()
  const checkStorage: Git['checkStorage'] = async (storage, purpose) => {
    const path = storages[storage] as string
    if (purpose === 'write') return access(path, constants.W_OK)
    await access(path, constants.R_OK | constants.X_OK)
    if (!(await isStorage(path))) throw new RepositoryMissing()
  }
  return {
    async *listRepositories(minAgeMs) {
      for (const [storage, root] of Object.entries(storages)) yield* repositoriesIn(storage, root, minAgeMs)
    },
    async claimStorages(inUse) {
      const claimed = Object.entries(storages).map(async ([name, path]) => ((await claimStorage(path, () => inUse(name))) ? [] : [name]))
      return (await Promise.all(claimed)).flat()
    },
    checkStorage,
    async checkStart() {
      const git = await resources.pool.start('/', ['--version'])
      git.stdout?.resume()
      git.stderr?.resume()
      const code = await git.closed
      if (code !== 0) throw gitFailure('version', code, '')
    },
    async ping() {
      for (const storage of Object.keys(storages)) {
        const refused = refusal?.(storage, 'write')
        if (refused) throw refused
        for (const purpose of ['read', 'write'] as const) await checkStorage(storage, purpose)
      }
      await resources.pool.run('/', ['--version'])
    },
    removeLeftovers: () => inEach((path) => removeStale(path, stale)),
    async leftovers(minAgeMs) {
      const found = await inEach((path) => staleIn(path, stale))
      const changed = await Promise.all(found.map(changedAt))
      // the heartbeat files of pushes hinder nobody
      return found.filter((path, i) => !isWriterFile(path) && Date.now() - (changed[i] as number) >= minAgeMs)
    },
  }
}
