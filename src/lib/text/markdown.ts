import MarkdownIt from 'markdown-it'

/** Longer texts are shown unformatted: Markdown is rendered in one step, which would block the event loop (SEC-145). */
const MAX_LAID_OUT = 30_000

/** URLs in users' texts may lead to web pages, mail, or relative places; never to scripts or files. */
const isHarmless = (url: string) => /^(?:https?:|mailto:)/i.test(url) || !/^[^/?#]*:/.test(url)

const markdown = new MarkdownIt({ html: false, linkify: true, maxNesting: 20 })
markdown.validateLink = (url) => isHarmless(url.trim())

/** Markdown as HTML that contains only the markup of Markdown: tags in the text are escaped. */
export function markdownToHtml(text: string): string {
  if (text.length <= MAX_LAID_OUT) return markdown.render(text).trimEnd()
  return `<pre>${markdown.utils.escapeHtml(text)}</pre>`
}
