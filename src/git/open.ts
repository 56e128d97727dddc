import { randomBytes } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { LRUCache } from 'lru-cache'
import { openInstallation } from './installation.js'
import { quarantineReader } from './reading/reader.js'
import { repositoryOf } from './repository.js'
import { restoreRepository, saveRepository } from './storage/copies.js'
import { createRepository } from './storage/create.js'
import { fork } from './storage/fork.js'
import { assertNotMoved } from './storage/gates.js'
import { movesOf, removalOf, storagesOf } from './storages.js'
import type { Git, GitRepository, RepositoryKey } from './types.js'
import { type WriteOptions, writeResources } from './write-resources.js'

/** Repository objects that are kept (SEC-150). */
const MAX_OPEN_REPOSITORIES = 256

/** All repositories of this installation, for reading, writing and the wire protocol. */
export function openGit(options: WriteOptions): Git {
  const installation = openInstallation(options)
  const resources = writeResources(options, installation)
  const removal = removalOf(installation, resources, options)
  const opened = new LRUCache<string, GitRepository>({ max: MAX_OPEN_REPOSITORIES })
  // kept because creating its functions takes longer than reading a cached object, and it has no state but its key
  const open = (key: RepositoryKey) => {
    const name = `${key.kind} ${key.id} ${key.storage}`
    const known = opened.get(name)
    if (known) {
      installation.directory(key) // throws if the storage must not be used
      return known
    }
    const made = repositoryOf(installation, resources, key)
    opened.set(name, made)
    return made
  }
  return {
    ...removal,
    ...movesOf(installation, resources, options, removal.remove),
    ...storagesOf(installation, resources, options),
    open,
    openBoth: (key, other) =>
      quarantineReader(installation.resources.pool, installation.directory(key), {
        GIT_ALTERNATE_OBJECT_DIRECTORIES: join(installation.directory(other), 'objects'),
      }),
    exists: installation.exists,
    async create(key, branch) {
      if (await installation.exists(key)) return
      await createRepository(installation.directory(key, 'write'), branch)
      // the project of a new wiki may be moving to another storage
      await assertNotMoved(installation.directory(key), resources.shared)
    },
    async advertiseEmpty(service, request) {
      const root = Object.values(options.storages)[0] as string
      const directory = join(root, '00', `.tmp-${randomBytes(6).toString('hex')}`)
      await createRepository(directory, 'main')
      try {
        await resources.wire.advertise(directory, service, request)
      } finally {
        await rm(directory, { recursive: true, force: true })
      }
    },
    fork: (from, to, branch) =>
      fork(
        installation.resources.pool,
        { directory: installation.directory(from), refs: installation.reader(from).refs },
        installation.directory(to, 'write'),
        branch,
      ),
    async snapshotRefs(key) {
      if (!(await installation.exists(key))) return null
      const reader = installation.reader(key)
      return { head: `refs/heads/${(await reader.headBranch()) ?? 'main'}`, refs: await reader.refs('refs/') }
    },
    saveRepository: (key, refs, target) => saveRepository(installation.directory(key), refs, target),
    restoreRepository: (saved, key) => restoreRepository(saved, installation.directory(key, 'write')),
    async close() {
      await Promise.all([resources.close(), installation.close()])
    },
  }
}
