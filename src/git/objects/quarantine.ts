import { mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'

/**
 * Runs `work` with a temporary object directory inside the repository: git with `env` writes there and still sees the
 * repository's own objects. `git gc` knows the name and removes it if a kill leaves it behind (SEC-159).
 */
export async function withQuarantine<T>(directory: string, work: (quarantine: { path: string; env: NodeJS.ProcessEnv }) => Promise<T>): Promise<T> {
  const objects = join(directory, 'objects')
  const path = await mkdtemp(join(objects, 'tmp_objdir-aside-'))
  try {
    return await work({ path, env: { GIT_OBJECT_DIRECTORY: path, GIT_ALTERNATE_OBJECT_DIRECTORIES: objects } })
  } finally {
    await rm(path, { recursive: true, force: true })
  }
}
