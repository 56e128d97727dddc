/** Rows after or before an id; with `pagination`, the page is the first of them, if they are in the order of ids (G-91). */
export interface Keyset {
  pagination?: 'keyset' | 'legacy' | undefined
  id_after?: number | undefined
  id_before?: number | undefined
}

/** Whether pages begin after a row, not at a number. A list without a choice of orders is asked only if it is in the order of ids. */
export const isKeyset = ({ pagination, order_by = 'id' }: Keyset & { order_by?: string }) => pagination === 'keyset' && order_by === 'id'
