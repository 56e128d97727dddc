import type { Readable } from 'node:stream'
import { SingleFlight } from '../lib/async/single-flight.js'
import { shareOf } from '../lib/share.js'
import { DiffTree, diffOfSmall, diffRange, EMPTY_TREE, statsOfSmall } from './diff/diff.js'
import { findDiffLine } from './diff/diff-line.js'
import { OutOfTime, RepositoryMissing } from './errors.js'
import { aheadBehind, lastCommits, mergeBase, mergedInto, onlyBase, refsContaining } from './history/ancestry.js'
import { contributors } from './history/contributors.js'
import { MESSAGE } from './history/history.js'
import { countNew, type LogSource, range, readLog } from './history/log.js'
import { Memory } from './object-cache.js'
import { CatFile, isOid } from './objects/cat-file.js'
import { listed } from './objects/messages.js'
import { parseCommit, parseSigned, parseTag } from './objects/object-codec.js'
import { entriesAt, entryAt, pageBelow, type TreeSource } from './objects/tree.js'
import { BATCH_LIMITS, BatchProcesses } from './process/batch-processes.js'
import { ProcessPool, SEARCH_LIMITS, shareOfLimits } from './process/pool.js'
import type { StoredRef } from './refs/packed-refs.js'
import { RefStore } from './refs/ref-store.js'
import { resolveRevision } from './refs/revision.js'
import { blame } from './search/blame.js'
import { filesWith, grep, type SearchSource, searchLog } from './search/search.js'
import { presence } from './storage/create.js'
import type { Commit, Diff, DiffLimits, GitRepository, Oid, Ref, Stats } from './types.js'

/** The half of a repository that changes nothing. */
export type Reader = Pick<
  GitRepository,
  | 'ref'
  | 'refs'
  | 'refsPage'
  | 'resolve'
  | 'headBranch'
  | 'commit'
  | 'commits'
  | 'tag'
  | 'objectInfo'
  | 'blob'
  | 'blobStream'
  | 'entry'
  | 'tree'
  | 'treePage'
  | 'log'
  | 'countNew'
  | 'range'
  | 'lastCommits'
  | 'mergeBase'
  | 'onlyBase'
  | 'isAncestor'
  | 'merged'
  | 'refsContaining'
  | 'aheadBehind'
  | 'contributors'
  | 'searchLog'
  | 'grep'
  | 'blame'
  | 'signedCommit'
  | 'filesWith'
  | 'commitNamed'
  | 'blobStart'
  | 'diff'
  | 'diffLine'
  | 'stats'
>

/** What all readers of an installation share. */
export interface ReadFloor {
  pool: ProcessPool
  /** The process pool of searches. */
  searches: ProcessPool
  searching: SingleFlight
  batchProcesses: BatchProcesses
  memory: Memory
}

const floorOf = (pool: ProcessPool, memory: Memory, workers = 1): ReadFloor => ({
  pool,
  searches: new ProcessPool(shareOfLimits(SEARCH_LIMITS, workers), pool.spawner),
  searching: new SingleFlight(),
  batchProcesses: new BatchProcesses(pool, { ...BATCH_LIMITS, repositories: shareOf(BATCH_LIMITS.repositories, workers, 8) }),
  memory,
})

/** `workers`: processes of the service that share the limits of this machine. */
export const readFloor = (pool: ProcessPool, workers?: number): ReadFloor => floorOf(pool, new Memory(), workers)

export interface ReaderOptions {
  /**
   * More environment for git, such as a quarantine's object directory. Use it with a floor of its own, see
   * `quarantineReader`.
   */
  env?: NodeJS.ProcessEnv
  /** Called when the repository is missing or cannot be read; the call fails (SEC-156). */
  onFault?: (fault: Error) => void
  /** It may be missing, like a wiki that nobody has written to; then it reads as an empty one. */
  optional?: boolean
}

