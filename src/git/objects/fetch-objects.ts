import { join } from 'node:path'
import { syncDirectory } from '../../lib/files/durable.js'
import { GitFault } from '../errors.js'
import type { ProcessPool } from '../process/pool.js'
import type { GitRepository, Oid } from '../types.js'

/** Milliseconds: the history of a fork may be long. */
const DEADLINE = 300_000
const TRIES = 3

/**
 * Copies commits of another repository, and everything they reach that no branch here reaches yet, into one pack. Only
 * this process sees the other repository's objects, so each side may pack and prune independently. What a branch
 * reaches, or `have`, which must be held by refs too, is left out because it is complete here; an unreferenced commit
 * may be about to be collected, so those do not count.
 */
export async function fetchObjects(
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
  for (let tried = 1; ; tried++) {
    // in the last attempt everything is copied: a branch here may be broken
    const input = [...wanted, ...(tried < TRIES ? [...known].map((oid) => `^${oid}`) : []), ''].join('\n')
    try {
      await pool.run(target.directory, args, { input, env, deadline: DEADLINE })
      break
    } catch (error) {
      // the source was repacked meanwhile, and a pack disappeared while it was read
      if (!(error instanceof GitFault) || tried === TRIES) throw error
    }
  }
  await syncDirectory(packs)
}
