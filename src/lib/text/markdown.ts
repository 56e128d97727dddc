import MarkdownIt from 'markdown-it'

/** Longer texts are not rendered, because the renderer would block the event loop (SEC-145). */
const MAX_RENDERED_LENGTH = 30_000

/** URLs in user content may lead to web pages, mail or relative paths, never to scripts or files. */
const isHarmless = (url: string) => /^(?:https?:|mailto:)/i.test(url) || !/^[^/?#]*:/.test(url)

const markdown = new MarkdownIt({ html: false, linkify: true, maxNesting: 20 })
markdown.validateLink = (url) => isHarmless(url.trim())

/** Renders Markdown to HTML that contains only Markdown markup: HTML tags in the text are escaped. */
export function markdownToHtml(text: string): string {
  if (text.length <= MAX_RENDERED_LENGTH) return markdown.render(text).trimEnd()
  return `<pre>${markdown.utils.escapeHtml(text)}</pre>`
}
