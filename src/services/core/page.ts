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

/** A page whose rows carry the total. A page beyond the last has no row, so the total is read from `first`. */
export async function pageFrom<T extends { total: number }>(rows: T[], paging: Paging, first: () => Promise<T[]>): Promise<Page<T>> {
  if (rows.length > 0 || paging.page === 1) return { items: rows, total: rows[0]?.total ?? 0 }
  return { items: [], total: (await first())[0]?.total ?? 0 }
}
