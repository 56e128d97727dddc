import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { LRUCache } from 'lru-cache'
import type { Database } from '../../db/client.js'
import { listVersions } from '../../db/schema/index.js'
import { statement } from '../../db/statement.js'
import { limits, type Page, type Paging } from './page.js'

type ProjectListKind = 'issues' | 'merge_requests'
export type ListKind = Exclude<(typeof listVersions.$inferSelect)['kind'], ProjectListKind>

/** The version of a list that something was read at; null: unknown. */
export type Version = string | null

/** Characters of keys, and bytes of ids, that are cached (SEC-150). */
const CACHE_SIZE = 4 * 1024 * 1024
const KEPT_IDS = 16 * 1024 * 1024

/** Ids that are read and cached at once. */
export const LONGEST = 10_000

/** How a list is read, see `ListCache.whole`. */
export interface ListQuery<T> {
  /** Ids in the order of the list. */
  ids(at: { limit: number; offset: number }): PromiseLike<{ ids: string; version: Version }[]>
  count(): PromiseLike<{ total: number; version: Version }[]>
  /** What the total depends on, if that can be named where ids and order cannot. */
  counts?: string | null
  /** Rows of these ids, in no order, each with the version; without those that the caller does not see. */
  rows(ids: number[]): PromiseLike<T[]>
}

/**
 * Exact totals of lists, counted once for each version of a list: counting ten thousand rows costs more than reading a
 * page of twenty. The version is read in the same statement as the page, so every process sees every change; the
 * database raises it by itself with whatever changes what lists filter or sort by. Not for reads within a transaction
 * that has written: these see its own changes too, which no other version number stands for.
 */
