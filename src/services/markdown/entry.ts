import { type LinkFinder, type NamedLinks, renderMarkdown } from '../../lib/text/markdown.js'
import type { MarkdownTask } from '../../lib/text/markdown-thread.js'
import { mathml } from '../../lib/text/math.js'
import { startTextThread } from '../../lib/text/start-text-thread.js'
import { nameOfReference, referencesInPlainText } from '../../rules/references.js'

/** Finds the references in a text that are among these links. */
const finderOf =
  (links: NamedLinks): LinkFinder =>
  (text) =>
    referencesInPlainText(text).flatMap((reference) => {
      const link = links[nameOfReference(reference)]
      return link ? [{ ...link, start: reference.start, end: reference.end }] : []
    })

/** The thread of `MarkdownThread`. */
startTextThread(({ text, links, isWiki, hasMath }: MarkdownTask) =>
  renderMarkdown(text, {
    linksIn: Object.keys(links).length === 0 ? undefined : finderOf(links),
    isWiki,
    mathOf: hasMath ? mathml : undefined,
  }),
)
