import { randomBytes } from 'node:crypto'
import { type ComponentChildren, Fragment, h, type VNode } from 'preact'
import { renderToString } from 'preact-render-to-string'
import type { Slices } from '../lib/async/slices.js'
import { wholeEnd } from '../lib/text/whole-end.js'
import { iconsIn } from './components/icon.js'

/** What was rendered: its bytes, and the names of the icons that it uses. */
export interface Rendering {
  bytes: Buffer
  icons: ReadonlySet<string>
}

/** A part that is rendered when all others are. */
interface Last {
  last: VNode
}

type Part = VNode | Rendering | Last

/** The parts of what is being rendered now; rendering is not interrupted. */
let collected: Part[] | null = null
/** Stands for a part in the text around it, and in no text of others. */
const mark = `\u0001${randomBytes(12).toString('base64url')}:`
const MARKS = new RegExp(`${mark}(\\d+)\u0002`)

/** A part of a page that can be large: rendered by itself, so that others are served in between (WB-341). */
export function PagePart({ children }: { children: ComponentChildren }): VNode {
  const part = h(Fragment, null, children)
  return collected ? placeOf(part) : part
}

/** A part of a page that depends on what the rest of it shows. */
export function LastPart({ children }: { children: ComponentChildren }): VNode {
  const part = h(Fragment, null, children)
  return collected ? placeOf({ last: part }) : part
}

/** A part of a page that was rendered before it. */
export const RenderedPart = ({ part }: { part: Rendering }): VNode => placeOf(part)

function placeOf(part: Part): VNode {
  if (!collected) throw new Error('a part was rendered outside of a page')
  collected.push(part)
  return <>{`${mark}${collected.length - 1}\u0002`}</>
}

/** Lists of at most so many elements each. */
export const inChunks = <T,>(all: T[], size: number): T[][] =>
  Array.from({ length: Math.ceil(all.length / size) }, (_, i) => all.slice(i * size, (i + 1) * size))

/** Characters of a text that are escaped at once. */
const TEXT_PIECE = 32_768

/** A text that may have a megabyte, escaped piece by piece (WB-341). */
export function LongText({ text }: { text: string }): VNode {
  if (text.length <= TEXT_PIECE) return <>{text}</>
  const pieces: VNode[] = []
  for (let from = 0; from < text.length; ) {
    const end = wholeEnd(text, from + TEXT_PIECE)
    pieces.push(<PagePart key={from}>{text.slice(from, end)}</PagePart>)
    from = end
  }
  return <>{pieces}</>
}

/** Renders something piece by piece: each part and what stands between them. */
export async function renderInParts(slices: Slices, content: VNode): Promise<Rendering> {
  const pieces: (Rendering | Last)[] = []
  await collect(slices, content, pieces)
  const all: Rendering[] = []
  for (const piece of pieces) all.push('last' in piece ? await renderInParts(slices, piece.last) : piece)
  const icons = new Set<string>()
  for (const piece of all) for (const name of piece.icons) icons.add(name)
  return { bytes: Buffer.concat(all.map(({ bytes }) => bytes)), icons }
}

async function collect(slices: Slices, content: VNode, pieces: (Rendering | Last)[]): Promise<void> {
  const { texts, parts } = await slices.run(() => {
    const parts: Part[] = []
    collected = parts
    try {
      return { texts: renderToString(content).split(MARKS), parts }
    } finally {
      collected = null
    }
  })
  for (const [i, text] of texts.entries()) {
    if (i % 2 === 0) {
      pieces.push(await slices.run(() => rendered(text)))
      continue
    }
    const part = parts[Number(text)] as Part
    if ('bytes' in part || 'last' in part) pieces.push(part)
    else await collect(slices, part, pieces)
  }
}

const rendered = (text: string): Rendering => ({
  // a parser takes a bare CR for the end of a line
  bytes: Buffer.from(text.includes('\r') ? text.replaceAll('\r', '&#13;') : text),
  icons: iconsIn(text),
})
