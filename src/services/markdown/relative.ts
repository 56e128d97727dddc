import { deflateSync } from 'node:zlib'
import type { Context } from '../../context.js'
import type { Highlighter } from '../../lib/text/highlight/highlighter.js'
import { escapeHtml, unescapeHtml } from '../../lib/text/html.js'
import { asSrcset, linkWithin, sourcesOf } from '../../lib/text/sanitize.js'
import { withoutTrailing } from '../../lib/text/without-trailing.js'
import { pictureAddress } from '../core/external-pictures.js'
import { readSettings, type Settings } from '../core/settings.js'

/** Where relative links of a file lead. */
export interface Surroundings {
  /** The folder of the file, '' for the root of the repository. */
  folder: string
  /** The address of a path of the repository as a page, and as a file. */
  page(path: string): string
  file(path: string): string
  diagrams: DiagramServers
  /** Where a page has a picture of an absolute address; null if it is not shown (WB-460). */
  picture(address: string): string | null
}

/** The surroundings of a text that follow from the settings. */
export async function settledSurroundings(ctx: Context): Promise<Pick<Surroundings, 'diagrams' | 'picture'>> {
  const settings = await readSettings(ctx)
  return { diagrams: diagramServers(settings), picture: (address) => pictureAddress(ctx, settings, address) }
}

