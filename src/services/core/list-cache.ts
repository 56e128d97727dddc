import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { LRUCache } from 'lru-cache'
import type { Database } from '../../db/client.js'
import { listVersions } from '../../db/schema/index.js'
import { statement } from '../../db/statement.js'
import { countLookups } from '../../lib/async/call-times.js'
import { limits, type Page, type Paging } from './page.js'

type ProjectListKind = 'issues' | 'merge_requests'
export type ListKind = Exclude<(typeof listVersions.$inferSelect)['kind'], ProjectListKind>

/** The version of a list at the time of a read; null when unknown. */
export type Version = string | null

/** Approximate bytes of cached totals, and of cached id lists (SEC-150). */
const MAX_CACHE_SIZE = 4 * 1024 * 1024
const MAX_ID_BYTES = 16 * 1024 * 1024

/** How many ids are read and cached at once. */
export const MAX_CACHED_IDS = 10_000

/** How a list is read; see `ListCache.pageByIds`. */
export interface ListQuery<T> {
  /** Ids in the order of the list. */
  ids(at: { limit: number; offset: number }): PromiseLike<{ ids: string; version: Version }[]>
  /** Null for lists that are not counted: their total is one more than what is before the end of the page, if there is more. */
  count: (() => PromiseLike<{ total: number; version: Version }[]>) | null
  /** The cache key of the total, for lists whose ids cannot be cached but whose total can. */
  totalKey?: string | null
  /** Rows of these ids in any order, each with the version, without rows that the caller may not see. */
  rows(ids: number[]): PromiseLike<T[]>
}

/**
 * Caches exact totals of lists per version of the list, because counting ten thousand rows costs more than reading a
 * page of twenty. The version is read in the same statement as the page, so every process sees every change; database
 * triggers raise it when anything changes that lists filter or sort by. Do not use it within a transaction that has
 * written: its own uncommitted changes have no version yet.
 */
