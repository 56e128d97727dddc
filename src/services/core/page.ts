import { type Placeholder, type SQLWrapper, sql } from 'drizzle-orm'
import type { Filters } from '../../db/filters.js'
import { isKeyset, type Keyset } from '../../lib/keyset.js'

/** One page of a list. */
export interface Page<T> {
  items: T[]
  /** The total over all pages. */
  total: number
}

/** The requested page: `page` from 1, `per_page` 1 to 100. */
export interface Paging {
  page: number
  per_page: number
}

/** Values for `.limit`, `.offset` and `afterRow`; a page beyond any table is empty, not an error (SEC-53). */
export const limits = ({ page, per_page, ...keyset }: Paging & Keyset & { order_by?: string }) => ({
  limit: per_page,
  offset: isKeyset(keyset) ? 0 : Math.min((page - 1) * per_page, 2 ** 52),
  id_after: keyset.id_after ?? 0,
  id_before: keyset.id_before ?? Number.MAX_SAFE_INTEGER,
})

type Bounds = Record<'id_after' | 'id_before', number | Placeholder>
const BOUNDS = { id_after: sql.placeholder('id_after'), id_before: sql.placeholder('id_before') }

/** Restricts a list to the rows that `id_after` and `id_before` leave. */
export const afterRow = (id: SQLWrapper, { id_after, id_before }: Bounds = BOUNDS) =>
  sql`(${id} > ${id_after}::bigint and ${id} < ${id_before}::bigint)`

/** The same as filters of a long list, whose plan depends on whether they are there. */
export const rowFilters = (id: SQLWrapper) =>
  ({
    id_after: { where: (value) => sql`${id} > ${value}::bigint`, value: ({ id_after }) => id_after },
    id_before: { where: (value) => sql`${id} < ${value}::bigint`, value: ({ id_before }) => id_before },
  }) satisfies Filters<Keyset>

/** The requested page of a list that is already in memory. */
export function slice<T>(items: T[], paging: Paging): Page<T> {
  const { limit, offset } = limits(paging)
  return { items: items.slice(offset, offset + limit), total: items.length }
}

/** A prepared read with the placeholders `limit` and `offset`. */
interface PageQuery<T> {
  execute(values: Record<string, unknown> & ReturnType<typeof limits>): Promise<T[]>
}

/** A page of a query whose rows carry the total. A page beyond the last has no row, so the total is read from the first row. */
export async function pageFrom<T extends { total: number }>(
  query: PageQuery<T>,
  values: Record<string, unknown>,
  paging: Paging & Keyset,
): Promise<Page<T>> {
  const at = { ...values, ...limits(paging) }
  const items = await query.execute(at)
  if (items.length > 0 || at.offset === 0) return { items, total: items[0]?.total ?? 0 }
  const [first] = await query.execute({ ...at, limit: 1, offset: 0 })
  return { items, total: first?.total ?? 0 }
}

/** A page of one query, with the total of another: for lists that are too long to count with every page. */
export async function pageAndTotal<T>(
  query: PageQuery<T>,
  totals: { execute(values: Record<string, unknown>): Promise<{ total: number }[]> },
  values: Record<string, unknown>,
  paging: Paging & Keyset,
): Promise<Page<T>> {
  const at = { ...values, ...limits(paging) }
  const [items, [all]] = await Promise.all([query.execute(at), totals.execute(at)])
  return { items, total: all?.total ?? 0 }
}