const FENCED = /<pre><code class="language-([^"\s]{1,50})">([^<]*)<\/code><\/pre>/g
const TAGS =
  /<input type="checkbox" class="task-list-item-checkbox" disabled(?:="")?|<img src="([^"]*)" alt="([^"]*)"([^<>]*)>|<source srcset="([^"]*)"([^<>]*)>|<a href="([^"]*)"/g
/** Tags that are changed in one step: a text of a megabyte has a hundred thousand links (SEC-145). */
const STEP_TAGS = 500

/**
 * Makes relative links and pictures of rendered Markdown lead to the files of the repository. Pictures of other sites
 * go through the proxy, or become their alternative text (WB-460). Check boxes of tasks get a label, and the syntax of
 * fenced code is marked.
 */
export async function withSurroundings(
  { slices, highlighter }: Pick<Context['cpu'], 'slices' | 'highlighter'>,
  html: string,
  surroundings: Surroundings,
): Promise<string> {
  const drawn = await withMarks(highlighter, withDiagrams(html, surroundings.diagrams))
  return slices.steps(function* () {
    const parts: string[] = []
    let [from, steps] = [0, 0]
    for (const { 0: tag, 1: picture, 2: alt = '', 3: attributes = '', 4: sources, 5: when = '', 6: link, index } of drawn.matchAll(TAGS)) {
      if (++steps % STEP_TAGS === 0) yield
      parts.push(drawn.slice(from, index))
      if (picture !== undefined) parts.push(pictureTo(tag, picture, alt, attributes, surroundings))
      else if (sources !== undefined) parts.push(sourceTo(sources, when, surroundings))
      else parts.push(link === undefined ? `${tag} aria-label="Task"` : linkTo(tag, link, surroundings))
      from = index + tag.length
    }
    return [...parts, drawn.slice(from)].join('')
  })
}

/** Blocks of programs in a text whose syntax is marked; further ones stay plain. */
const MAX_MARKED = 50

/** Marks the syntax of fenced code whose language is known. */
async function withMarks(highlighter: Highlighter, html: string): Promise<string> {
  const parts: string[] = []
  let from = 0
  for (const { 0: block, 1: language = '', 2: source = '', index } of html.matchAll(FENCED)) {
    if (parts.length >= 2 * MAX_MARKED) break
    const lines = await highlighter.lines(unescapeHtml(source), language.toLowerCase())
    if (!lines) continue
    parts.push(html.slice(from, index), `<pre><code class="language-${language}">${lines.join('\n')}</code></pre>`)
    from = index + block.length
  }
  return [...parts, html.slice(from)].join('')
}

/** Where a page has the picture of an address; null if it is not shown. */
function shownAt(address: string, { folder, file, picture }: Surroundings): string | null {
  if (address.startsWith('/uploads/')) return address
  const bare = address.replace(/[?#][\s\S]*$/, '')
  const path = bare === '' ? null : pathOf(bare, folder)
  return path === null ? picture(address) : file(path)
}

/** Pictures whose addresses end so are for one of the two (MD-20). */
const SCHEME = /#gh-(dark|light)-mode-only$/

function pictureTo(tag: string, url: string, alt: string, attributes: string, surroundings: Surroundings): string {
  if (url.startsWith('/uploads/')) return tag
  const address = unescapeHtml(url)
  const src = shownAt(address, surroundings)
  const scheme = SCHEME.exec(address)?.[1]
  return src !== null
    ? `<img loading="lazy" src="${escapeHtml(src)}" alt="${alt}"${attributes}${scheme ? ` class="${scheme}-only"` : ''}>`
    : `<span class="elsewhere" title="${url}">${alt || 'picture'}</span>`
}

/** A source of a picture, without what is not shown. */
function sourceTo(srcset: string, attributes: string, surroundings: Surroundings): string {
  const sources = sourcesOf(unescapeHtml(srcset)).flatMap(({ url, size }) => {
    const shown = shownAt(url, surroundings)
    return shown === null ? [] : [{ url: inSrcset(shown), size }]
  })
  return sources.length === 0 ? '' : `<source srcset="${escapeHtml(asSrcset(sources))}"${attributes}>`
}

/** Spaces and commas separate the addresses. */
const inSrcset = (address: string) =>
  address.replace(/[\s,]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`)

function linkTo(tag: string, url: string, { folder, page }: Surroundings): string {
  const [, bare = '', rest = ''] = /^([^?#]*)([\s\S]*)$/.exec(unescapeHtml(url)) ?? []
  const path = bare === '' ? null : pathOf(bare, folder)
  return path === null ? tag : `<a href="${escapeHtml(page(path) + (isMarkdown(path) ? toSection(rest) : rest))}"`
}

/** Whether a file is Markdown, by its name. */
export const isMarkdown = (path: string): boolean => /\.(?:md|markdown|mdown|mkdn?)$/i.test(path)

/** What follows the path of a text: its sections have ids with a prefix. */
const toSection = (rest: string) => rest.replace(/#(?=.)[\s\S]*$/, linkWithin)

/** Servers that draw diagrams, without a slash at their end; null for none (WB-187, MD-23). */
interface DiagramServers {
  plantuml: string | null
  kroki: string | null
}

/** The most diagrams of a text, and the most characters of one in the address of its picture. */
const MAX_DIAGRAMS = 20
const MAX_CODE = 6_000
const MAX_SOURCE = 20_000

/** Languages of fenced code that Kroki draws, with its name where that is another one. */
const OF_KROKI = new Map([
  ...'actdiag blockdiag bytefield c4plantuml d2 dbml ditaa erd graphviz mermaid nomnoml nwdiag packetdiag pikchr plantuml rackdiag seqdiag structurizr svgbob tikz umlet vega vegalite wavedrom wireviz'
    .split(' ')
    .map((name) => [name, name] as const),
  ['puml', 'plantuml'],
  ['dot', 'graphviz'],
])

/** Makes blocks of diagrams pictures of a server that draws them. */
function withDiagrams(html: string, servers: DiagramServers): string {
  if (servers.plantuml === null && servers.kroki === null) return html
  let drawn = 0
  return html.replace(FENCED, (block, language: string, escaped: string) => {
    const address = diagramAt(servers, language, unescapeHtml(escaped))
    if (address === null || ++drawn > MAX_DIAGRAMS) return block
    return `<p><img loading="lazy" class="diagram" alt="Diagram" src="${escapeHtml(address)}"></p>`
  })
}

/** Where the picture of a diagram is; null if it is none, or too large for an address. */
function diagramAt({ plantuml, kroki }: DiagramServers, language: string, source: string): string | null {
  const name = OF_KROKI.get(language)
  if (name === undefined || source.length > MAX_SOURCE) return null
  const at = (server: string, code: string) => (code.length > MAX_CODE ? null : server + code)
  if (plantuml !== null && name === 'plantuml') return at(`${plantuml}/svg/`, `~h${Buffer.from(source).toString('hex')}`)
  return kroki === null ? null : at(`${kroki}/${name}/svg/`, deflateSync(source, { level: 9 }).toString('base64url'))
}

type OfDiagrams = 'diagram_enabled' | 'diagram_url' | 'kroki_enabled' | 'kroki_url'

/** The servers of the settings. */
export function diagramServers(settings: Pick<Settings, OfDiagrams>): DiagramServers {
  const server = (isOn: boolean, url: string | null) => (isOn && url ? withoutTrailing(url, '/') : null)
  return {
    plantuml: server(settings.diagram_enabled, settings.diagram_url),
    kroki: server(settings.kroki_enabled, settings.kroki_url),
  }
}

/** The path in the repository that a relative URL names; null for any other URL. */
function pathOf(url: string, folder: string): string | null {
  if (/^(?:[a-z][a-z0-9+.-]*:|\/\/|#)/i.test(url) || url.startsWith('/uploads/')) return null
  const parts: string[] = []
  for (const part of `${url.startsWith('/') ? '' : folder}/${decoded(url)}`.split('/')) {
    if (part === '..') parts.pop()
    else if (part !== '' && part !== '.') parts.push(part)
  }
  return parts.length > 0 ? parts.join('/') : null
}

function decoded(url: string): string {
  try {
    return decodeURIComponent(url)
  } catch {
    return url
  }
}
