import { GitTimeout } from '../errors.js'
import type { ProcessPool } from '../process/pool.js'
import type { Oid, PathChanges } from '../types.js'
import { CONFIG } from './diff.js'

interface Repository {
  pool: ProcessPool
  directory: string
  env?: NodeJS.ProcessEnv | undefined
}

const NAMES = ['-r', '-z', '--name-only', '--no-renames', '--no-ext-diff', '--no-textconv']
/** Commits that one process is given as arguments. */
const MAX_ARGUMENTS = 1_000

/**
 * The first of the paths that the changes touch, or null. Reads the names of changed files only, as git writes them,
 * and stops at the first one. Of a merge commit, those paths count that differ from all its parents.
 */
export async function findChangedPath(repository: Repository, { commits, pairs }: PathChanges, paths: Iterable<string>): Promise<string | null> {
  const wanted = new Map([...paths].map((path) => [Buffer.from(path).toString('latin1'), path]))
  if (wanted.size === 0) return null
  for (const [from, to] of pairs) {
    const found = await firstOf(repository, ['diff-tree', ...NAMES, from, to], wanted)
    if (found !== null) return found
  }
  const all = [...new Set(commits)]
  for (let at = 0; at < all.length; at += MAX_ARGUMENTS) {
    const some: Oid[] = all.slice(at, at + MAX_ARGUMENTS)
    const args = ['log', '--format=', ...NAMES, '--root', '-c', ...some, '--not', '--branches', '--tags', '--']
    const found = await firstOf(repository, args, wanted)
    if (found !== null) return found
  }
  return null
}

async function firstOf({ pool, directory, env }: Repository, args: string[], wanted: ReadonlyMap<string, string>): Promise<string | null> {
  let rest = ''
  let found: string | null = null
  const onChunk = (chunk: Buffer) => {
    const names = (rest + chunk.toString('latin1')).split('\0')
    rest = names.pop() as string
    const name = names.find((each) => wanted.has(each))
    if (name !== undefined) found = wanted.get(name) as string
    return found === null
  }
  const end = await pool.scan(directory, [...CONFIG, ...args], onChunk, env && { env })
  if (end === 'timeout') throw new GitTimeout(`git ${args[0]} ran out of time`)
  return found
}
