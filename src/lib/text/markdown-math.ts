import type { MarkdownIt, StateBlock, StateInline } from 'markdown-it'
import { textOfLine } from './markdown-footnotes.js'

/** The formulas of a text while it is rendered; without `mathOf` they stay text and code. */
export interface Formulas {
  mathOf?: ((source: string, isBlock: boolean) => string | null) | undefined
  /** What stands in place of each mark that `mark` has made: the sanitiser does not see it. */
  inserted: string[]
}

/** Formulas of a text, and characters of what is made of them; further ones are shown as their source. */
const MAX_FORMULAS = 1_000
const MAX_INSERTED = 2_097_152
/** Lines of a formula. */
const MAX_LINES = 100

const of = (env: unknown) => env as Formulas

/** Adds `$…$`, `` $`…`$ ``, `$$…$$` and fenced `math` to the syntax (MD-22). */
export function useMath(md: MarkdownIt): void {
  md.block.ruler.before('fence', 'math', takeBlock, { alt: ['paragraph', 'reference', 'blockquote', 'list'] })
  md.inline.ruler.before('escape', 'math', takeInline)
  const { fence } = md.renderer.rules
  md.renderer.rules['math_block'] = (tokens, i, _, env) => block(md, of(env), tokens[i]?.content ?? '')
  md.renderer.rules['math_inline'] = (tokens, i, _, env) => formula(md, of(env), tokens[i]?.content ?? '', tokens[i]?.meta?.['isDisplay'] === true)
  md.renderer.rules['fence'] = (tokens, i, options, env, self) =>
    of(env).mathOf && tokens[i]?.info.trim() === 'math'
      ? block(md, of(env), tokens[i]?.content ?? '')
      : (fence?.(tokens, i, options, env, self) ?? '')
}

function formula(md: MarkdownIt, env: Formulas, source: string, isDisplay: boolean): string {
  const used = env.inserted.reduce((sum, { length }) => sum + length, 0)
  const html = env.inserted.length < MAX_FORMULAS && used < MAX_INSERTED ? env.mathOf?.(source.trim(), isDisplay) : null
  return html ? mark(env, html) : `<code class="language-math">${md.utils.escapeHtml(source)}</code>`
}

function block(md: MarkdownIt, env: Formulas, source: string): string {
  const html = formula(md, env, source, true)
  return html.startsWith('<') ? `<pre>${html}</pre>\n` : `<p>${html}</p>\n`
}

/** A mark for what is inserted at the end; no text has one, as NUL is none of its characters. */
export function mark({ inserted }: Formulas, html: string): string {
  inserted.push(html)
  return `\0${inserted.length - 1}\0`
}

/** Inserts what the marks stand for; within tags, where HTML without an end has put them, nothing. */
export const withInserted = (html: string, { inserted }: Formulas): string =>
  inserted.length === 0
    ? html
    : html.replace(/<[^<>]*>|\0(\d+)\0/g, (found, number?: string) =>
        number === undefined ? found.replaceAll(/\0\d+\0/g, '') : (inserted[Number(number)] ?? ''),
      )

/** `$$`, and all up to a line that ends so. */
function takeBlock(state: StateBlock, startLine: number, endLine: number, silent: boolean): boolean {
  if (!of(state.env).mathOf || (state.sCount[startLine] ?? 0) - state.blkIndent >= 4) return false
  const first = textOfLine(state, startLine).trim()
  if (!first.startsWith('$$')) return false
  const lines = [first.slice(2)]
  let line = startLine
  while (!lines.at(-1)?.endsWith('$$')) {
    line++
    if (line >= endLine || line - startLine > MAX_LINES || (state.sCount[line] ?? 0) < state.blkIndent) return false
    lines.push(textOfLine(state, line).trim())
  }
  const source = lines.join('\n').slice(0, -2)
  if (source.trim() === '' || source.includes('$$')) return false
  if (!silent) {
    const token = state.push('math_block', 'math', 0)
    token.block = true
    token.content = source
    token.map = [startLine, line + 1]
    state.line = line + 1
  }
  return true
}

const CODE = /\$(`+)([^`]+)\1\$/y
const DISPLAY = /\$\$((?:[^$\\]|\\[\s\S])+)\$\$/y
/** As in TeX documents, not as in prices: no space within, no letter or digit beside it. */
const INLINE = /\$(?![\s$`])((?:[^$\\]|\\[\s\S])*(?:[^\s$\\]|\\\S))\$(?![\p{L}\p{N}$])/uy

function takeInline(state: StateInline, silent: boolean): boolean {
  const { src, pos } = state
  if (src[pos] !== '$' || !of(state.env).mathOf || /[\p{L}\p{N}$]/u.test(src[pos - 1] ?? '')) return false
  const found = [CODE, DISPLAY, INLINE].map((pattern) => {
    pattern.lastIndex = pos
    return pattern.exec(src)
  })
  const [code, display, inline] = found
  const taken = code ?? display ?? inline
  const source = code ? code[2] : taken?.[1]
  if (!taken || !source?.trim()) return false
  if (!silent) {
    const token = state.push('math_inline', 'math', 0)
    token.content = source
    token.meta = { isDisplay: taken === display }
  }
  state.pos += taken[0].length
  return true
}
