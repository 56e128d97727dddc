import sanitizeHtml from 'sanitize-html'
import { withoutAround } from './without-trailing.js'

/** Ids and names of a text begin so: none is that of an element of a page. */
export const ID_PREFIX = 'user-content-'

/** An id of a text; what it has already is not written twice. */
export const prefixed = (id: string): string => (id.startsWith(ID_PREFIX) ? id : ID_PREFIX + id)

/** A link within a text leads to where the prefix has moved its target. */
export const linkWithin = (href: string): string => (/^#./.test(href) ? `#${prefixed(href.slice(1))}` : href)

/** The elements that GitHub and GitLab take in Markdown. */
const TAGS =
  'a abbr b bdo blockquote br caption cite code col colgroup dd del details dfn div dl dt em figcaption figure h1 h2 h3 h4 h5 h6 hr i img input ins kbd li mark ol p picture pre q rp rt ruby s samp section small source span strike strong sub summary sup table tbody td tfoot th thead time tr tt u ul var wbr'.split(
    ' ',
  )

/** No style, no class but those of the renderer, no handler, nothing that takes the focus or leads a form. */
const ATTRIBUTES = {
  '*': ['align', 'dir', 'id', 'lang', 'title', 'valign', 'width', 'height', 'border', 'cellpadding', 'cellspacing', 'itemprop'],
  a: ['href', 'name', 'class'],
  blockquote: ['cite'],
  code: ['class'],
  col: ['span'],
  colgroup: ['span'],
  del: ['cite', 'datetime'],
  details: ['open'],
  div: ['class'],
  img: ['src', 'alt'],
  input: ['type', 'class', 'disabled', 'checked'],
  ins: ['cite', 'datetime'],
  li: ['class', 'value'],
  ol: ['start', 'reversed', 'type'],
  p: ['class'],
  q: ['cite'],
  section: ['class'],
  source: ['srcset', 'media', 'type'],
  sup: ['class'],
  td: ['colspan', 'rowspan', 'headers'],
  th: ['colspan', 'rowspan', 'headers', 'scope'],
  time: ['datetime'],
}

/** Classes that the renderer writes. */
const CLASSES: Record<string, RegExp> = {
  a: /^(?:gfm(?: gfm-[a-z_]+)?|footnote-backref)$/,
  code: /^language-[^\s]{1,50}$/,
  div: /^markdown-alert markdown-alert-[a-z]+$/,
  input: /^task-list-item-checkbox$/,
  li: /^task-list-item$/,
  p: /^markdown-alert-title$/,
  section: /^footnotes$/,
  sup: /^footnote-ref$/,
}

/** A number in an attribute of a size is at most so large. */
const isSize = (text: string) => /^\d{1,4}(?:px|%)?$/.test(text)

const SIZES = ['width', 'height', 'border', 'cellpadding', 'cellspacing', 'colspan', 'rowspan', 'span']

/** When a source of a picture is the one: `(prefers-color-scheme: dark)`, `(max-width: 600px) and (min-width: 9em)`. */
const isMedia = (text: string) => /^[a-z0-9():,. -]{1,100}$/i.test(text)

/** The pictures of a source: an address each, with its width or density. */
export interface PictureSource {
  url: string
  size: string
}

const MAX_SOURCES = 10
const SIZE = /^(?:[1-9]\d{0,4}w|[1-9](?:\.\d{1,2})?x)$/

export const sourcesOf = (srcset: string): PictureSource[] =>
  srcset
    .split(/,(?=\s)|(?<=\s[\d.]{1,5}[wx]),/, MAX_SOURCES)
    .map((source) => source.trim().split(/\s+/))
    .flatMap(([url = '', size = '', ...more]) =>
      more.length === 0 && (size === '' || SIZE.test(size)) ? [{ url: withoutAround(url, ','), size }] : [],
    )
    .filter(({ url }) => url !== '')

export const asSrcset = (sources: PictureSource[]): string => sources.map(({ url, size }) => `${url} ${size}`.trimEnd()).join(', ')

function changed(tagName: string, given: sanitizeHtml.Attributes): sanitizeHtml.Tag {
  const { href, src, srcset, alt, ...attribs } = given
  const { class: classes, media } = attribs
  if (classes !== undefined && !CLASSES[tagName]?.test(classes)) delete attribs['class']
  for (const name of SIZES) if (attribs[name] !== undefined && !isSize(attribs[name])) delete attribs[name]
  if (media !== undefined && !isMedia(media)) delete attribs['media']
  for (const name of ['id', 'name']) if (attribs[name]) attribs[name] = prefixed(attribs[name])
  if (tagName === 'input')
    return {
      tagName,
      attribs: { type: 'checkbox', class: 'task-list-item-checkbox', disabled: '', ...(attribs['checked'] !== undefined && { checked: '' }) },
    }
  // in this order, which those expect that lead links and pictures to the files of a repository
  return {
    tagName,
    attribs: {
      ...(href !== undefined && { href: linkWithin(href.trim()) }),
      ...(tagName === 'img' && { src: (src ?? '').trim(), alt: alt ?? '' }),
      ...(tagName === 'source' && { srcset: asSrcset(sourcesOf(srcset ?? '')) }),
      ...attribs,
    },
  }
}

/** HTML nests at most so deep; what is deeper loses its tags. */
const MAX_DEPTH = 50

/**
 * HTML with the elements and attributes of the list alone, well-formed: what is not on it goes, its text stays, but for
 * scripts and styles. Takes linear time.
 */
export const sanitize = (html: string): string =>
  sanitizeHtml(html, {
    allowedTags: TAGS,
    allowedAttributes: ATTRIBUTES,
    allowedSchemes: ['http', 'https', 'mailto'],
    allowedSchemesByTag: { img: ['http', 'https'], source: ['http', 'https'] },
    allowedSchemesAppliedToAttributes: ['href', 'src', 'srcset', 'cite'],
    allowProtocolRelative: true,
    nonTextTags: ['script', 'style', 'textarea', 'option', 'noscript', 'template', 'iframe', 'title', 'xmp', 'noembed', 'noframes'],
    selfClosing: ['img', 'source', 'br', 'hr', 'input', 'wbr', 'col'],
    nestingLimit: MAX_DEPTH,
    transformTags: { '*': changed },
    exclusiveFilter: ({ tag, attribs }) => (tag === 'img' && !attribs['src']) || (tag === 'source' && !attribs['srcset']),
  }).replaceAll(' />', '>')
