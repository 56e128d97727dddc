import { setTimeout } from 'node:timers/promises'
import type { Context } from '../../../context.js'
import type { GitRepository, Oid } from '../../../git/types.js'
import type { Steps } from '../../../lib/async/slices.js'
import { languageOf, MAX_SOURCE } from '../../../lib/text/highlight/highlighter.js'
import { unescapeHtml } from '../../../lib/text/html.js'
import type { Line, Part } from './diff-marks.js'

/** The runs of equal colour in a line, such as `k5 1s3`: a letter of `COLORS`, or a space for none, and a length. */
type Runs = string

/** The colours of lines, by their numbers on each side. */
export interface LineColors {
  old: ReadonlyMap<number, Runs>
  now: ReadonlyMap<number, Runs>
}

/** A side of a change: the name of the file, by which its language is known, and its text as a whole. */
export interface Side {
  path: string
  text(): Promise<string | null>
}

/** What the colours of one page may take: characters of sources, and the time by when the last of them must have come. */
export interface ColorBudget {
  characters: number
  until: number
  /** Characters of rows; files after that many have no colours. */
  rows: number
  /** Whether something has no colours for want of these, which it may have on the next page. */
  isShort: boolean
}

const MAX_CHARACTERS = 1_048_576
/** Milliseconds. */
const MAX_WAIT = 1_500
const MAX_ROWS = 4_000_000

export const aColorBudget = (): ColorBudget => ({ characters: MAX_CHARACTERS, until: performance.now() + MAX_WAIT, rows: MAX_ROWS, isShort: false })

/** Pieces that the lines of one file are cut into; further lines are plain. */
const MAX_PIECES = 20_000
/** Characters of marked lines that are taken apart in one step. */
const STEP = 50_000

/** The letters for the classes of the highlighter. None is red or green, which say what was removed and added. */
const COLORS: Record<string, string> = {
  'hljs-comment': 'c',
  'hljs-quote': 'c',
  'hljs-keyword': 'k',
  'hljs-selector-tag': 'k',
  'hljs-built_in': 'k',
  'hljs-name': 'k',
  'hljs-string': 's',
  'hljs-regexp': 's',
  'hljs-code': 's',
  'hljs-link': 's',
  'hljs-number': 'n',
  'hljs-literal': 'n',
  'hljs-symbol': 'n',
  'hljs-bullet': 'n',
  'hljs-title': 't',
  'hljs-section': 't',
  'hljs-type': 't',
  'hljs-attr': 't',
  'hljs-attribute': 't',
  'hljs-selector-class': 't',
  'hljs-selector-id': 't',
  'hljs-meta': 't',
}

/**
 * The colours of the lines of a change. Both sides are parsed whole, so that a comment may begin above the lines that are
 * shown. They are kept by `key`, which says all that makes them; what has none for want of the budget is not final.
 */
export async function colorsOf(
  { cpu, caches }: Pick<Context, 'cpu' | 'caches'>,
  { key, lines: linesOf, old, now }: { key: string; lines: () => Line[]; old: Side | null; now: Side | null },
  budget: ColorBudget,
): Promise<{ colors: LineColors; isFinal: boolean }> {
  const kept = caches.diffColors.get(key)
  if (kept) return { colors: kept, isFinal: true }
  const lines = await cpu.slices.run(linesOf)
  const marked = (side: Side | null, wanted: ReadonlySet<number>) => (side && wanted.size > 0 ? markedLines(cpu, side, wanted, budget) : null)
  const [before, after] = await Promise.all([
    marked(old, new Set(lines.flatMap((line) => (line.new === null && line.old !== null ? [line.old] : [])))),
    marked(now, new Set(lines.flatMap((line) => line.new ?? []))),
  ])
  const colors = await cpu.slices.steps(() => taken(lines, before ?? null, after ?? null))
  const isFinal = before !== undefined && after !== undefined
  if (isFinal) caches.diffColors.set(key, colors)
  else budget.isShort = true
  return { colors, isFinal }
}

