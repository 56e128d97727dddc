import { mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'

/**
 * Runs work with a temporary object directory inside a repository: what git writes with `env` goes there, and the
 * repository's own objects are visible. Its name is one that Git's own clean-up knows, in case a kill leaves it behind
 * (SEC-159).
 */
export async function withQuarantine<T>(directory: string, work: (aside: { path: string; env: NodeJS.ProcessEnv }) => Promise<T>): Promise<T> {
  const objects = join(directory, 'objects')
  const path = await mkdtemp(join(objects, 'tmp_objdir-aside-'))
  try {
    return await work({ path, env: { GIT_OBJECT_DIRECTORY: path, GIT_ALTERNATE_OBJECT_DIRECTORIES: objects } })
  } finally {
    await rm(path, { recursive: true, force: true })
  }
}
