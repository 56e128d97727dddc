import { createHash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { type CommitGraph, graphStamp, readGraph } from './history/commit-graph.js'
import type { Link, LinkCache } from './history/history.js'
import { PackedRefsCache } from './refs/packed-refs.js'

const MEGABYTE = 1_048_576

/**
 * What was read of all repositories, limited in bytes (SEC-150). Everything but the commit-graphs follows from object
 * ids and never becomes stale.
 */
export class ObjectCache {
  readonly #values: LRUCache<string, { value: NonNullable<unknown> }>
  readonly #graphs: LRUCache<string, { stamp: string; graph: CommitGraph | null }>
  /** A graph that is too large for the others' limit: one at a time, because to read it takes a second. */
  #largeGraph: { directory: string; stamp: string; graph: CommitGraph | null } | undefined
  readonly #pending = new Map<string, Promise<NonNullable<unknown> | null>>()
  /** Limited by `maxSize`: with `max` the cache would reserve all its entries at once, for each push anew. */
  readonly links: LinkCache = new LRUCache<string, Link>({ maxSize: 60_000, sizeCalculation: () => 1 })
  readonly packed: PackedRefsCache

  constructor(bytes = 96 * MEGABYTE) {
    this.#values = new LRUCache({ maxSize: Math.floor(bytes / 2) })
    this.#graphs = new LRUCache({ maxSize: Math.floor(bytes / 3), sizeCalculation: ({ graph }) => graph?.bytes ?? 100 })
    this.packed = new PackedRefsCache(Math.floor(bytes / 6))
  }

  /**
   * The cached answer, or a new one; concurrent callers wait for the same one. Null is never cached: the object may
   * exist tomorrow.
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

  /** The cached answer, if there is one. */
  get<V extends NonNullable<unknown>>(directory: string, query: string): V | undefined {
    return this.#values.get(keyOf(directory, query))?.value as V | undefined
  }

  /** Caches an answer that the caller has made. */
  set(directory: string, query: string, bytes: number, value: NonNullable<unknown>) {
    const key = keyOf(directory, query)
    this.#values.set(key, { value }, { size: sizeOf(bytes, key) })
  }

  /** A repository's commit-graph as it is on the disk now; null when it has none. */
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
      // rewritten while it was read: valid, but not to be cached under this stamp
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

  /** Forgets a removed repository, so that another one in its place is not answered with it. */
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

/** Long keys, such as the union of many histories, are hashed. */
const keyOf = (directory: string, query: string) =>
  prefixOf(directory) + (query.length > 300 ? createHash('sha256').update(query).digest('base64') : query)
