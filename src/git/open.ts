import { randomBytes } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { openInstallation } from './installation.js'
import { repositoryOf } from './repository.js'
import { restoreRepository, saveRepository } from './storage/copies.js'
import { createRepository } from './storage/create.js'
import { fork } from './storage/fork.js'
import { checkHere } from './storage/gates.js'
import { movesOf, removalOf, storagesOf } from './storages.js'
import type { Git } from './types.js'
import { type WriteOptions, writeFloor } from './write-floor.js'

/** All repositories of this installation, for reading, writing and the wire protocol. */
export function openGit(options: WriteOptions): Git {
  const ground = openInstallation(options)
  const floor = writeFloor(options, ground)
  const removal = removalOf(ground, floor, options)
  return {
    ...removal,
    ...movesOf(ground, floor, options, removal.remove),
    ...storagesOf(ground, floor, options),
    open: (key) => repositoryOf(ground, floor, key),
    exists: ground.exists,
    async create(key, branch) {
      if (await ground.exists(key)) return
      await createRepository(ground.directory(key), branch)
      // a wiki whose project goes to another storage
      await checkHere(ground.directory(key), floor.shared)
    },
    async advertiseEmpty(service, request) {
      const root = Object.values(options.storages)[0] as string
      const directory = join(root, '00', `.tmp-${randomBytes(6).toString('hex')}`)
      await createRepository(directory, 'main')
      try {
        await floor.wire.advertise(directory, service, request)
      } finally {
        await rm(directory, { recursive: true, force: true })
      }
    },
    fork: (from, to, branch) =>
      fork(ground.floor.pool, { directory: ground.directory(from), refs: ground.reader(from).refs }, ground.directory(to), branch),
    async refsNow(key) {
      if (!(await ground.exists(key))) return null
      const reader = ground.reader(key)
      return { head: `refs/heads/${(await reader.headBranch()) ?? 'main'}`, refs: await reader.refs('refs/') }
    },
    save: (key, refs, target) => saveRepository(ground.directory(key), refs, target),
    restoreRepository: (saved, key) => restoreRepository(saved, ground.directory(key)),
    async close() {
      await Promise.all([floor.close(), ground.close()])
    },
  }
}
