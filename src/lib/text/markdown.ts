import GithubSlugger from 'github-slugger'
import MarkdownIt, { type Env, type StateInline, type Token } from 'markdown-it'
import { emojiOf } from './emoji.js'
import { type Headings, markContents, withContents, withFoundSections, withIds } from './markdown-contents.js'
import { type Footnotes, footnotesToHtml, useFootnotes } from './markdown-footnotes.js'
import { type Formulas, useMath, withInserted } from './markdown-math.js'
import { ID_PREFIX, linkWithin, sanitize } from './sanitize.js'

/** A part of a text that becomes a link. */
export interface TextLink {
  start: number
  end: number
  href: string
  title: string
  /** Shown in place of the part. */
  text: string
  classes: string
}

/** A link by its name; the names are up to the caller. */
export type NamedLinks = Record<string, Omit<TextLink, 'start' | 'end'>>

/** Finds the links in a text without markup, in order. */
export type LinkFinder = (text: string) => TextLink[]

/** Longer texts are not rendered in this thread, because the renderer would block the event loop (SEC-145). */
export const MAX_RENDERED_LENGTH = 30_000
/** Longer texts, with more lines or longer HTML, are shown as they are (MD-4). */
const MAX_LENGTH = 1_048_576
const MAX_LINES = 50_000
const MAX_HTML = 8_388_608
/** Characters of one paragraph or cell; a longer one is shown as it is: some rules take more than linear time. */
const MAX_INLINE = 16_384
/** Brackets that a paragraph may open without closing them: the end of each is looked for up to the end. */
const MAX_OPEN = 200
/** Links of a text; paragraphs after them are shown as they are: a megabyte of addresses takes seconds. */
const MAX_LINKS = 20_000
/** Tags of HTML in a text; one with more is shown as it is: the parser takes quadratic time where they nest. */
const MAX_TAGS = 10_000

