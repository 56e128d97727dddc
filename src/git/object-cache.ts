import { createHash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { type CommitGraph, graphStamp, readGraph } from './history/commit-graph.js'
import type { Link, LinkCache } from './history/history.js'
import { type PackedCache, packedCache } from './refs/ref-store.js'

const MEGABYTE = 1_048_576

/** What was read before, of all repositories, bounded in bytes (SEC-150). All but the stamped parts follows from object ids and never grows stale. */
export class Memory {
  readonly #answers: LRUCache<string, { value: NonNullable<unknown> }>
  readonly #graphs: LRUCache<string, { stamp: string; graph: CommitGraph | null }>
  readonly #making = new Map<string, Promise<NonNullable<unknown> | null>>()
  readonly links: LinkCache = new LRUCache<string, Link>({ max: 60_000 })
  readonly packed: PackedCache

  constructor(bytes = 96 * MEGABYTE) {
    this.#answers = new LRUCache({ maxSize: Math.floor(bytes / 2) })
    this.#graphs = new LRUCache({ maxSize: Math.floor(bytes / 3), sizeCalculation: ({ graph }) => graph?.bytes ?? 100 })
    this.packed = packedCache(Math.floor(bytes / 6))
  }

  /** The answer from before, or made now; who asks the same meanwhile waits for it. Null is never remembered: it may exist tomorrow. */
  async answer<V extends NonNullable<unknown>>(
    directory: string,
    about: string,
    size: (value: V) => number,
    make: () => Promise<V | null>,
  ): Promise<V | null> {
    const key = keyOf(directory, about)
    const known = this.#answers.get(key)
    if (known) return known.value as V
    const running = this.#making.get(key) as Promise<V | null> | undefined
    if (running) return running
    const making = make()
    this.#making.set(key, making)
    try {
      const value = await making
      if (value !== null) this.#answers.set(key, { value }, { size: sizeOf(size(value), key) })
      return value
    } finally {
      this.#making.delete(key)
    }
  }

  /** The answer from before, if there is one that was kept. */
  known<V extends NonNullable<unknown>>(directory: string, about: string): V | undefined {
    return this.#answers.get(keyOf(directory, about))?.value as V | undefined
  }

  /** Remembers an answer that somebody made himself. */
  keep(directory: string, about: string, bytes: number, value: NonNullable<unknown>) {
    const key = keyOf(directory, about)
    this.#answers.set(key, { value }, { size: sizeOf(bytes, key) })
  }

  /** A repository's commit-graph as it is on disk now; null when it has none. */
  async graph(directory: string): Promise<CommitGraph | null> {
    const stamp = graphStamp(directory)
    const known = this.#graphs.get(directory)
    if (known?.stamp === stamp) return known.graph
    const key = `${directory} graph ${stamp}`
    const running = this.#making.get(key) as Promise<CommitGraph | null> | undefined
    if (running) return running
    const making = readGraph(directory)
    this.#making.set(key, making as Promise<NonNullable<unknown> | null>)
    try {
      const graph = await making
      // rewritten while it was read: right as it is, but not to be kept under this stamp
      if (graphStamp(directory) === stamp) this.#graphs.set(directory, { stamp, graph })
      return graph
    } finally {
      this.#making.delete(key)
    }
  }

  /** A removed repository leaves nothing behind that another one in its place could be answered with. */
  forget(directory: string) {
    const prefix = prefixOf(directory)
    for (const key of this.#answers.keys()) if (key.startsWith(prefix)) this.#answers.delete(key)
    this.#graphs.delete(directory)
    this.packed.delete(directory)
  }
}

const sizeOf = (bytes: number, key: string) => Math.ceil(bytes) + key.length * 2 + 200

const prefixOf = (directory: string) => `${directory}\0`

/** Long questions, such as the union of many histories, are remembered by their hash. */
const keyOf = (directory: string, about: string) =>
  prefixOf(directory) + (about.length > 300 ? createHash('sha256').update(about).digest('base64') : about)