/** The wanted lines of a side with the marks of the highlighter; null if there are none, undefined if there are none in time. */
async function markedLines(
  { highlighter }: Context['cpu'],
  { path, text }: Side,
  wanted: ReadonlySet<number>,
  budget: ColorBudget,
): Promise<string[] | null | undefined> {
  const left = budget.until - performance.now()
  if (left <= 0 || budget.characters <= 0) return undefined
  highlighter.prepare()
  // a repository that does not answer leaves a page its diff
  const source = await text().catch(() => undefined)
  if (typeof source !== 'string') return source
  budget.characters -= source.length
  const inTime = new AbortController()
  const late = setTimeout(left, undefined, { signal: inTime.signal }).catch(() => undefined)
  const lines = await Promise.race([highlighter.marks(source, languageOf(path), wanted), late])
  inTime.abort()
  return lines
}

function* taken(lines: Line[], before: string[] | null, after: string[] | null): Steps<LineColors> {
  const colors = { old: new Map<number, Runs>(), now: new Map<number, Runs>() }
  let [pieces, characters] = [0, 0]
  for (const line of lines) {
    const isOld = line.new === null
    const number = isOld ? line.old : line.new
    const html = number === null ? undefined : (isOld ? before : after)?.[number - 1]
    if (number === null || html === undefined) continue
    const runs = runsOf(html, line.text)
    if (runs) {
      pieces += runs.pieces
      if (pieces > MAX_PIECES) break
      colors[isOld ? 'old' : 'now'].set(number, runs.runs)
    }
    characters += html.length
    if (characters > STEP) {
      characters = 0
      yield
    }
  }
  return colors
}

/** The colours of a marked line; null if it has none, or is not this text, as where it is shown without its encoding. */
export function runsOf(html: string, text: string): { runs: Runs; pieces: number } | null {
  const open: string[] = []
  const runs: [color: string, length: number][] = []
  let at = 0
  for (const [piece, classes] of html.matchAll(/<span class="([^"]*)">|<\/span>|[^<]+/g)) {
    if (classes !== undefined) open.push(COLORS[classes.split(' ', 1).join('')] ?? open.at(-1) ?? ' ')
    else if (piece === '</span>') open.pop()
    else {
      const part = unescapeHtml(piece)
      if (!text.startsWith(part, at)) return null
      at += part.length
      const last = runs.at(-1)
      const color = open.at(-1) ?? ' '
      if (last?.[0] === color) last[1] += part.length
      else runs.push([color, part.length])
    }
  }
  if (at !== text.length || runs.every(([color]) => color === ' ')) return null
  return { runs: runs.map(([color, length]) => color + length).join(''), pieces: runs.length }
}

/** A part of a line in one colour. */
export interface Piece {
  text: string
  /** A letter; empty: that of all text. */
  color: string
}

/** Cuts the parts of a line by its colours, too. */
export function piecesOf(parts: Part[], runs: Runs): (Part & { pieces: Piece[] })[] {
  const left = Array.from(runs.matchAll(/([a-z ])(\d+)/g), ([, color = '', length]) => ({ color: color.trim(), length: Number(length) }))
  return parts.map((part) => {
    const pieces: Piece[] = []
    for (let at = 0; at < part.text.length; ) {
      const run = left[0] ?? { color: '', length: part.text.length }
      const length = Math.min(run.length, part.text.length - at)
      pieces.push({ text: part.text.slice(at, at + length), color: run.color })
      at += length
      run.length -= length
      if (run.length === 0) left.shift()
    }
    return { ...part, pieces }
  })
}

/** The text of a blob, as far as the highlighter takes it. */
export async function textOfBlob(repository: GitRepository, oid: Oid | null | undefined): Promise<string | null> {
  if (!oid) return null
  const info = await repository.objectInfo(oid)
  if (info?.type !== 'blob' || info.size > MAX_SOURCE) return null
  return (await repository.blob(oid))?.toString('utf8') ?? null
}
