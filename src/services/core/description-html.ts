import type { Context } from '../../context.js'
import { MAX_RENDERED_LENGTH, markdownToHtml } from '../../lib/text/markdown.js'

/** Texts that take a few milliseconds to render (SEC-145). */
const AT_ONCE = 2_000

/**
 * The HTML of a description that is kept beside it: rendered Markdown, or the text as it is if it has more than 30,000
 * characters or takes too long (MD-4).
 */
export async function descriptionHtml({ cpu }: Pick<Context, 'cpu'>, text: string): Promise<string> {
  if (text.length <= AT_ONCE) return markdownToHtml(text)
  return text.length <= MAX_RENDERED_LENGTH ? cpu.markdown.html(text) : cpu.markdown.asIs(text)
}
