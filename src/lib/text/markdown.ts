import MarkdownIt from 'markdown-it'

/** Longer texts are not laid out but shown as they are: laying out is done in one piece, while nobody else is served (SEC-145). */
const MAX_LAID_OUT = 30_000

/** Addresses in a text of people may lead to pages, to mail, or to places beside this page; never run or read anything. */
const isHarmless = (url: string) => /^(?:https?:|mailto:)/i.test(url) || !/^[^/?#]*:/.test(url)

const markdown = new MarkdownIt({ html: false, linkify: true, maxNesting: 20 })
markdown.validateLink = (url) => isHarmless(url.trim())

/** Markdown as HTML that holds no markup but that of Markdown: tags in the text are text. */
export function markdownToHtml(text: string): string {
  if (text.length <= MAX_LAID_OUT) return markdown.render(text).trimEnd()
  return `<pre>${markdown.utils.escapeHtml(text)}</pre>`
}
