/**
 * The cells of comma-separated values, where quotes may hold separators and line breaks; at most so many rows, and so
 * many cells of each.
 */
export function rowsOf(text: string, separator: string, limit: number, columns = Number.POSITIVE_INFINITY): string[][] {
  const [SEPARATOR, QUOTE, LINE, RETURN] = [separator.charCodeAt(0), 0x22, 0x0a, 0x0d]
  const rows: string[][] = []
  let row: string[] = []
  let cell = ''
  /** Where the part of the cell begins that is not in `cell` yet. */
  let from = 0
  let quoted = false
  /** Whether the cell has begun without quotes, so that those in it are of its text. */
  let bare = false
  // letter by letter, a megabyte takes a tenth of a second
  const take = (end: number) => {
    const part = text.slice(from, end)
    if (quoted) cell += part.includes('""') ? part.split('""').join('"') : part
    else cell += part.includes('\r') ? part.split('\r').join('') : part
    from = end
  }
  const endCell = (end: number) => {
    if (row.length < columns) {
      take(end)
      row.push(cell)
    }
    cell = ''
    bare = false
  }
  let at = 0
  for (; at < text.length && rows.length < limit; at++) {
    const letter = text.charCodeAt(at)
    if (quoted) {
      if (letter !== QUOTE) continue
      if (text.charCodeAt(at + 1) === QUOTE) at++
      else {
        take(at)
        from = at + 1
        quoted = false
      }
    } else if (letter === QUOTE) {
      if (bare || cell !== '') continue
      take(at)
      from = at + 1
      quoted = true
    } else if (letter === SEPARATOR) {
      endCell(at)
      from = at + 1
    } else if (letter === LINE) {
      endCell(at)
      rows.push(row)
      row = []
      from = at + 1
    } else if (letter !== RETURN) bare = true
  }
  if (rows.length === limit) return rows
  take(at)
  if (cell !== '' || row.length > 0) rows.push(row.length < columns ? [...row, cell] : row)
  return rows
}
