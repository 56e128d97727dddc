import { createHash } from 'node:crypto'
import type { Slices } from '../async/slices.js'
import { escapeText, type NamedLinks } from './markdown.js'
import { type TextLimits, type TextResult, TextThread } from './text-thread.js'

/** Milliseconds. */
const LIMITS: TextLimits = { budget: 1_000, wait: 5_000 }
/** Characters that are escaped at once: a few milliseconds (SEC-145). */
const PIECE = 32_768

export interface MarkdownForm {
  /** Whether `[[page]]` is a link. */
  isWiki?: boolean
  /** Whether formulas become MathML (MD-22). */
  hasMath?: boolean
}

export interface MarkdownTask extends MarkdownForm {
  text: string
  links: NamedLinks
}

/** Renders Markdown, in a thread of its own, a text once for all who ask for it within a short time (SEC-276). */
export class MarkdownThread {
  readonly #thread: TextThread<MarkdownTask>

  /** `program` is the bundle of `services/markdown/entry.ts`. */
  constructor(
    program: URL,
    private readonly slices: Slices,
    onResult?: (result: TextResult) => void,
    limits = LIMITS,
  ) {
    this.#thread = new TextThread(program, limits, onResult)
  }

  /**
   * The HTML of a text; the text as it is if that takes too long, or would have to wait too long (MD-4). `links`: what the
   * references in it become, by their names.
   */
  async html(text: string, links: NamedLinks = {}, { isWiki = false, hasMath = false }: MarkdownForm = {}): Promise<string> {
    const key = createHash('sha256')
      .update(`${isWiki} ${hasMath} ${JSON.stringify(links)}\n`)
      .update(text)
      .digest('base64')
    return (await this.#thread.html(key, { text, links, isWiki, hasMath })) ?? this.asIs(text)
  }

  /** The text as it is. */
  async asIs(text: string): Promise<string> {
    const pieces: string[] = []
    for (let from = 0; from < text.length; from += PIECE) pieces.push(await this.slices.run(() => escapeText(text.slice(from, from + PIECE))))
    return `<pre>${pieces.join('')}</pre>`
  }

  get isHealthy(): boolean {
    return this.#thread.isHealthy
  }

  close = (): Promise<void> => this.#thread.close()
}
