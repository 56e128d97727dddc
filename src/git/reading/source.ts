import { DiffTree } from '../diff/diff.js'
import { MAX_COMMIT_BYTES } from '../history/history.js'
import type { LogSource } from '../history/log-source.js'
import { CatFile, type ObjectInfo } from '../objects/cat-file.js'
import { CUT_MARK } from '../objects/commit-list.js'
import { parseCommit } from '../objects/object-codec.js'
import { entryAt, type TreeSource } from '../objects/tree.js'
import { RefStore } from '../refs/ref-store.js'
import type { SearchSource } from '../search/search.js'
import type { Commit, GitRepository, Oid } from '../types.js'
import type { ReadResources } from './resources.js'

/** What the parts of a reader share: one repository, its processes and its cache. */
export interface Source extends Pick<ReadResources, 'pool' | 'cache'> {
  directory: string
  env: NodeJS.ProcessEnv | undefined
  refs: RefStore
  objects(): CatFile
  diffTree(kind: 'patch' | 'numstat'): DiffTree
  commit(oid: Oid): Promise<Commit | null>
  /** The commit for a list, in which of a large one the first MiB is enough. */
  listedCommit(oid: Oid): Promise<Commit | null>
  /** The commit, if it is cached. */
  cachedCommit(oid: Oid): Commit | undefined
  /** The type and size of an object. */
  info(oid: Oid): Promise<ObjectInfo | null>
  /** Follows a chain of tags to its end. */
  peel(oid: Oid): Promise<ObjectInfo | null>
  /** A commit's tree and parents, which stay cached longer than the whole commit. */
  root(oid: Oid): Promise<{ tree: Oid; parents: Oid[] } | null>
  entry: GitRepository['entry']
  trees(): TreeSource
  history(): LogSource
  searches(): SearchSource
}

/** Bytes of a commit that are read for a list (SEC-178). */
const LISTED_BYTES = 1_048_576
/** The estimated size of a cached commit. */
const sizeOf = ({ message, parents }: Commit) => 1_200 + message.length * 2 + parents.length * 60
/** The estimated size of a cached ObjectInfo. */
const INFO_BYTES = 200

/** Follows a chain of tags to its end; cached. */
export const peelIn =
  ({ pool, batchProcesses, cache }: ReadResources, directory: string, env?: NodeJS.ProcessEnv) =>
  (oid: Oid): Promise<ObjectInfo | null> =>
    cache.getOrCompute<ObjectInfo>(
      directory,
      `peel ${oid}`,
      () => INFO_BYTES,
      () => batchProcesses.process(directory, 'cat-file', () => new CatFile(pool, directory, env)).peel(oid),
    )

/** `env` is additional environment for git. Nothing is read or started before the first call. */
export function sourceOf(resources: ReadResources, directory: string, env: NodeJS.ProcessEnv | undefined): Source {
  const { pool, searches, runningSearches, batchProcesses, cache } = resources
  const objects = () => batchProcesses.process(directory, 'cat-file', () => new CatFile(pool, directory, env))
  const trees = (): TreeSource => ({ objects: objects(), cached: (query, size, compute) => cache.getOrCompute(directory, query, size, compute) })

  const info = (oid: Oid) =>
    cache.getOrCompute<ObjectInfo>(
      directory,
      `info ${oid}`,
      () => INFO_BYTES,
      () => objects().info(oid),
    )
  const peel = peelIn(resources, directory, env)
  const commit = (oid: Oid) =>
    cache.getOrCompute<Commit>(directory, `commit ${oid}`, sizeOf, async () => {
      const object = await objects().read(oid, MAX_COMMIT_BYTES)
      return object?.type === 'commit' ? parseCommit(oid, object.content) : null
    })
  const listedCommit = async (oid: Oid) => {
    const object = await objects().readCommitStart(oid, LISTED_BYTES, MAX_COMMIT_BYTES)
    if (!object) return null
    const whole = object.content.length === object.size
    const parsed = parseCommit(oid, object.content)
    if (!whole) return { ...parsed, message: parsed.message.replace(/\uFFFD$/, '') + CUT_MARK }
    cache.set(directory, `commit ${oid}`, sizeOf(parsed), parsed)
    return parsed
  }
  const cachedCommit = (oid: Oid) => cache.get<Commit>(directory, `commit ${oid}`)
  const root = (oid: Oid) =>
    cache.getOrCompute<{ tree: Oid; parents: Oid[] }>(
      directory,
      `root ${oid}`,
      ({ parents }) => 100 + parents.length * 60,
      async () => {
        const found = await commit(oid)
        return found && { tree: found.tree, parents: found.parents }
      },
    )
  const entry: Source['entry'] = async (oid, path) => {
    const found = await root(oid)
    return found && entryAt(trees(), found.tree, path)
  }
  const isFile = async (oid: Oid, path: string) => (await entry(oid, path))?.type === 'blob'

  return {
    pool,
    cache,
    directory,
    env,
    refs: new RefStore(directory, cache.packed),
    objects,
    diffTree: (kind) => batchProcesses.process(directory, kind, () => new DiffTree(pool, directory, kind, env)),
    commit,
    listedCommit,
    cachedCommit,
    info,
    peel,
    root,
    entry,
    trees,
    history: () => ({ pool, directory, env, objects: objects(), links: cache.links, cache, isFile, listedCommit, cachedCommit }),
    searches: () => ({ pool: searches, runningSearches, directory, env, cache, objects: objects(), root }),
  }
}
