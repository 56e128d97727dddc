import { createHash } from 'node:crypto'
import { type TextResult, TextThread } from '../text-thread.js'

/** Larger sources, and those with a longer line, are shown without marks. */
export const MAX_SOURCE = 512 * 1024
const MAX_LINE = 2_000
/** Milliseconds: 512 KiB of usual sources take 150 to 500. A page does not wait long for colours. */
const LIMITS = { budget: 600, wait: 3_000 }

export interface HighlightTask {
  source: string
  language: string
  /** The numbers of the lines that are needed; null: all. */
  wanted: ReadonlySet<number> | null
}

/** Marks the syntax of programs, in a thread of its own (SEC-276). */
export class Highlighter {
  readonly #thread: TextThread<HighlightTask>

  /** `program` is the bundle of `entry.ts`. */
  constructor(program: URL, onResult?: (result: TextResult) => void) {
    this.#thread = new TextThread(program, LIMITS, onResult)
  }

  /**
   * The lines of a source as HTML with marks for its language, as `highlightLines`; null for an unknown language, and for
   * a source that is too large, takes too long or would have to wait too long.
   */
  async lines(source: string, language: string): Promise<string[] | null> {
    return (await this.marks(source, language)) ?? null
  }

  /**
   * The same for the lines of these numbers, the others are empty; undefined where there are no marks now, for want of a
   * turn, and may be some later. The source is parsed whole.
   */
  async marks(source: string, language: string, wanted: ReadonlySet<number> | null = null): Promise<string[] | null | undefined> {
    if (source.length > MAX_SOURCE || hasLongLine(source)) return null
    const of = createHash('sha256').update(`${language}\n`).update(source).digest('base64')
    const key = wanted ? `${of} ${createHash('sha256').update(Uint32Array.from(wanted)).digest('base64')}` : of
    const html = await this.#thread.html(key, { source, language, wanted }, of)
    if (html === null) return this.#thread.tookTooMuch(of) ? null : undefined
    return html === '' ? null : html.split('\n')
  }

  /** Gets ready for sources that are about to come. */
  prepare = (): void => this.#thread.prepare()

  get isHealthy(): boolean {
    return this.#thread.isHealthy
  }

  close = (): Promise<void> => this.#thread.close()
}

/** The ending of the name of a file, or the whole name, by which its language is known. */
export function languageOf(path: string): string {
  const name = path.slice(path.lastIndexOf('/') + 1).toLowerCase()
  return name.slice(name.lastIndexOf('.') + 1)
}

function hasLongLine(text: string): boolean {
  for (let from = 0; from <= text.length; ) {
    const end = text.indexOf('\n', from)
    if ((end < 0 ? text.length : end) - from > MAX_LINE) return true
    if (end < 0) return false
    from = end + 1
  }
  return false
}
