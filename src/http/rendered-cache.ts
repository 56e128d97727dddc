import { LRUCache } from 'lru-cache'
import { countLookups } from '../lib/async/call-times.js'

/** JSON that has already been rendered. */
export class Rendered {
  constructor(readonly text: string) {}
}

/**
 * A row of a list before it is loaded: its id, and a key that changes whenever anything that this viewer sees of it
 * changes.
 */
export interface Keyed {
  id: number
  key: string
}

interface RenderedPage {
  items: Rendered[]
  total: number
}

/** Maximum size of the cached elements, and of the cached pages, in bytes (SEC-150). */
const MAX_CACHE_BYTES = 32 * 1024 * 1024

/**
 * A cache of rendered list elements: loading, mapping, presenting and serialising twenty rows costs several times as
 * much as asking Postgres whether they have changed. The key contains everything that an element depends on, including
 * the access level of the viewer, so that an element is only shown to viewers for which it was rendered (SEC-47).
 */
export class RenderedCache {
  /** Elements found in the cache, and elements rendered. */
  hits = 0
  misses = 0
  readonly #elements = new LRUCache<string, Rendered>({
    maxSize: MAX_CACHE_BYTES,
    sizeCalculation: ({ text }, key) => 2 * (text.length + key.length) + 200,
  })
  readonly #pages = new LRUCache<string, RenderedPage>({
    maxSize: MAX_CACHE_BYTES,
    sizeCalculation: ({ items }, key) => items.reduce((bytes, { text }) => bytes + 2 * text.length + 200, 2 * key.length + 200),
  })

  /** Returns an immutable page, rendered once; `key` contains everything that it depends on. */
  async immutablePage(key: string, make: () => Promise<{ items: unknown[]; total: number }>): Promise<RenderedPage> {
    const cached = this.#pages.get(key)
    if (cached) return cached
    const { items, total } = await make()
    const page = { items: items.map((item) => (item instanceof Rendered ? item : new Rendered(JSON.stringify(item)))), total }
    this.#pages.set(key, page)
    return page
  }

  /**
   * The rendered elements of rows, in their order. `variant` contains everything else that the rendering depends on.
   * `load` returns missing rows with their current keys; rows that no longer exist are left out.
   */
  async render<T extends Keyed>(
    variant: string,
    rows: Keyed[],
    load: (ids: number[]) => Promise<T[]>,
    present: (item: NoInfer<T>) => unknown,
  ): Promise<Rendered[]> {
    const found = new Map<number, Rendered>()
    const missing: number[] = []
    for (const { id, key } of rows) {
      const cached = this.#elements.get(`${variant}\n${key}`)
      if (cached) found.set(id, cached)
      else missing.push(id)
    }
    this.hits += found.size
    this.misses += missing.length
    countLookups(found.size, missing.length)
    if (missing.length > 0) {
      for (const item of await load(missing)) {
        const rendered = new Rendered(JSON.stringify(present(item)))
        found.set(item.id, rendered)
        this.#elements.set(`${variant}\n${item.key}`, rendered)
      }
    }
    return rows.flatMap(({ id }) => found.get(id) ?? [])
  }

  /** Clears the cache. After a crash Postgres may reuse ids of lost transactions, which are part of the keys. */
  clear(): void {
    this.#elements.clear()
    this.#pages.clear()
  }
}
