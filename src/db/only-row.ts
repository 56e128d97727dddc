/** The row of a statement that returns exactly one, such as `insert … returning` of one row; throws otherwise. */
export function onlyRow<Row>(rows: Row[]): Row {
  const [row] = rows
  if (row === undefined || rows.length > 1) throw new Error(`expected one row, got ${rows.length}`)
  return row
}
