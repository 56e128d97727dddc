import { createHash } from 'node:crypto'

/** Cells per side. */
const CELLS = 5
/** Size of a cell, and of the margin, in units of the drawing. */
const CELL = 14
const MARGIN = 5

/** A small symmetric one-colour pattern as SVG, determined by the seed. */
export function identicon(seed: string): string {
  const bytes = createHash('sha256').update(seed).digest()
  const bit = (n: number) => ((bytes[n >> 3] ?? 0) >> (n & 7)) & 1
  const half = Math.ceil(CELLS / 2)
  const cells: string[] = []
  for (let row = 0; row < CELLS; row++) {
    for (let column = 0; column < CELLS; column++) {
      // the right half mirrors the left one
      if (bit(row * half + Math.min(column, CELLS - 1 - column)))
        cells.push(`M${MARGIN + column * CELL} ${MARGIN + row * CELL}h${CELL}v${CELL}h-${CELL}z`)
    }
  }
  const hue = Math.round((((bytes[30] ?? 0) * 256 + (bytes[31] ?? 0)) / 65_536) * 360)
  const side = CELLS * CELL + 2 * MARGIN
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${side}" height="${side}" viewBox="0 0 ${side} ${side}"><path fill="#f0f0f0" d="M0 0h${side}v${side}H0z"/><path fill="hsl(${hue},55%,50%)" d="${cells.join('')}"/></svg>`
}
