import { join } from 'node:path'
import { syncDirectory } from '../../lib/files/durable.js'
import { GitFault } from '../errors.js'
import type { ProcessPool } from '../process/pool.js'
import type { GitRepository, Oid } from '../types.js'

/** The history of a fork may be long. */
const DEADLINE_MS = 300_000
const MAX_ATTEMPTS = 3

/**
 * Copies commits from another repository, and everything they reach that no branch here reaches yet, into one pack.
 * Only this git process sees the source's objects (as alternates), so each side may pack and prune independently. What
 * branches reach is left out because it is complete here, and so is what `have` reaches, which must be held by refs
 * too. Other commits here do not count: an unreferenced one may be about to be collected.
 */
export async function copyObjects(
  pool: ProcessPool,
  target: { directory: string; refs: GitRepository['refs'] },
  source: string,
  commits: Oid[],
  have: Oid[],
): Promise<void> {
  const known = new Set([...(await target.refs('refs/heads/')).map(({ oid }) => oid), ...have])
  const wanted = commits.filter((oid) => !known.has(oid))
  if (wanted.length === 0) return
  const packs = join(target.directory, 'objects', 'pack')
  const args = ['pack-objects', '-q', '--revs', '--non-empty', '--delta-base-offset', join(packs, 'pack')]
  const env = { GIT_ALTERNATE_OBJECT_DIRECTORIES: join(source, 'objects') }
  for (let attempt = 1; ; attempt++) {
    // the last attempt copies everything, in case a branch here is broken
    const input = [...wanted, ...(attempt < MAX_ATTEMPTS ? [...known].map((oid) => `^${oid}`) : []), ''].join('\n')
    try {
      await pool.run(target.directory, args, { input, env, deadline: DEADLINE_MS })
      break
    } catch (error) {
      // the source may have been repacked, and a pack removed while it was read
      if (!(error instanceof GitFault) || attempt === MAX_ATTEMPTS) throw error
    }
  }
  await syncDirectory(packs)
}
