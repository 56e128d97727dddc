/** How many rows are read at once. */
export const BATCH = 500

/** The rows of a table, `BATCH` at a time, by ascending id: `read` has those after an id, limited to `BATCH`. */
export async function* batchesOf<Row>(read: (after: number) => PromiseLike<Row[]>, idOf: (row: Row) => number): AsyncGenerator<Row[]> {
  for (let after = 0; ; ) {
    const rows = await read(after)
    if (rows.length > 0) yield rows
    if (rows.length < BATCH) return
    after = idOf(rows.at(-1) as Row)
  }
}

/** The same, row by row. */
export async function* inBatches<Row>(read: (after: number) => PromiseLike<Row[]>, idOf: (row: Row) => number): AsyncGenerator<Row> {
  for await (const rows of batchesOf(read, idOf)) yield* rows
}
