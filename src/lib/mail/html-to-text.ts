import { Parser } from 'htmlparser2'

/** Elements whose content is not shown. */
const HIDDEN = new Set(['head', 'script', 'style', 'title', 'template', 'noscript', 'object', 'select'])
/** Elements that stand on lines of their own, and those with an empty line around them. */
const BLOCKS = new Set([
  'address',
  'article',
  'aside',
  'center',
  'dd',
  'div',
  'dl',
  'dt',
  'footer',
  'form',
  'header',
  'li',
  'main',
  'nav',
  'section',
  'tr',
])
const PARAGRAPHS = new Set(['blockquote', 'h1', 'h2', 'h3', 'h4', 'h5', 'h6', 'ol', 'p', 'pre', 'table', 'ul'])
/** Elements within elements; a mail with more is read up to there, because the parser takes longer for each. */
const MAX_DEPTH = 1_000
/** Quotations within quotations that are distinguished. */
const MAX_QUOTES = 10

const TOO_DEEP = new Error('too many elements within elements')

/**
 * The text of an HTML mail, as its author sees it: paragraphs, list items, links with their addresses, and quotations
 * with `>`. The mail that an answer quotes, as mail programs mark it, is left out. Takes time in proportion to the text.
 */
export function htmlToText(html: string): string {
  const lines: string[] = []
  let line = ''
  let quotes = 0
  let pre = 0
  /** How many elements deep the part is that is left out, or 0. */
  let left = 0
  let depth = 0
  /** Whether the line ends in a space. */
  let spaced = true
  const links: (string | null)[] = []

  const prefix = () => '> '.repeat(Math.min(quotes, MAX_QUOTES))
  const breakLine = () => {
    lines.push(prefix() + line.trimEnd())
    line = ''
    spaced = true
  }
  /** Adds to the line; white space at its beginning, and a second space, only where `packed` is false. */
  const add = (text: string, packed = true) => {
    const shown = packed && spaced ? text.trimStart() : text
    if (shown === '') return
    line += shown
    spaced = shown.endsWith(' ')
  }
  const endLine = () => {
    if (line.trim() !== '') breakLine()
    line = ''
    spaced = true
  }
  const emptyLine = () => {
    endLine()
    if (lines.length > 0 && lines.at(-1) !== prefix().trimEnd()) lines.push(prefix().trimEnd())
  }

  const parser = new Parser({
    onopentag(name, attributes) {
      if (!VOID.has(name) && ++depth > MAX_DEPTH) throw TOO_DEEP
      if (left > 0 || HIDDEN.has(name) || isQuotedMail(name, attributes)) {
        if (!VOID.has(name)) left++
        return
      }
      if (name === 'br') return breakLine()
      if (name === 'hr') return emptyLine()
      if (name === 'img' && attributes['alt']) add(attributes['alt'])
      if (PARAGRAPHS.has(name)) emptyLine()
      else if (BLOCKS.has(name)) endLine()
      if (name === 'blockquote') quotes++
      if (name === 'pre') pre++
      if (name === 'li') add('- ')
      if (name === 'td') add(' ')
      if (name === 'a') links.push(attributes['href'] ?? null)
    },
    ontext(text) {
      if (left > 0) return
      if (pre > 0) {
        const [first = '', ...others] = text.split('\n')
        add(first, false)
        for (const next of others) {
          breakLine()
          add(next, false)
        }
        return
      }
      add(text.replace(/[\s\u200b]+/g, ' '))
    },
    onclosetag(name) {
      if (!VOID.has(name)) depth--
      if (left > 0) {
        if (!VOID.has(name)) left--
        return
      }
      if (name === 'a') {
        const address = links.pop()
        if (address && /^(?:https?:|mailto:)/i.test(address) && !line.slice(-2 * address.length).includes(address.replace(/^mailto:/i, '')))
          add(` (${address})`)
      }
      if (PARAGRAPHS.has(name)) {
        endLine()
        if (name === 'blockquote') quotes--
        if (name === 'pre') pre--
        emptyLine()
      } else if (BLOCKS.has(name)) endLine()
    },
  })
  try {
    parser.write(html)
    parser.end()
  } catch (error) {
    if (error !== TOO_DEEP) throw error
  }
  endLine()
  return lines.join('\n').trim()
}

/** Elements without an end. */
const VOID = new Set(['area', 'base', 'br', 'col', 'embed', 'hr', 'img', 'input', 'link', 'meta', 'source', 'track', 'wbr'])

/** Whether an element holds the mail that is answered, as Gmail, Thunderbird, Apple Mail, Yahoo and Outlook mark it. */
function isQuotedMail(name: string, attributes: Record<string, string>): boolean {
  const classes = (attributes['class'] ?? '').split(/\s/)
  if (
    [
      'gmail_quote',
      'gmail_quote_container',
      'gmail_attr',
      'gmail_signature',
      'yahoo_quoted',
      'moz-cite-prefix',
      'moz-signature',
      'protonmail_quote',
    ].some((each) => classes.includes(each))
  )
    return true
  if (name === 'blockquote' && attributes['type'] === 'cite') return true
  return ['divRplyFwdMsg', 'appendonsend', 'mail-editor-reference-message-container'].includes(attributes['id'] ?? '')
}
