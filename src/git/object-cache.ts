import { createHash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { type CommitGraph, graphStamp, readGraph } from './history/commit-graph.js'
import type { Link, LinkCache } from './history/history.js'
import { PackedRefsCache } from './refs/packed-refs.js'

const MEGABYTE = 1_048_576

/**
 * Cached reads of all repositories, limited in bytes (SEC-150). Apart from the commit-graphs, everything is derived
 * from object ids and never becomes stale.
 */
export class ObjectCache {
  readonly #values: LRUCache<string, { value: NonNullable<unknown> }>
  readonly #graphs: LRUCache<string, { stamp: string; graph: CommitGraph | null }>
  /**
   * One commit-graph that exceeds the limit of `#graphs`: only the last one is kept, because reading it takes a second.
   */
  #largeGraph: { directory: string; stamp: string; graph: CommitGraph | null } | undefined
  readonly #pending = new Map<string, Promise<NonNullable<unknown> | null>>()
  /** Limited by `maxSize`, because `max` would allocate all entries up front, for each push again. */
  readonly links: LinkCache = new LRUCache<string, Link>({ maxSize: 60_000, sizeCalculation: () => 1 })
  readonly packed: PackedRefsCache

  constructor(bytes = 96 * MEGABYTE) {
    this.#values = new LRUCache({ maxSize: Math.floor(bytes / 2) })
    this.#graphs = new LRUCache({ maxSize: Math.floor(bytes / 3), sizeCalculation: ({ graph }) => graph?.bytes ?? 100 })
    this.packed = new PackedRefsCache(Math.floor(bytes / 6))
  }

  /**
   * Returns the cached value or computes it; concurrent callers share one computation. Null is never cached, because a
   * missing object may be pushed later.
   */
  async getOrCompute<V extends NonNullable<unknown>>(
    directory: string,
    query: string,
    size: (value: V) => number,
    compute: () => Promise<V | null>,
  ): Promise<V | null> {
    const key = keyOf(directory, query)
    const cached = this.#values.get(key)
    if (cached) return cached.value as V
    const running = this.#pending.get(key) as Promise<V | null> | undefined
    if (running) return running
    const computing = compute()
    this.#pending.set(key, computing)
    try {
      const value = await computing
      if (value !== null) this.#values.set(key, { value }, { size: sizeOf(size(value), key) })
      return value
    } finally {
      this.#pending.delete(key)
    }
  }

  /** The cached value, if there is one. */
  get<V extends NonNullable<unknown>>(directory: string, query: string): V | undefined {
    return this.#values.get(keyOf(directory, query))?.value as V | undefined
  }

  /** Caches a value that the caller computed. */
  set(directory: string, query: string, bytes: number, value: NonNullable<unknown>) {
    const key = keyOf(directory, query)
    this.#values.set(key, { value }, { size: sizeOf(bytes, key) })
  }

  /** The repository's current commit-graph on disk; null if there is none. */
  async graph(directory: string): Promise<CommitGraph | null> {
    const stamp = graphStamp(directory)
    const cached = this.#largeGraph?.directory === directory ? this.#largeGraph : this.#graphs.get(directory)
    if (cached?.stamp === stamp) return cached.graph
    const key = `${directory} graph ${stamp}`
    const running = this.#pending.get(key) as Promise<CommitGraph | null> | undefined
    if (running) return running
    const computing = readGraph(directory, cached?.graph)
    this.#pending.set(key, computing as Promise<NonNullable<unknown> | null>)
    try {
      const graph = await computing
      // the graph was rewritten while it was read: it is valid, but must not be cached under this stamp
      if (graphStamp(directory) !== stamp) return graph
      if ((graph?.bytes ?? 0) > this.#graphs.maxSize) this.#largeGraph = { directory, stamp, graph }
      else {
        if (this.#largeGraph?.directory === directory) this.#largeGraph = undefined
        this.#graphs.set(directory, { stamp, graph })
      }
      return graph
    } finally {
      this.#pending.delete(key)
    }
  }

  /** Drops all entries of a removed repository, so that a new repository in the same directory does not get them. */
  forget(directory: string) {
    const prefix = prefixOf(directory)
    for (const key of this.#values.keys()) if (key.startsWith(prefix)) this.#values.delete(key)
    this.#graphs.delete(directory)
    if (this.#largeGraph?.directory === directory) this.#largeGraph = undefined
    this.packed.forget(directory)
  }
}

const sizeOf = (bytes: number, key: string) => Math.ceil(bytes) + key.length * 2 + 200

const prefixOf = (directory: string) => `${directory}\0`

/** Hashes long keys, such as logs from many starting points. */
const keyOf = (directory: string, query: string) =>
  prefixOf(directory) + (query.length > 300 ? createHash('sha256').update(query).digest('base64') : query)