export class ListCache {
  /** Cache hits and misses. */
  hits = 0
  misses = 0
  readonly #known = new LRUCache<string, number>({ maxSize: MAX_CACHE_SIZE, sizeCalculation: (_, key) => key.length + 50 })
  readonly #lists = new LRUCache<string, { version: Version; ids: Float64Array }>({
    maxSize: MAX_ID_BYTES,
    sizeCalculation: ({ ids }, key) => ids.byteLength + 2 * key.length + 200,
  })

  readonly #totals = new LRUCache<string, { version: Version; totals: number[] }>({
    maxSize: MAX_CACHE_SIZE,
    sizeCalculation: ({ version, totals }, key) => key.length + (version?.length ?? 0) + 8 * totals.length + 100,
  })

  /**
   * Totals of the list behind each id, such as the issues that have a label; `count` reads missing ones with their
   * version. `key` must contain everything else that the totals depend on. Without a version nothing is cached.
   */
  async totalsOf(
    key: string,
    version: Version,
    ids: number[],
    count: (ids: number[]) => PromiseLike<{ id: number; version: Version; totals: number[] }[]>,
  ): Promise<Map<number, number[]>> {
    const found = new Map<number, number[]>()
    for (const id of ids) {
      const cached = version === null ? undefined : this.#totals.get(`${key} ${id}`)
      if (cached?.version === version) found.set(id, cached.totals)
    }
    const missing = ids.filter((id) => !found.has(id))
    this.hits += found.size
    this.misses += missing.length
    countLookups(found.size, missing.length)
    for (const { id, version, totals } of missing.length > 0 ? await count(missing) : []) {
      found.set(id, totals)
      if (version !== null) this.#totals.set(`${key} ${id}`, { version, totals })
    }
    return found
  }

  /**
   * A page with its total. `rows` carry the version; `key` must contain everything else that the total depends on.
   * Without a key, a version or a row, the total is counted again.
   */
  async page<T extends { version: Version }>(
    kind: ListKind | ProjectListKind,
    key: string | null,
    rows: T[],
    { page, per_page }: Paging,
    count: () => PromiseLike<{ total: number; version: Version }[]>,
  ): Promise<Page<T>> {
    // the first page is not full, so it is the only one
    if (page === 1 && rows.length < per_page) return { items: rows, total: rows.length }
    return { items: rows, total: (await this.total(kind, key, rows[0]?.version ?? null, count)).total }
  }

  /** The total of a list at a version, with the version at which it was counted. */
  async total(
    kind: ListKind | ProjectListKind,
    key: string | null,
    version: Version,
    count: () => PromiseLike<{ total: number; version: Version }[]>,
  ): Promise<{ total: number; version: Version }> {
    const known = version && key !== null ? this.#known.get(`${kind} ${version} ${key}`) : undefined
    if (known !== undefined) {
      this.hits++
      countLookups(1, 0)
      return { total: known, version }
    }
    this.misses++
    countLookups(0, 1)
    const [counted = { total: 0, version: null }] = await count()
    if (counted.version && key !== null) this.#known.set(`${kind} ${counted.version} ${key}`, counted.total)
    return counted
  }

  /**
   * A page of a list whose ids are cached per version, in windows of up to `MAX_CACHED_IDS`: filtering thousands of
   * rows by visibility costs more than reading the rows of any one page. `key` must contain everything else that the
   * ids and their order depend on; null when that is not possible, in which case the ids are not cached.
   */
  async pageByIds<T extends { id: number; version: Version }>(
    db: Database,
    kind: ListKind,
    key: string | null,
    paging: Paging,
    list: ListQuery<T>,
  ): Promise<Page<T>> {
    const { limit, offset } = limits(paging)
    // the longest window that holds whole pages; the same one for pages of 20, 50 and 100
    const span = key === null ? limit : Math.max(1, Math.floor(MAX_CACHED_IDS / limit)) * limit
    const start = offset - (offset % span)
    const pageOf = (ids: Float64Array) => [...ids.subarray(offset - start, offset - start + limit)]
    const read = list.count ? span : span + 1
    const name = `${kind} ${start} ${read} ${key}`
    const cached = key === null ? undefined : this.#lists.get(name)
    const cachedPage = cached ? pageOf(cached.ids) : []
    if (cached && cachedPage.length === 0) {
      const [now] = await selectVersion(db, kind).execute()
      if (now?.version === cached.version) return { items: [], total: start + cached.ids.length }
    }
    const loaded = cachedPage.length > 0 ? await list.rows(cachedPage) : []
    const isAt = (version: Version | undefined) =>
      loaded.length > 0 && loaded.length === cachedPage.length && loaded.every((row) => row.version === version)
    const page = async (ids: Float64Array, items: T[]): Promise<Page<T>> => {
      // the last window
      if (!list.count || (ids.length < span && (ids.length > 0 || start === 0))) return { items, total: start + ids.length }
      return this.page(kind, key ?? list.totalKey ?? null, items, paging, list.count)
    }
    if (cached && isAt(cached.version)) return page(cached.ids, inOrder(cachedPage, loaded))
    const [found] = await list.ids({ limit: read, offset: start })
    const ids = parseIds(found?.ids)
    if (key !== null && found?.version && ids.length > 0) this.#lists.set(name, { version: found.version, ids })
    const currentPage = pageOf(ids)
    // the version was raised by a change that does not affect this page: the rows already read are current
    const unchanged = isAt(found?.version) && currentPage.length === cachedPage.length && currentPage.every((id, i) => id === cachedPage[i])
    return page(ids, inOrder(currentPage, unchanged || currentPage.length === 0 ? loaded : await list.rows(currentPage)))
  }

  /** Empties the cache. A crash of Postgres may lose commits that were already read, and it reuses their versions. */
  clear(): void {
    this.#known.clear()
    this.#lists.clear()
    this.#totals.clear()
  }
}

const parseIds = (text = '{}') => Float64Array.from(text === '{}' ? [] : text.slice(1, -1).split(','), Number)

function inOrder<T extends { id: number }>(ids: number[], rows: T[]): T[] {
  const byId = new Map(rows.map((row) => [row.id, row]))
  return ids.flatMap((id) => byId.get(id) ?? [])
}

/** The ids of a query as one string, which is cheaper to transfer and parse than rows; for `ListQuery.ids`. */
export const idList = (query: SQL) => sql<string>`array(${query})::text`

/**
 * A column of list queries: the version of the list and the current date, because memberships and shares expire by date
 * (ME-10).
 */
export const versionOf = (kind: ListKind) =>
  sql<Version>`(select coalesce(sum(v.version), 0) || ' ' || (now() at time zone 'utc')::date from ${listVersions} v where v.kind = ${kind})`

const selectVersion = statement('version of a list', (db, kind: ListKind) => db.select({ version: versionOf(kind) }).from(sql`(select 1) as one`))

/** The version of the lists over all projects, which also depend on who may see which project. */
export const everywhereVersionOf = (kind: ProjectListKind) =>
  sql<Version>`(select coalesce(sum(v.version), 0) || ' ' || (now() at time zone 'utc')::date from ${listVersions} v where v.kind in (${kind}, 'projects'))`

/** The version of the lists of one project. Projects share 256 buckets, so changes in others may raise it as well. */
export const projectVersionOf = (kind: ProjectListKind, projectId: SQLWrapper) =>
  sql<Version>`(select coalesce(sum(v.version), 0)::text from ${listVersions} v where v.kind = ${kind} and v.bucket = ${projectId} % 256)`
