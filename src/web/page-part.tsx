import { randomBytes } from 'node:crypto'
import { type ComponentChildren, Fragment, h, type VNode } from 'preact'
import { renderToString } from 'preact-render-to-string'
import type { Slices } from '../lib/async/slices.js'

/** The parts of what is being rendered now; rendering is not interrupted. */
let collected: VNode[] | null = null
/** Stands for a part in the text around it, and in no text of others. */
const mark = `\u0001${randomBytes(12).toString('base64url')}:`
const MARKS = new RegExp(`${mark}(\\d+)\u0002`)

/** A part of a page that can be large: rendered by itself, so that others are served in between (WB-341). */
export function PagePart({ children }: { children: ComponentChildren }): VNode {
  if (!collected) return <>{children}</>
  collected.push(h(Fragment, null, children))
  return <>{`${mark}${collected.length - 1}\u0002`}</>
}

/** Lists of at most so many elements each. */
export const inChunks = <T,>(all: T[], size: number): T[][] =>
  Array.from({ length: Math.ceil(all.length / size) }, (_, i) => all.slice(i * size, (i + 1) * size))

/** The text of something, in pieces: one for each part and what stands between them. */
export async function renderInParts(slices: Slices, content: VNode): Promise<string[]> {
  const { text, parts } = await slices.run(() => {
    const own: VNode[] = []
    collected = own
    try {
      return { text: renderToString(content), parts: own }
    } finally {
      collected = null
    }
  })
  if (parts.length === 0) return [text]
  const pieces: string[] = []
  for (const [i, piece] of text.split(MARKS).entries())
    pieces.push(...(i % 2 === 0 ? [piece] : await renderInParts(slices, parts[Number(piece)] as VNode)))
  return pieces
}
