import { parentPort } from 'node:worker_threads'
import { type LinkFinder, type NamedLinks, renderMarkdown } from '../../lib/text/markdown.js'
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
parentPort?.on('message', ({ id, text, links }: { id: number; text: string; links: NamedLinks }) =>
  parentPort?.postMessage({ id, html: renderMarkdown(text, Object.keys(links).length === 0 ? undefined : finderOf(links)) }),
)