export class ListCache {
  /** How often a total was known, and how often it was counted. */
  hits = 0
  misses = 0
  readonly #known = new LRUCache<string, number>({ maxSize: CACHE_SIZE, sizeCalculation: (_, key) => key.length + 50 })
  readonly #lists = new LRUCache<string, { version: Version; ids: Float64Array }>({
    maxSize: KEPT_IDS,
    sizeCalculation: ({ ids }, key) => ids.byteLength + 2 * key.length + 200,
  })

  readonly #totals = new LRUCache<string, { version: Version; totals: number[] }>({
    maxSize: CACHE_SIZE,
    sizeCalculation: ({ version, totals }, key) => key.length + (version?.length ?? 0) + 8 * totals.length + 100,
  })

  /**
   * Totals of the lists behind each of these ids, such as the issues that have a label; `count` reads them with their
   * version. `key` names everything else that they depend on. Without a version all are counted.
   */
  async totalsOf(
    key: string,
    version: Version,
    ids: number[],
    count: (ids: number[]) => PromiseLike<{ id: number; version: Version; totals: number[] }[]>,
  ): Promise<Map<number, number[]>> {
    const found = new Map<number, number[]>()
    for (const id of ids) {
      const kept = version === null ? undefined : this.#totals.get(`${key} ${id}`)
      if (kept?.version === version) found.set(id, kept.totals)
    }
    const missing = ids.filter((id) => !found.has(id))
    this.hits += found.size
    this.misses += missing.length
    for (const { id, version, totals } of missing.length > 0 ? await count(missing) : []) {
      found.set(id, totals)
      if (version !== null) this.#totals.set(`${key} ${id}`, { version, totals })
    }
    return found
  }

  /**
   * A page with its total. `rows` carry the version; `key` names everything else that the total depends on. Without a
   * key, a version or a row it is counted again.
   */
  async page<T extends { version: Version }>(
    kind: ListKind | ProjectListKind,
    key: string | null,
    rows: T[],
    { page, per_page }: Paging,
    count: () => PromiseLike<{ total: number; version: Version }[]>,
  ): Promise<Page<T>> {
    // the only page, and not full
    if (page === 1 && rows.length < per_page) return { items: rows, total: rows.length }
    return { items: rows, total: (await this.total(kind, key, rows[0]?.version ?? null, count)).total }
  }

  /** The total of a list that is at this version, and the version at which it was counted. */
  async total(
    kind: ListKind | ProjectListKind,
    key: string | null,
    version: Version,
    count: () => PromiseLike<{ total: number; version: Version }[]>,
  ): Promise<{ total: number; version: Version }> {
    const known = version && key !== null ? this.#known.get(`${kind} ${version} ${key}`) : undefined
    if (known !== undefined) {
      this.hits++
      return { total: known, version }
    }
    this.misses++
    const [counted = { total: 0, version: null }] = await count()
    if (counted.version && key !== null) this.#known.set(`${kind} ${counted.version} ${key}`, counted.total)
    return counted
  }

  /**
   * A page of a list whose ids are read once for each version, in windows of up to `LONGEST`: finding out whom a list
   * of thousands is open to costs more than reading the rows of one page, wherever that is. `key` names everything else
   * that ids and order depend on; null: that cannot be named.
   */
  async whole<T extends { id: number; version: Version }>(
    db: Database,
    kind: ListKind,
    key: string | null,
    paging: Paging,
    list: ListQuery<T>,
  ): Promise<Page<T>> {
    const { limit, offset } = limits(paging)
    // the longest window that ends with a page; for pages of 20, 50 and 100 the same one
    const span = key === null ? limit : Math.max(1, Math.floor(LONGEST / limit)) * limit
    const start = offset - (offset % span)
    const pageOf = (ids: Float64Array) => [...ids.subarray(offset - start, offset - start + limit)]
    const name = `${kind} ${start} ${span} ${key}`
    const kept = key === null ? undefined : this.#lists.get(name)
    const wanted = kept ? pageOf(kept.ids) : []
    if (kept && wanted.length === 0) {
      const [now] = await stateOf(db, kind).execute()
      if (now?.version === kept.version) return { items: [], total: start + kept.ids.length }
    }
    const read = wanted.length > 0 ? await list.rows(wanted) : []
    const isAt = (version: Version | undefined) => read.length > 0 && read.length === wanted.length && read.every((row) => row.version === version)
    const page = async (ids: Float64Array, items: T[]): Promise<Page<T>> => {
      // the last window
      if (ids.length < span && (ids.length > 0 || start === 0)) return { items, total: start + ids.length }
      return this.page(kind, key ?? list.counts ?? null, items, paging, list.count)
    }
    if (kept && isAt(kept.version)) return page(kept.ids, inOrder(wanted, read))
    const [found] = await list.ids({ limit: span, offset: start })
    const ids = idsOf(found?.ids)
    if (key !== null && found?.version && ids.length > 0) this.#lists.set(name, { version: found.version, ids })
    const these = pageOf(ids)
    // something else has changed: the page that was read is the right one
    const same = isAt(found?.version) && these.length === wanted.length && these.every((id, i) => id === wanted[i])
    return page(ids, inOrder(these, same || these.length === 0 ? read : await list.rows(these)))
  }

  /** Drops everything. A crash of Postgres may undo commits that were read, and their numbers are given once more. */
  clear(): void {
    this.#known.clear()
    this.#lists.clear()
    this.#totals.clear()
  }
}

const idsOf = (text = '{}') => Float64Array.from(text === '{}' ? [] : text.slice(1, -1).split(','), Number)

function inOrder<T extends { id: number }>(ids: number[], rows: T[]): T[] {
  const byId = new Map(rows.map((row) => [row.id, row]))
  return ids.flatMap((id) => byId.get(id) ?? [])
}

/** The ids of a query as one text, which is cheaper to send and to parse than rows; for `ListQuery.ids`. */
export const idList = (query: SQL) => sql<string>`array(${query})::text`

/**
 * A column of list queries: the version of the list and, because memberships and shares end by date (ME-10), the day.
 */
export const versionOf = (kind: ListKind) =>
  sql<Version>`(select coalesce(sum(v.version), 0) || ' ' || (now() at time zone 'utc')::date from ${listVersions} v where v.kind = ${kind})`

const stateOf = statement('version of a list', (db, kind: ListKind) => db.select({ version: versionOf(kind) }).from(sql`(select 1) as one`))

/** The same for those of all projects, which change also with who sees which project. */
export const everywhereVersionOf = (kind: ProjectListKind) =>
  sql<Version>`(select coalesce(sum(v.version), 0) || ' ' || (now() at time zone 'utc')::date from ${listVersions} v where v.kind in (${kind}, 'projects'))`

/** The same for issues or merge requests of one project; changes in a few other projects raise it as well. */
export const projectVersionOf = (kind: ProjectListKind, projectId: SQLWrapper) =>
  sql<Version>`(select coalesce(sum(v.version), 0)::text from ${listVersions} v where v.kind = ${kind} and v.bucket = ${projectId} % 256)`