/** URLs in user content may lead to web pages, mail or relative paths, never to scripts or files. */
const isHarmless = (url: string) => /^(?:https?:|mailto:)/i.test(url) || !/^[^/?#]*:/.test(url)

export const escapeText = (text: string): string => markdown.utils.escapeHtml(text)

/** The text as it is. */
const asIs = (text: string) => `<pre>${escapeText(text)}</pre>`

const markdown = new MarkdownIt({ html: true, linkify: true, maxNesting: 20 })
markdown.validateLink = (url) => isHarmless(url.trim())
useFootnotes(markdown)
useMath(markdown)
markdown.inline.ruler.before('link', 'wiki link', takeWikiLink)
markdown.inline.ruler.push('emoji', takeEmoji)
markdown.renderer.rules['emoji'] = (tokens, i) => tokens[i]?.content ?? ''
markdown.renderer.rules['blockquote_open'] = (tokens, i, options, _, renderer) =>
  renderer.renderToken(tokens, i, options) + (tokens[i]?.meta?.['title'] ?? '')
/** Finds the blocks of a text; `inlines` then parses the text of each of them. */
const blocks = new MarkdownIt({ html: true, maxNesting: 20 })
blocks.validateLink = markdown.validateLink
useFootnotes(blocks)
useMath(blocks)
blocks.core.ruler.enableOnly(['normalize', 'block'])
markdown.core.ruler.enableOnly(['inline', 'linkify', 'text_join'])
markdown.core.ruler.before('text_join', 'links in texts', ({ tokens, env }) => {
  const { linksIn } = env as RenderEnv
  if (linksIn) for (const { children } of tokens) if (children) linkTexts(children, linksIn)
})

/** What the rules share while one text is rendered. */
interface RenderEnv extends Env, Footnotes, Formulas, Headings {
  links: number
  linksIn?: LinkFinder | undefined
  /** Whether `[[page]]` is a link. */
  isWiki: boolean
  /** How many tags of HTML the text has itself. */
  tags: number
}

/** How a text is rendered. */
export interface RenderOptions {
  linksIn?: LinkFinder | undefined
  /** Whether `[[page]]` is a link. */
  isWiki?: boolean | undefined
  /** MathML of a formula; without it formulas stay text and code. */
  mathOf?: Formulas['mathOf']
}

/** Renders Markdown to HTML; of HTML in the text only what is on the list of `sanitize` is left. */
export const markdownToHtml = (text: string): string => (text.length <= MAX_RENDERED_LENGTH ? renderMarkdown(text) : asIs(text))

/** Like `markdownToHtml`, for long texts too: for a thread of its own (MD-1 to MD-4). */
export function renderMarkdown(given: string, { linksIn, isWiki = false, mathOf }: RenderOptions = {}): string {
  // an address has no half of a character
  const text = given.toWellFormed()
  if (text.length > MAX_LENGTH || hasMoreLines(text, MAX_LINES)) return asIs(text)
  const env: RenderEnv = {
    linksIn,
    isWiki,
    mathOf,
    inserted: [],
    links: 0,
    tags: 0,
    slugger: new GithubSlugger(),
    headings: [],
    footnotes: new Map(),
    referredTo: new Map(),
  }
  let room = MAX_HTML
  const render = (source: string): string | null => {
    const tokens = blocks.parse(source, env)
    markTasks(tokens)
    markAlerts(tokens)
    markContents(tokens, env)
    markDirections(tokens)
    for (const [i, token] of tokens.entries()) {
      if (token.type === 'html_block') env.tags += token.content.split('<').length - 1
      alignByAttribute(token)
      if (token.type !== 'inline') continue
      const html = inlineHtml(token, env, room)
      if (html === null) return null
      room -= html.length
      const heading = tokens[i - 1]
      if (heading?.type === 'heading_open') {
        const text = textIn(token)
        const id = env.slugger.slug(text)
        heading.attrSet('id', ID_PREFIX + id)
        env.headings.push({ level: Number(heading.tag.slice(1)), id, text })
      }
      token.children = [htmlToken(html)]
    }
    return markdown.renderer.render(tokens, markdown.options, env)
  }
  const html = render(text)
  const notes = html === null ? null : footnotesToHtml(env, render)
  if (html === null || notes === null || env.tags > MAX_TAGS) return asIs(text)
  withContents(env)
  const whole = env.tags > 0 ? withIds(sanitize(`${html}${notes}`), env) : `${html}${notes}`
  return withInserted(withFoundSections(whole), env).trimEnd()
}

function hasMoreLines(text: string, maximum: number): boolean {
  let at = -1
  for (let lines = 0; lines <= maximum; lines++) {
    at = text.indexOf('\n', at + 1)
    if (at < 0) return false
  }
  return true
}

/** The HTML of a paragraph or the like; null if it is longer than there is room. */
function inlineHtml(token: Token, env: RenderEnv, room: number): string | null {
  const { escapeHtml } = markdown.utils
  if (token.content.length > MAX_INLINE || env.links > MAX_LINKS || opensMany(token.content)) return escapeHtml(token.content)
  const task = token.meta?.['task'] as string | undefined
  const state = new markdown.core.State('', markdown, env)
  token.children = []
  state.tokens = [token]
  markdown.core.process(state)
  // references to one long link may repeat it very often
  let attributes = 0
  for (const child of token.children) {
    const { type, attrs, meta } = child
    if (type === 'link_open' || type === 'image') env.links++
    if (type === 'link_open') child.attrSet('href', linkWithin(String(child.attrGet('href'))))
    if (type === 'html_inline' && !meta) env.tags++
    for (const [, value] of attrs ?? []) attributes += String(value).length
  }
  if (attributes > room) return null
  const html = `${task ?? ''}${markdown.renderer.renderInline(token.children, markdown.options, env)}`
  return html.length > room ? null : html
}

/** The text of a heading, without its markup and pictures: its id is made of it, with the names of emoji. */
const textIn = ({ children, content }: Token) => (children?.map(textOfPart).join('') ?? content).slice(0, 255)

const textOfPart = ({ type, content, markup }: Token) => (type === 'html_inline' || type === 'image' ? '' : type === 'emoji' ? markup : content)

const EMOJI = /:([a-z0-9_+-]{1,50}):/y

/** `:tada:` (MD-6). */
function takeEmoji(state: StateInline, silent: boolean): boolean {
  if (state.src[state.pos] !== ':') return false
  EMOJI.lastIndex = state.pos
  const [mark, name = ''] = EMOJI.exec(state.src) ?? []
  const emoji = emojiOf(name)
  if (mark === undefined || emoji === undefined) return false
  if (!silent) Object.assign(state.push('emoji', '', 0), { content: emoji, markup: mark })
  state.pos += mark.length
  return true
}

const ALERT = /^\[!(note|tip|important|warning|caution)\][ \t]*(?:\n|$)/i

/** Makes quotes that begin with `[!NOTE]` and the like alerts (MD-6). */
function markAlerts(tokens: Token[]): void {
  const open: Token[] = []
  for (const [i, token] of tokens.entries()) {
    if (token.type === 'blockquote_close') token.tag = open.pop()?.tag ?? token.tag
    if (token.type !== 'blockquote_open') continue
    open.push(token)
    const [paragraph, text, end] = tokens.slice(i + 1, i + 4)
    const [mark, kind] = (paragraph?.type === 'paragraph_open' && ALERT.exec(text?.content ?? '')) || []
    if (!paragraph || !text || !end || mark === undefined || kind === undefined) continue
    const name = kind.toLowerCase()
    token.tag = 'div'
    token.attrSet('class', `markdown-alert markdown-alert-${name}`)
    token.meta = { title: `<p class="markdown-alert-title">${name.charAt(0).toUpperCase()}${name.slice(1)}</p>\n` }
    text.content = text.content.slice(mark.length)
    if (text.content === '') paragraph.hidden = end.hidden = true
  }
}

const RIGHT_TO_LEFT = /[\p{Script=Arabic}\p{Script=Hebrew}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}]/u

