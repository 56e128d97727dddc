import { rowsOf } from '../../../lib/text/csv.js'
import { Phrase } from '../../language/phrase.js'
import { inChunks, LongText, PagePart } from '../../page-part.js'

/** Rows and columns that are shown of a table. */
const MAX_ROWS = 1_000
const MAX_COLUMNS = 50
/** Rows that are rendered at once (WB-341). */
const AT_ONCE = 50

/** A file of values as a table; its first row is the head. */
export function CsvTable({ text, separator }: { text: string; separator: string }) {
  const [head = [], ...rows] = rowsOf(text, separator, MAX_ROWS + 2, MAX_COLUMNS + 1)
  const columns = Math.max(head.length, ...rows.map((row) => row.length))
  const shown = (row: string[]) => row.slice(0, MAX_COLUMNS)
  return (
    <>
      <table class="values">
        <thead>
          <tr>
            {shown(head).map((cell, i) => (
              <th key={i} scope="col">
                <LongText text={cell} />
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {inChunks(rows.slice(0, MAX_ROWS), AT_ONCE).map((chunk, n) => (
            <PagePart key={n}>
              {chunk.map((row, i) => (
                <tr key={i}>
                  {shown(row).map((cell, j) => (
                    <td key={j}>
                      <LongText text={cell} />
                    </td>
                  ))}
                </tr>
              ))}
            </PagePart>
          ))}
        </tbody>
      </table>
      {(rows.length > MAX_ROWS || columns > MAX_COLUMNS) && (
        <p class="note dim">
          <Phrase
            text="Only the first {maxrows} rows and {maxcolumns} columns are shown; the source has all."
            maxrows={MAX_ROWS}
            maxcolumns={MAX_COLUMNS}
          />
        </p>
      )}
    </>
  )
}
