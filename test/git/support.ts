import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll } from 'vitest'
import { draftCommit } from '../../src/git/objects/writer.js'
import { gitEnvironment } from '../../src/git/process/environment.js'
import { POOL_LIMITS, ProcessPool } from '../../src/git/process/pool.js'
import { RefUpdates } from '../../src/git/refs/ref-updates.js'
import { createRepository, repositoryDirectory } from '../../src/git/storage/create.js'
import type { Change, CommitDraft } from '../../src/git/types.js'
import { run, testSpawner } from '../support/spawner.js'
import { IDENTITY, nativeReader, PERSON } from './reader.js'

export { git, PERSON } from './reader.js'

/** The same without holding the event loop, for a git that talks to a server of this process. */
export const gitAsync = (cwd: string, args: string[], env: NodeJS.ProcessEnv = {}) =>
  run('git', args, { cwd, env: { ...gitEnvironment(), ...IDENTITY, GIT_ALLOW_PROTOCOL: 'file:http', ...env } })

/** A folder, a pool and ref updates that go away with the test file. */
export function workshop() {
  const pool = new ProcessPool(POOL_LIMITS, testSpawner)
  const refs = new RefUpdates(pool)
  const folders: string[] = []
  afterAll(async () => {
    refs.close()
    await pool.close()
    for (const folder of folders) await rm(folder, { recursive: true, force: true })
  })
  const folder = async () => {
    const path = await mkdtemp(join(tmpdir(), 'roost-test-'))
    folders.push(path)
    return path
  }
  let id = 0
  const repository = async (branch = 'main') => {
    const directory = repositoryDirectory(await folder(), { storage: 'default', id: ++id, kind: 'project' })
    await createRepository(directory, branch)
    return directory
  }
  const draft = (directory: string, changes: Change[], rest: Partial<CommitDraft> = {}) =>
    draftCommit(
      { directory, pool, readObject: nativeReader(directory) },
      { parents: [], changes, author: PERSON, committer: PERSON, message: 'a change\n', ...rest },
    )
  return { pool, refs, folder, repository, draft }
}

export function committed<T extends object>(result: T): { commit: string; tree: string } {
  if (!('commit' in result)) throw new Error(`no commit: ${JSON.stringify(result)}`)
  return result as unknown as { commit: string; tree: string }
}
