import { once } from 'node:events'
import colors from 'picocolors'
import type { OnProgress } from '../services/operations/progress.js'

/** Writes to standard output, with backpressure. */
export async function print(text: string): Promise<void> {
  if (!process.stdout.write(text)) await once(process.stdout, 'drain')
}

/** Prints a JSON value on one line. */
export const printJson = (value: unknown): Promise<void> => print(`${JSON.stringify(value)}\n`)

/** Formats a table; numbers are right-aligned, and titles are bold on a terminal. */
export function table(titles: readonly string[], rows: readonly (string | number)[][]): string {
  const lines = [titles, ...rows.map((row) => row.map(String))]
  const widths = titles.map((_, at) => Math.max(...lines.map((line) => line[at]?.length ?? 0)))
  const isNumber = titles.map((_, at) => rows.length > 0 && rows.every((row) => typeof row[at] === 'number'))
  const padded = (cell: string, at: number) => (isNumber[at] ? cell.padStart(widths[at] ?? 0) : cell.padEnd(widths[at] ?? 0))
  const { bold } = colors.createColors(process.stdout.isTTY && colors.isColorSupported)
  return lines.map((line, i) => `${(i === 0 ? bold : String)(line.map(padded).join('  ').trimEnd())}\n`).join('')
}

/**
 * Runs work with a progress bar on standard error. Without a terminal `report` is undefined, so that the work need not
 * count its items.
 */
export async function withProgress<T>(title: string, work: (report?: OnProgress) => Promise<T>): Promise<T> {
  if (!process.stderr.isTTY) return work()
  const { default: progress } = await import('cli-progress')
  const bar = new progress.SingleBar(
    { format: `${title} {bar} {value}/{total}`, clearOnComplete: true, hideCursor: true },
    progress.Presets.shades_classic,
  )
  bar.start(0, 0)
  try {
    return await work((done, all) => {
      bar.setTotal(all)
      bar.update(done)
    })
  } finally {
    bar.stop()
  }
}