/** Lists with such letters have their marks on the side where their text begins (MD-24). */
function markDirections(tokens: Token[]): void {
  const open: Token[] = []
  for (const token of tokens) {
    if (/^(?:bullet|ordered)_list_open$/.test(token.type)) open.push(token)
    else if (/^(?:bullet|ordered)_list_close$/.test(token.type)) open.pop()
    else if (open.length > 0 && token.type === 'inline' && RIGHT_TO_LEFT.test(token.content)) for (const list of open) list.attrSet('dir', 'auto')
  }
}

const WIKI_LINK = /\[\[([^[\]|\n]{1,500})(?:\|([^[\]|\n]{1,500}))?\]\]/y

/** `[[page]]` and `[[text|page]]` (MD-5). */
function takeWikiLink(state: StateInline, silent: boolean): boolean {
  if (!(state.env as RenderEnv).isWiki || !state.src.startsWith('[[', state.pos)) return false
  WIKI_LINK.lastIndex = state.pos
  const [mark, text = '', named = text] = WIKI_LINK.exec(state.src) ?? []
  const page = named.trim()
  if (mark === undefined || page === '' || page === '_TOC_' || page.startsWith('^')) return false
  if (!silent) {
    state.push('link_open', 'a', 1).attrs = [['href', /^https?:\/\//i.test(page) ? markdown.normalizeLink(page) : addressOfPage(page)]]
    state.push('text', '', 0).content = text.trim()
    state.push('link_close', 'a', -1)
  }
  state.pos += mark.length
  return true
}

/** From the root of the wiki, with dashes for spaces as titles have them there; a part of the page stays behind it. */
function addressOfPage(name: string): string {
  const [page = '', ...part] = name.split('#')
  const path = page === '' ? '' : `/${page.trim().replace(/^\/+/, '').replaceAll(' ', '-').split('/').map(encodeURIComponent).join('/')}`
  return part.length === 0 ? path : `${path}#${encodeURIComponent(part.join('#'))}`
}

function opensMany(text: string): boolean {
  let open = 0
  for (let at = text.indexOf('['); at >= 0; at = text.indexOf('[', at + 1)) open++
  if (open <= MAX_OPEN) return false
  for (let at = text.indexOf(']'); at >= 0; at = text.indexOf(']', at + 1)) open--
  return open > MAX_OPEN
}

function htmlToken(html: string): Token {
  const token = new new markdown.core.State('', markdown, {}).Token('html_inline', '', 0)
  token.content = html
  return token
}

/** Cells are aligned by an attribute: the policy of pages takes no styles. */
function alignByAttribute(token: Token): void {
  const align = /^text-align:(left|center|right)$/.exec(String(token.attrGet('style') ?? ''))?.[1]
  if (align !== undefined) token.attrs = [['align', align]]
}

const TASK = /^\[([ xX])\]\s/

/** Marks list items that are tasks: the item gets a class, its first paragraph a check box. */
function markTasks(tokens: Token[]): void {
  for (const [i, token] of tokens.entries()) {
    const item = tokens[i - 2]
    if (token.type !== 'inline' || item?.type !== 'list_item_open' || tokens[i - 1]?.type !== 'paragraph_open') continue
    const [mark, state] = TASK.exec(token.content) ?? []
    if (mark === undefined) continue
    item.attrJoin('class', 'task-list-item')
    token.content = token.content.slice(mark.length)
    token.meta = { task: `<input type="checkbox" class="task-list-item-checkbox" disabled${state === ' ' ? '' : ' checked'}> ` }
  }
}

/** Replaces texts outside of links and code by texts and links. */
function linkTexts(tokens: Token[], linksIn: LinkFinder): void {
  const result: Token[] = []
  let inLink = 0
  for (const token of tokens) {
    if (token.type === 'link_open') inLink++
    if (token.type === 'link_close') inLink--
    if (token.type === 'text' && inLink === 0) result.push(...withLinks(token, linksIn(token.content)))
    else result.push(token)
  }
  tokens.splice(0, tokens.length, ...result)
}

function withLinks(token: Token, links: TextLink[]): Token[] {
  if (links.length === 0) return [token]
  const { Token: New } = new markdown.core.State('', markdown, {})
  const text = (content: string) => Object.assign(new New('text', '', 0), { content })
  const parts: Token[] = []
  let from = 0
  for (const { start, end, href, title, text: shown, classes } of links) {
    const open = new New('link_open', 'a', 1)
    open.attrs = [
      ['href', href],
      ['class', classes],
      ['title', title],
    ]
    parts.push(text(token.content.slice(from, start)), open, text(shown), new New('link_close', 'a', -1))
    from = end
  }
  return [...parts, text(token.content.slice(from))]
}
