import type { MarkdownIt, StateBlock, StateInline } from 'markdown-it'
import { ID_PREFIX } from './sanitize.js'

/** The footnotes of a text while it is rendered. */
export interface Footnotes {
  /** The text of each, by its label. */
  footnotes: Map<string, string>
  /** Those that the text refers to, by label, in order, each with its number and how often it is referred to. */
  referredTo: Map<string, { number: number; references: number }>
  /** Whether a footnote itself is rendered: it contains no other. */
  inFootnote?: boolean
}

const DEFINITION = /^\[\^([^\]\s]{1,100})\]:[ \t]*/
const REFERENCE = /\[\^([^\]\s]{1,100})\]/y

/** Adds `[^label]` and `[^label]: text` to the syntax. The first definition of a label holds. */
export function useFootnotes(md: MarkdownIt): void {
  md.block.ruler.before('reference', 'footnote', takeDefinition, { alt: ['paragraph', 'reference'] })
  md.inline.ruler.before('link', 'footnote', takeReference)
}

const footnotesOf = (env: unknown) => env as Footnotes

/** A definition goes on in lines that are indented, and in those that its last paragraph continues in. */
function takeDefinition(state: StateBlock, startLine: number, endLine: number, silent: boolean): boolean {
  const env = footnotesOf(state.env)
  const indent = state.sCount[startLine] ?? 0
  if (env.inFootnote || indent - state.blkIndent >= 4) return false
  const line = textOfLine(state, startLine)
  const [mark, label] = line.startsWith('[^') ? (DEFINITION.exec(line) ?? []) : []
  if (mark === undefined || label === undefined) return false
  if (silent) return true
  const lines = [line.slice(mark.length)]
  let next = startLine + 1
  for (; next < endLine; next++) {
    const isIndented = (state.sCount[next] ?? 0) - state.blkIndent >= 2
    if (!state.isEmpty(next) && !isIndented && (lines.at(-1)?.trim() === '' || DEFINITION.test(textOfLine(state, next)))) break
    lines.push(state.isEmpty(next) ? '' : textOfLine(state, next))
  }
  if (!env.footnotes.has(label)) env.footnotes.set(label, lines.join('\n').trim())
  state.line = next
  return true
}

export const textOfLine = ({ src, bMarks, tShift, eMarks }: StateBlock, line: number) =>
  src.slice((bMarks[line] ?? 0) + (tShift[line] ?? 0), eMarks[line])

function takeReference(state: StateInline, silent: boolean): boolean {
  if (!state.src.startsWith('[^', state.pos)) return false
  const { footnotes, referredTo } = footnotesOf(state.env)
  REFERENCE.lastIndex = state.pos
  const [mark, label] = REFERENCE.exec(state.src) ?? []
  if (mark === undefined || label === undefined || !footnotes.has(label)) return false
  if (!silent) {
    const note = referredTo.get(label) ?? { number: referredTo.size + 1, references: 0 }
    referredTo.set(label, note)
    note.references++
    const { number } = note
    const token = state.push('html_inline', '', 0)
    const id = note.references === 1 ? `fnref-${number}` : `fnref-${number}-${note.references}`
    token.meta = { own: true }
    token.content = `<sup class="footnote-ref"><a href="#${ID_PREFIX}fn-${number}" id="${ID_PREFIX}${id}">${number}</a></sup>`
  }
  state.pos += mark.length
  return true
}

/** The list of the footnotes that a text refers to; null if one cannot be rendered. */
export function footnotesToHtml(env: Footnotes, render: (text: string) => string | null): string | null {
  if (env.referredTo.size === 0) return ''
  env.inFootnote = true
  const items: string[] = []
  // a footnote may refer to others, which then come after it
  for (const [label, { number }] of env.referredTo) {
    const html = render(env.footnotes.get(label) ?? '')
    if (html === null) return null
    items.push(`<li id="${ID_PREFIX}fn-${number}">\n${html}<a href="#${ID_PREFIX}fnref-${number}" class="footnote-backref">↩</a>\n</li>\n`)
  }
  return `<section class="footnotes">\n<ol>\n${items.join('')}</ol>\n</section>\n`
}