/** Reads one bare repository. Cheap to create: nothing is read or started before the first call. */
export function readerFor(floor: ReadFloor, directory: string, { env, onFault, optional = false }: ReaderOptions = {}): Reader {
  const { pool, searches, searching, batchProcesses, memory } = floor
  const refs = new RefStore(directory, memory.packed)
  const objects = () => batchProcesses.process(directory, 'cat-file', () => new CatFile(pool, directory, env))
  const diffTree = (kind: 'patch' | 'numstat') => batchProcesses.process(directory, kind, () => new DiffTree(pool, directory, kind, env))
  const treeSource = (): TreeSource => ({ objects: objects(), remember: (about, size, make) => memory.answer(directory, about, size, make) })
  const history = (): LogSource => ({ pool, directory, env, objects: objects(), links: memory.links, memory, isFile, commit })

  const searched = (): SearchSource => ({ pool: searches, searching, directory, env, memory, objects: objects(), root: rootOf })

  const commit = (oid: Oid): Promise<Commit | null> =>
    memory.answer<Commit>(
      directory,
      `commit ${oid}`,
      ({ message, parents }) => 1_200 + message.length * 2 + parents.length * 60,
      async () => {
        const object = await objects().read(oid, MESSAGE)
        return object?.type === 'commit' ? parseCommit(oid, object.content) : null
      },
    )
  const rootOf = (oid: Oid) =>
    memory.answer<{ tree: Oid; parents: Oid[] }>(
      directory,
      `root ${oid}`,
      ({ parents }) => 100 + parents.length * 60,
      async () => {
        const found = await commit(oid)
        return found && { tree: found.tree, parents: found.parents }
      },
    )
  const entry = async (oid: Oid, path: string) => {
    const root = await rootOf(oid)
    return root && entryAt(treeSource(), root.tree, path)
  }
  const isFile = async (oid: Oid, path: string) => (await entry(oid, path))?.type === 'blob'
  const peel = async (oid: Oid) => (await objects().peel(oid))?.oid ?? oid

  /** Git itself lets branches point at commits only. */
  const peeledRefs = async (prefix: string, stored: StoredRef[]): Promise<Ref[]> => {
    const branch = prefix.startsWith('refs/heads/')
    const unknown = branch ? [] : stored.filter(({ peeled }) => peeled === null)
    const found = new Map(await Promise.all(unknown.map(async ({ oid }) => [oid, await peel(oid)] as const)))
    return stored.map(({ name, oid, peeled }) => ({ name, oid, peeled: branch ? oid : (peeled ?? found.get(oid) ?? oid) }))
  }

  const diff = async (from: Oid | null, to: Oid, limits: DiffLimits): Promise<Diff> => {
    const none = { files: [], truncated: false }
    const [left, right] = await Promise.all([from === null ? null : rootOf(from), rootOf(to)])
    if (!right || (from !== null && !left)) return none
    const trees = [left?.tree ?? EMPTY_TREE, right.tree] as const
    const small = from === null || right.parents[0] === from
    const about = `diff ${trees.join(' ')} ${limits.files} ${limits.lines} ${limits.bytes} ${limits.fileBytes}`
    const pair = { pool, directory, env, from: trees[0], to: trees[1] }
    const make = () => (small ? diffTree('patch').patch(...trees, limits) : diffRange(pair, limits))
    const size = ({ files }: Diff) => files.reduce((sum, file) => sum + 300 + 2 * (file.diff.length + file.new_path.length + file.old_path.length), 0)
    // an answer made in time is cached; the lesser one is not, because at another time the full one may succeed
    const found = await inTime(memory.answer(directory, about, size, make), () => diffOfSmall(pair, limits))
    // a copy, so that the caller cannot change the cached one
    return found ? { files: found.files.map((file) => ({ ...file })), truncated: found.truncated } : none
  }

  const diffLine: Reader['diffLine'] = async (from, to, at) => {
    const [left, right] = await Promise.all([from === null ? null : rootOf(from), rootOf(to)])
    if (!right || (from !== null && !left)) return null
    return findDiffLine({ pool, directory, env }, left?.tree ?? null, right.tree, at)
  }

  const statsOf = async (oid: Oid): Promise<Stats> => {
    const none = { additions: 0, deletions: 0 }
    const trees = async () => {
      const to = await rootOf(oid)
      const parent = to?.parents[0]
      const from = parent === undefined ? { tree: EMPTY_TREE } : await rootOf(parent)
      return to && from && ([from.tree, to.tree] as const)
    }
    const make = async () => {
      const pair = await trees()
      return pair && diffTree('numstat').stats(...pair)
    }
    const lesser = async () => {
      const pair = await trees()
      return pair && statsOfSmall({ pool, directory, env, from: pair[0], to: pair[1] })
    }
    const found = await inTime(
      memory.answer(directory, `stats ${oid}`, () => 50, make),
      lesser,
    )
    return { ...(found ?? none) }
  }

  /** An answer, or a lesser one where git ran out of time. */
  const inTime = <T>(answer: Promise<T>, lesser: () => Promise<T>): Promise<T> =>
    answer.catch((error) => {
      if (error instanceof OutOfTime) return lesser()
      throw error
    })

  /** When an answer is a fault or empty, checks whether the repository exists. */
  const guarded = async <T>(empty: T, work: () => Promise<T>): Promise<T> => {
    try {
      const answer = await work()
      const nothing = answer === null || (Array.isArray(answer) && answer.length === 0)
      if (!nothing) return answer
      const found = await presence(directory)
      if (found === 'readable') return answer
      if (found === 'absent' && optional) return empty
    } catch (fault) {
      const found = await presence(directory)
      if (found === 'readable') throw fault
      if (found === 'absent' && optional) return empty
    }
    const missing = new RepositoryMissing()
    onFault?.(missing)
    throw missing
  }

  return {
    ref: (name) => guarded(null, () => refs.ref(name)),
    refs: (prefix) => guarded([], async () => peeledRefs(prefix, await refs.refs(prefix))),
    refsPage: async (prefix, { skip, limit }) => {
      const page = await guarded(null, async () => {
        const { refs: found, total } = await refs.page(prefix, skip, limit)
        return total === 0 ? null : { refs: await peeledRefs(prefix, found), total }
      })
      return page ?? { refs: [], total: 0 }
    },
    resolve: (revision) => guarded(null, () => resolveRevision(revision, refs, objects())),
    headBranch: () =>
      guarded(null, async () => {
        const head = await refs.head()
        return head?.startsWith('refs/heads/') ? head.slice('refs/heads/'.length) : null
      }),

    commit: (oid) => guarded(null, () => commit(oid)),
    commitNamed: (hash) =>
      guarded(null, async () => {
        const oid = hash.toLowerCase()
        if (!isOid(oid)) return objects().abbreviated(oid)
        const object = await objects().peel(oid)
        return object?.type === 'commit' ? object.oid : null
      }),
    commits: (oids) => guarded(oids.map(() => null), () => listed(oids, commit)), // biome-ignore format: one call
    signedCommit: (oid) =>
      guarded(null, async () => {
        const object = await objects().read(oid)
        return object?.type === 'commit' ? parseSigned(object.content) : null
      }),
    tag: (oid) =>
      guarded(null, async () => {
        const object = await objects().read(oid, MESSAGE)
        return object?.type === 'tag' ? parseTag(oid, object.content) : null
      }),
    objectInfo: (oid) =>
      guarded(null, async () => {
        const info = await objects().info(oid)
        return info && { type: info.type, size: info.size }
      }),
    blob: (oid) =>
      guarded(null, async () => {
        const info = await objects().info(oid)
        if (info?.type !== 'blob') return null
        return (await objects().read(oid, Number.POSITIVE_INFINITY))?.content ?? null
      }),
    blobStart: (oid, bytes) =>
      guarded(null, () => memory.answer<Buffer>(directory, `first ${bytes} of ${oid}`, (start) => start.length, async () => {
        const info = await objects().info(oid)
        return info?.type === 'blob' ? startOf(await objects().stream(info), bytes) : null
      })), // biome-ignore format: one question
    blobStream: (oid, signal) =>
      guarded(null, async () => {
        const info = await objects().info(oid)
        return info?.type === 'blob' ? { size: info.size, stream: await objects().stream(info, signal) } : null
      }),
    entry: (oid, path) => guarded(null, () => entry(oid, path)),
    tree: (oid, path, { recursive }) =>
      guarded(null, async () => {
        const root = await rootOf(oid)
        return root && entriesAt(treeSource(), root.tree, path, recursive)
      }),
    treePage: (oid, path, part) =>
      guarded(null, async () => {
        const root = await rootOf(oid)
        return root && pageBelow(treeSource(), root.tree, path, part)
      }),

    log: (options) => guarded({ commits: [], total: 0 }, () => readLog(history(), options)),
    countNew: (from, to, most) => guarded(0, () => countNew(history(), from, to, most)),
    range: (from, to, most) => guarded({ oids: [], total: 0 }, () => range(history(), from, to, most)),
    lastCommits: (from, paths) => guarded(paths.map(() => null), () => lastCommits(history(), from, paths)), // biome-ignore format: one call
    mergeBase: (...oids) => guarded(null, () => mergeBase(history(), oids)),
    onlyBase: (ours, theirs) => guarded(null, () => onlyBase(history(), ours, theirs)),
    isAncestor: async (ancestor, descendant) => (await guarded([false], () => mergedInto(history(), [ancestor], descendant)))[0] ?? false,
    merged: (heads, into) => guarded(heads.map(() => false), () => mergedInto(history(), heads, into)), // biome-ignore format: one call
    refsContaining: (oid, prefix) => guarded([], () => refsContaining(history(), oid, prefix)),
    aheadBehind: (a, b) => guarded({ ahead: 0, behind: 0 }, () => aheadBehind(history(), a, b)),
    contributors: (head) => guarded([], () => contributors(history(), head)),
    searchLog: (from, text, options) => guarded({ oids: [], truncated: false }, () => searchLog(searched(), from, text, options)),
    grep: (oid, text, options) => guarded({ chunks: [], truncated: false }, () => grep(searched(), oid, text, options)),
    blame: (oid, path, options) => guarded({ groups: [], truncated: false }, () => blame(searched(), oid, path, options)),
    filesWith: (oid, text, options) => guarded([], () => filesWith(searched(), oid, text, options)),

    diff: (from, to, limits) => guarded({ files: [], truncated: false }, () => diff(from, to, limits)),
    diffLine: (from, to, at) => guarded(null, () => diffLine(from, to, at)),
    stats: (oids) => guarded(oids.map(() => ({ additions: 0, deletions: 0 })), () => Promise.all(oids.map(statsOf))), // biome-ignore format: one call
  }
}

/** The first bytes of a stream, which is then destroyed. */
async function startOf(stream: Readable, bytes: number): Promise<Buffer> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    chunks.push(chunk)
    size += chunk.length
    if (size >= bytes) break
  }
  // a copy: what is cached must not keep the rest in memory
  return Buffer.from(Buffer.concat(chunks).subarray(0, bytes))
}

/**
 * A reader that also sees objects which have not been accepted yet. It caches nothing beyond its own life; close it.
 */
export function quarantineReader(pool: ProcessPool, directory: string, env: NodeJS.ProcessEnv): Reader & { close(): void } {
  const floor = floorOf(pool, new Memory(16 * 1_048_576))
  return { ...readerFor(floor, directory, { env }), close: () => floor.batchProcesses.close() }
}
