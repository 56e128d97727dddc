import type GithubSlugger from 'github-slugger'
import type { Token } from 'markdown-it'
import { escapeHtml, unescapeHtml } from './html.js'
import { type Formulas, mark } from './markdown-math.js'
import { ID_PREFIX } from './sanitize.js'

/** A heading of a text, with its id without the prefix. */
export interface Heading {
  level: number
  id: string
  text: string
}

/** The headings of a text while it is rendered. */
export interface Headings {
  slugger: GithubSlugger
  headings: Heading[]
  /** Where the table of contents stands among what is inserted. */
  contents?: number
}

/** Headings that a table of contents has. */
const MAX_HEADINGS = 500

/** Makes the first paragraph that is `[[_TOC_]]` or `[TOC]` the place of the table of contents (MD-21). */
export function markContents(tokens: Token[], env: Headings & Formulas): void {
  for (const [i, token] of tokens.entries()) {
    if (env.contents !== undefined) return
    const [open, close] = [tokens[i - 1], tokens[i + 1]]
    if (token.type !== 'inline' || !/^(?:\[\[_TOC_\]\]|\[TOC\])$/.test(token.content) || open?.type !== 'paragraph_open' || !close) continue
    env.contents = env.inserted.length
    open.hidden = close.hidden = true
    token.type = 'html_inline'
    token.content = mark(env, '')
  }
}

/** Fills that place. */
export function withContents({ contents, headings, inserted }: Headings & Formulas): void {
  if (contents !== undefined) inserted[contents] = contentsOf(headings.slice(0, MAX_HEADINGS))
}

function contentsOf(headings: Heading[]): string {
  if (headings.length === 0) return ''
  const parts: string[] = []
  const open: number[] = []
  for (const { level, id, text } of headings) {
    while (open.length > 1 && level < (open.at(-1) ?? 0) && level <= (open.at(-2) ?? 0)) {
      parts.push('</li></ul>')
      open.pop()
    }
    if (open.length === 0 || level > (open.at(-1) ?? 0)) {
      parts.push('<ul>')
      open.push(level)
    } else parts.push('</li>')
    parts.push(`<li><a href="#${ID_PREFIX}${escapeHtml(id)}">${escapeHtml(text)}</a>`)
  }
  return `${parts.join('')}${'</li></ul>'.repeat(open.length)}\n`
}

const HEADING = /<h([1-6])((?: [^<>]*)?)>([\s\S]*?)<\/h\1>/g

/** The text of HTML that was rendered here. */
const textOf = (html: string) =>
  unescapeHtml(html.replace(/<annotation[^<>]*>[^<]*<\/annotation>|<[^<>]*>|\0\d+\0/g, ''))
    .replace(/\s+/g, ' ')
    .trim()
    .slice(0, 255)

/** Gives headings that are HTML in the text an id, too. */
export const withIds = (html: string, { slugger }: Headings): string =>
  html.replace(HEADING, (whole, level: string, attributes: string, content: string) => {
    if (/ id="/.test(attributes)) return whole
    const text = textOf(content)
    return text === '' ? whole : `<h${level} id="${ID_PREFIX}${escapeHtml(slugger.slug(text))}"${attributes}>${content}</h${level}>`
  })

/** The headings of a rendered text that links can lead to. */
export function headingsIn(html: string): Heading[] {
  const headings: Heading[] = []
  for (const [, level, attributes = '', content = ''] of html.matchAll(HEADING)) {
    const id = / id="([^"]*)"/.exec(attributes)?.[1]
    const text = textOf(content)
    if (id !== undefined && text !== '') headings.push({ level: Number(level), id: unescapeHtml(id), text })
    if (headings.length === MAX_HEADINGS) break
  }
  return headings
}
