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

/** Values for `.limit` and `.offset`; a page beyond any table is empty, not an error (SEC-53). */
export const limits = ({ page, per_page }: Paging) => ({ limit: per_page, offset: Math.min((page - 1) * per_page, 2 ** 52) })

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
export async function pageFrom<T extends { total: number }>(query: PageQuery<T>, values: Record<string, unknown>, paging: Paging): Promise<Page<T>> {
  const items = await query.execute({ ...values, ...limits(paging) })
  if (items.length > 0 || paging.page === 1) return { items, total: items[0]?.total ?? 0 }
  const [first] = await query.execute({ ...values, limit: 1, offset: 0 })
  return { items, total: first?.total ?? 0 }
}

/** A page of one query, with the total of another: for lists that are too long to count with every page. */
export async function pageAndTotal<T>(
  query: PageQuery<T>,
  totals: { execute(values: Record<string, unknown>): Promise<{ total: number }[]> },
  values: Record<string, unknown>,
  paging: Paging,
): Promise<Page<T>> {
  const [items, [all]] = await Promise.all([query.execute({ ...values, ...limits(paging) }), totals.execute(values)])
  return { items, total: all?.total ?? 0 }
}
