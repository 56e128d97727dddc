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

const HEADING_TAG = /<(\/?)h([1-6])((?: [^<>]*)?)>/g

interface HeadingPart {
  level: string
  attributes: string
  content: string
  start: number
  end: number
}

/** The headings of rendered HTML, in one pass over its tags (SEC-67). */
function* headingParts(html: string): Generator<HeadingPart> {
  let open: { level: string; attributes: string; start: number; inside: number } | undefined
  for (const { 0: tag, 1: closing, 2: level = '', 3: attributes = '', index } of html.matchAll(HEADING_TAG)) {
    if (!closing) open ??= { level, attributes, start: index, inside: index + tag.length }
    else if (open?.level === level) {
      yield { level, attributes: open.attributes, content: html.slice(open.inside, index), start: open.start, end: index + tag.length }
      open = undefined
    }
  }
}

/** The text of HTML that was rendered here. */
const textOf = (html: string) =>
  unescapeHtml(html.replace(/<annotation[^<>]*>[^<]*<\/annotation>|<[^<>]*>|\0\d+\0/g, ''))
    .replace(/\s+/g, ' ')
    .trim()
    .slice(0, 255)

/** Gives headings that are HTML in the text an id, too. */
export function withIds(html: string, { slugger }: Headings): string {
  const parts: string[] = []
  let at = 0
  for (const { level, attributes, content, start, end } of headingParts(html)) {
    const text = / id="/.test(attributes) ? '' : textOf(content)
    if (text === '') continue
    parts.push(html.slice(at, start), `<h${level} id="${ID_PREFIX}${escapeHtml(slugger.slug(text))}"${attributes}>${content}</h${level}>`)
    at = end
  }
  return parts.join('') + html.slice(at)
}

/** Leads links such as `#Install` to the heading `install`, as others do, unless something has that id (MD-24). */
export function withFoundSections(html: string): string {
  if (!html.includes(' href="#')) return html
  const ids = new Set(Array.from(html.matchAll(/ id="(user-content-[^"]*)"/g), ([, id]) => id))
  return html.replace(/ href="#(user-content-[^"]*)"/g, (link, id: string) => {
    const lower = id.toLowerCase()
    return !ids.has(id) && ids.has(lower) ? ` href="#${lower}"` : link
  })
}

/** The headings of a rendered text that links can lead to. */
export function headingsIn(html: string): Heading[] {
  const headings: Heading[] = []
  for (const { level, attributes, content } of headingParts(html)) {
    const id = / id="([^"]*)"/.exec(attributes)?.[1]
    const text = textOf(content)
    if (id !== undefined && text !== '') headings.push({ level: Number(level), id: unescapeHtml(id), text })
    if (headings.length === MAX_HEADINGS) break
  }
  return headings
}
