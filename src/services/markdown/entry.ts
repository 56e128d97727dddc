import { parentPort } from 'node:worker_threads'
import { highlightLines } from '../../lib/text/highlight.js'
import { type LinkFinder, type NamedLinks, renderMarkdown } from '../../lib/text/markdown.js'
import type { Message } from '../../lib/text/markdown-thread.js'
import { nameOfReference, referencesInPlainText } from '../../rules/references.js'

/** Finds the references in a text that are among these links. */
const finderOf =
  (links: NamedLinks): LinkFinder =>
  (text) =>
    referencesInPlainText(text).flatMap((reference) => {
      const link = links[nameOfReference(reference)]
      return link ? [{ ...link, start: reference.start, end: reference.end }] : []
    })

/** The thread of `MarkdownThread`: renders one text after the other. */
parentPort?.on('message', ({ id, ...message }: Message & { id: number }) => parentPort?.postMessage({ id, html: htmlOf(message) }))

function htmlOf(message: Message): string {
  if ('source' in message) return highlightLines(message.source, message.language)?.join('\n') ?? ''
  const { text, links } = message
  return renderMarkdown(text, Object.keys(links).length === 0 ? undefined : finderOf(links))
}
