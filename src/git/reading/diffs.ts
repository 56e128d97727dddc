import { findChangedPath } from '../diff/changed-path.js'
import { diffRange, diffWithoutLargeFiles, EMPTY_TREE, statsWithoutLargeFiles } from '../diff/diff.js'
import { findDiffLine } from '../diff/diff-line.js'
import { GitTimeout } from '../errors.js'
import type { Diff, GitRepository, Oid, Stats } from '../types.js'
import type { Guard } from './guard.js'
import type { Source } from './source.js'

export type DiffReader = Pick<GitRepository, 'diff' | 'diffLine' | 'changedPath' | 'stats'>

const noDiff = (): Diff => ({ files: [], truncated: false, similarity: {}, blobs: {} })
const NO_STATS: Readonly<Stats> = { additions: 0, deletions: 0 }

export function diffReader({ pool, directory, env, cache, root, diffTree }: Source, guarded: Guard): DiffReader {
  const between = (from: Oid, to: Oid) => ({ pool, directory, env, from, to })

  const diff: DiffReader['diff'] = async (from, to, limits) => {
    const none = noDiff()
    const [left, right] = await Promise.all([from === null ? null : root(from), root(to)])
    if (!right || (from !== null && !left)) return none
    const trees = [left?.tree ?? EMPTY_TREE, right.tree] as const
    const small = from === null || right.parents[0] === from
    const query = `diff ${trees.join(' ')} ${limits.files} ${limits.lines} ${limits.bytes} ${limits.fileBytes}`
    const make = () => (small ? diffTree('patch').patch(...trees, limits) : diffRange(between(...trees), limits))
    // a result within the deadline is cached; the fallback is not, because a later attempt may succeed
    const found = await orFallback(cache.getOrCompute(directory, query, sizeOf, make), () => diffWithoutLargeFiles(between(...trees), limits))
    // a copy, so that the caller cannot change the cached one
    return found
      ? { files: found.files.map((file) => ({ ...file })), truncated: found.truncated, similarity: found.similarity, blobs: found.blobs }
      : none
  }

  const diffLine: DiffReader['diffLine'] = async (from, to, at) => {
    const [left, right] = await Promise.all([from === null ? null : root(from), root(to)])
    if (!right || (from !== null && !left)) return null
    return findDiffLine({ pool, directory, env }, left?.tree ?? null, right.tree, at)
  }

  /** The trees of a commit's first parent and of the commit. */
  async function treesOf(oid: Oid) {
    const to = await root(oid)
    const parent = to?.parents[0]
    const from = parent === undefined ? { tree: EMPTY_TREE } : await root(parent)
    return to && from && ([from.tree, to.tree] as const)
  }

  async function statsOf(oid: Oid): Promise<Stats> {
    const make = async () => {
      const trees = await treesOf(oid)
      return trees && diffTree('numstat').stats(...trees)
    }
    const fallback = async () => {
      const trees = await treesOf(oid)
      return trees && statsWithoutLargeFiles(between(...trees))
    }
    const answer = cache.getOrCompute(directory, `stats ${oid}`, () => 50, make)
    return { ...((await orFallback(answer, fallback)) ?? NO_STATS) }
  }

  return {
    diff: (from, to, limits) => guarded(noDiff(), () => diff(from, to, limits)),
    diffLine: (from, to, at) => guarded(null, () => diffLine(from, to, at)),
    changedPath: (changes, paths) => guarded(null, () => findChangedPath({ pool, directory, env }, changes, paths)),
    stats: (oids) =>
      guarded(
        oids.map(() => ({ ...NO_STATS })),
        () => Promise.all(oids.map(statsOf)),
      ),
  }
}

const sizeOf = ({ files }: Diff) => files.reduce((sum, file) => sum + 450 + 2 * (file.diff.length + file.new_path.length + file.old_path.length), 0)

/** Returns the fallback if git timed out. */
const orFallback = <T>(answer: Promise<T>, fallback: () => Promise<T>): Promise<T> =>
  answer.catch((error) => {
    if (error instanceof GitTimeout) return fallback()
    throw error
  })
