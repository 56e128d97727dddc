import type { Context } from '../../context.js'
import { escapeText, MAX_RENDERED_LENGTH, markdownToHtml } from '../../lib/text/markdown.js'
import { Unavailable } from '../../lib/unavailable.js'

/** Texts that take a few milliseconds to render, and pieces that take as long to escape (SEC-145). */
const [AT_ONCE, PIECE] = [2_000, 32_768]

/**
 * The HTML of a description that is kept beside it: rendered Markdown, or the text as it is if it has more than 30,000
 * characters or takes too long (MD-4).
 */
export async function descriptionHtml({ cpu }: Pick<Context, 'cpu'>, text: string): Promise<string> {
  if (text.length <= AT_ONCE) return markdownToHtml(text)
  if (text.length <= MAX_RENDERED_LENGTH)
    try {
      return await cpu.markdown.html(text)
    } catch (error) {
      if (!(error instanceof Unavailable)) throw error
    }
  const pieces: string[] = []
  for (let from = 0; from < text.length; from += PIECE) pieces.push(await cpu.slices.run(() => escapeText(text.slice(from, from + PIECE))))
  return `<pre>${pieces.join('')}</pre>`
}
