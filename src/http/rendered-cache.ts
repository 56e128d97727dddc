import { LRUCache } from 'lru-cache'

/** JSON that has been rendered before. */
export class Rendered {
  constructor(readonly text: string) {}
}

/**
 * A row of a list before it is loaded: its id, and a key that differs whenever anything shown of it to this viewer
 * differs.
 */
export interface Keyed {
  id: number
  key: string
}

interface RenderedPage {
  items: Rendered[]
  total: number
}

/** Bytes kept of rendered elements, and of pages (SEC-150). */
const CACHE_SIZE = 32 * 1024 * 1024

/**
 * Rendered elements of lists. Loading, mapping, presenting and serialising twenty rows costs several times as much as
 * asking Postgres whether they have changed. The key holds everything an element depends on, the viewer's level
 * included, so nothing is ever shown to somebody for whom it was not rendered (SEC-47).
 */
export class RenderedCache {
  /** How many elements were there, and how many were rendered. */
  hits = 0
  misses = 0
  readonly #kept = new LRUCache<string, Rendered>({ maxSize: CACHE_SIZE, sizeCalculation: ({ text }, key) => 2 * (text.length + key.length) + 200 })
  readonly #pages = new LRUCache<string, RenderedPage>({
    maxSize: CACHE_SIZE,
    sizeCalculation: ({ items }, key) => items.reduce((bytes, { text }) => bytes + 2 * text.length + 200, 2 * key.length + 200),
  })

  /** A page that never changes, made and rendered once; `key` names everything it depends on. */
  async lasting(key: string, make: () => Promise<{ items: unknown[]; total: number }>): Promise<RenderedPage> {
    const kept = this.#pages.get(key)
    if (kept) return kept
    const { items, total } = await make()
    const page = { items: items.map((item) => (item instanceof Rendered ? item : new Rendered(JSON.stringify(item)))), total }
    this.#pages.set(key, page)
    return page
  }

  /**
   * The elements for rows, in their order. `variant` names what else the rendering depends on. `load` returns missing
   * rows with their current keys; rows that no longer exist are left out.
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
      const kept = this.#kept.get(`${variant}\n${key}`)
      if (kept) found.set(id, kept)
      else missing.push(id)
    }
    this.hits += found.size
    this.misses += missing.length
    if (missing.length > 0) {
      for (const item of await load(missing)) {
        const rendered = new Rendered(JSON.stringify(present(item)))
        found.set(item.id, rendered)
        this.#kept.set(`${variant}\n${item.key}`, rendered)
      }
    }
    return rows.flatMap(({ id }) => found.get(id) ?? [])
  }

  /** Drops everything. After a crash Postgres may give numbers of lost transactions, which keys are made of, again. */
  clear(): void {
    this.#kept.clear()
    this.#pages.clear()
  }
}
