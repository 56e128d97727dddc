import { sql } from 'drizzle-orm'
import { LRUCache } from 'lru-cache'
import type { Transaction } from '../db/client.js'
import { listVersions } from '../db/schema/index.js'
import type { Page, Paging } from './page.js'

export type ListKind = (typeof listVersions.$inferSelect)['kind']

/** Characters of keys that are kept (SEC-150). */
const KEPT = 4 * 1024 * 1024

/** Exact totals of lists, each counted once while nothing changes: to count ten thousand rows costs more than to read a page of twenty. The version of the list is read in the same statement as the page, so every process sees every change. */
export class Totals {
  readonly #known = new LRUCache<string, number>({ maxSize: KEPT, sizeCalculation: (_, key) => key.length + 50 })

  /** A page with its total. `rows` carry the version; `key` names all that the total depends on beside it. Without a key, a version or a row it is counted anew. */
  async page<T extends { version: number | null }>(
    kind: ListKind | 'issues',
    key: string | null,
    rows: T[],
    { page, per_page }: Paging,
    count: () => PromiseLike<{ total: number; version: number | null }[]>,
  ): Promise<Page<T>> {
    // the only page, and not full
    if (page === 1 && rows.length < per_page) return { items: rows, total: rows.length }
    const version = rows[0]?.version
    const known = version && key !== null ? this.#known.get(`${kind} ${version} ${key}`) : undefined
    if (known !== undefined) return { items: rows, total: known }
    const [counted] = await count()
    const total = counted?.total ?? 0
    if (counted?.version && key !== null) this.#known.set(`${kind} ${counted.version} ${key}`, total)
    return { items: rows, total }
  }
}

/** A column of list queries. */
export const versionOf = (kind: ListKind) =>
  sql<number | null>`(select v.version from ${listVersions} v where v.kind = ${kind})`.mapWith((value) => (value === null ? null : Number(value)))

/** Tells that rows of a kind came, went or changed in what their lists filter by. It belongs at the end of the transaction that changed them: from there to the commit others wait who change the same kind. */
export async function touchList(tx: Pick<Transaction, 'insert'>, kind: ListKind): Promise<void> {
  await tx
    .insert(listVersions)
    .values({ kind, version: 1 })
    .onConflictDoUpdate({ target: listVersions.kind, set: { version: sql`${listVersions.version} + 1` } })
}
