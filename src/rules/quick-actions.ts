import type { Slices, Steps } from '../lib/async/slices.js'
import { codeSpans } from './references.js'

/** A command as written: its name in lower case, and what follows on the line. */
export interface Command {
  name: string
  argument: string
}

/** Commands that are replaced by their argument and a text. */
const SUBSTITUTES = new Map([
  ['shrug', '¯\\＿(ツ)＿/¯'],
  ['tableflip', '(╯°□°)╯︵ ┻━┻'],
])

const COMMAND = /^\/([a-z_]{1,40})(?:[ \t](.*))?$/i
const OPENING_TAG = /^<[^/<>][^<>]{0,1000}>$/
const CLOSING_TAG = /^<\/[^<>]{1,1000}>$/
/** Longer than any text with commands may be, in its units: it is refused afterwards. */
const MAX_TEXT = 2_097_152
/** Lines examined before yielding to the event loop (SEC-145). */
const STEP_LINES = 1_000

/** A line to cut, with the text in its place. */
interface Cut {
  start: number
  end: number
  replacement: string
  command: Command | null
}

/**
 * Takes the commands with these names out of a text (QA-1): the lines with them are cut, all others stay, without white
 * space at the end. A text without commands stays as it is.
 */
export async function takeCommands(slices: Slices, text: string, names: ReadonlySet<string>): Promise<{ text: string; commands: Command[] }> {
  if (text.length > MAX_TEXT || (!text.startsWith('/') && !text.includes('\n/'))) return { text, commands: [] }
  const code = await codeSpans(slices, text)
  const cuts = await slices.steps(() => cutsIn(text, [code, commentsIn(text)], names))
  if (cuts.length === 0) return { text, commands: [] }
  const parts: string[] = []
  let from = 0
  for (const { start, end, replacement } of cuts) {
    parts.push(text.slice(from, start), replacement)
    from = end
  }
  return { text: [...parts, text.slice(from)].join('').trimEnd(), commands: cuts.flatMap(({ command }) => command ?? []) }
}

type Span = Pick<Cut, 'start' | 'end'>

function commentsIn(text: string): Span[] {
  const spans: Span[] = []
  for (let start = text.indexOf('<!--'); start >= 0; ) {
    const end = text.indexOf('-->', start + 4)
    if (end < 0) break
    spans.push({ start, end: end + 3 })
    start = text.indexOf('<!--', end + 3)
  }
  return spans
}

/** The lines with commands, but none in a block between `>>>` and `>>>`, or between an opening and a closing tag. */
function* cutsIn(text: string, hidden: Span[][], names: ReadonlySet<string>): Steps<Cut[]> {
  const cuts: Cut[] = []
  const passed = hidden.map(() => 0)
  let block: { closes(line: string): boolean; cuts: number } | null = null
  for (let start = 0, lines = 1; start < text.length; lines++) {
    if (lines % STEP_LINES === 0) yield
    const newline = text.indexOf('\n', start)
    const end = newline < 0 ? text.length : newline + 1
    const isHidden = hidden.some((spans, i) => {
      while ((spans[passed[i] as number]?.end ?? Number.POSITIVE_INFINITY) <= start) passed[i] = (passed[i] as number) + 1
      return (spans[passed[i] as number]?.start ?? Number.POSITIVE_INFINITY) < start
    })
    const line = text.slice(start, end).trimEnd()
    if (!isHidden) {
      if (block?.closes(line)) {
        cuts.length = block.cuts
        block = null
      } else {
        block ??= blockFrom(line, cuts.length)
        const cut = cutOf(line, start, end, names)
        if (cut) cuts.push(cut)
      }
    }
    start = end
  }
  return cuts
}

function blockFrom(line: string, cuts: number) {
  if (line === '>>>') return { closes: (other: string) => other === '>>>', cuts }
  return OPENING_TAG.test(line) ? { closes: (other: string) => CLOSING_TAG.test(other), cuts } : null
}

function cutOf(line: string, start: number, end: number, names: ReadonlySet<string>): Cut | null {
  const match = line.startsWith('/') ? COMMAND.exec(line) : null
  const name = match?.[1]?.toLowerCase()
  if (name === undefined) return null
  const argument = match?.[2]?.trim() ?? ''
  const substitute = SUBSTITUTES.get(name)
  if (substitute !== undefined) return { start, end, replacement: `${`${argument} ${substitute}`.trim()}\n`, command: null }
  return names.has(name) ? { start, end, replacement: '', command: { name, argument } } : null
}
