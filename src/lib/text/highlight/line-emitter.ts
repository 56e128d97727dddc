import type { Emitter } from 'highlight.js'
import { escapeHtml } from '../html.js'

const SPECIAL = /[&<>"']/
const END = '</span>'

/**
 * Writes what the highlighter finds as HTML, while it finds it: a tree that becomes text at its end costs half as much as
 * the search. A span is written where it has text, and ends with its line, in which each is opened anew.
 */
export class LineEmitter implements Emitter {
  readonly #parts: string[] = []
  /** The tags of the scopes that are open, and those that are written. */
  readonly #scopes: string[] = []
  readonly #written: string[] = []
  #length = 0
  /** The numbers of the lines that are written; null: all of them. */
  readonly #wanted: ReadonlySet<number> | null
  #line = 1
  #isWanted: boolean

  /** The lines that the next emitter writes alone; those of parts in other languages, which follow it, write all of theirs. */
  static wanted: ReadonlySet<number> | null = null

  /** Beyond that many characters nothing is written. */
  static readonly MAX_HTML = 8_388_608

  constructor() {
    this.#wanted = LineEmitter.wanted
    LineEmitter.wanted = null
    this.#isWanted = this.#wanted?.has(1) ?? true
  }

  addText(text: string): void {
    let from = 0
    for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n', from)) {
      if (end > from) this.#add(text.slice(from, end))
      this.#endLine()
      from = end + 1
    }
    if (from < text.length) this.#add(from === 0 ? text : text.slice(from))
  }

  openNode(scope: string): void {
    this.#scopes.push(tagOf(scope))
  }

  closeNode(): void {
    this.#scopes.pop()
  }

  startScope(scope: string): void {
    this.#scopes.push(tagOf(scope))
  }

  endScope(): void {
    this.#scopes.pop()
  }

  /** Adds what another one has written of a part that is in another language, if it has a name. */
  __addSublanguage(emitter: LineEmitter, name?: string): void {
    if (name) this.#scopes.push(`<span class="language-${name}">`)
    for (const [i, line] of emitter.toHTML().split('\n').entries()) {
      if (i > 0) this.#endLine()
      if (line !== '') this.#write(line)
    }
    if (name) this.#scopes.pop()
  }

  finalize(): void {
    this.#scopes.length = 0
    this.#close(0)
  }

  /** Longer than `MAX_HTML` if there is more of it. */
  toHTML(): string {
    return this.#parts.join('')
  }

  #add(text: string): void {
    if (this.#isWanted) this.#write(SPECIAL.test(text) ? escapeHtml(text) : text)
  }

  #write(html: string): void {
    if (!this.#isWanted || this.#length > LineEmitter.MAX_HTML) return
    const scopes = this.#scopes
    const written = this.#written
    let same = 0
    while (same < scopes.length && scopes[same] === written[same]) same++
    if (written.length > same) this.#close(same)
    for (let i = same; i < scopes.length; i++) {
      const tag = scopes[i] as string
      written.push(tag)
      this.#parts.push(tag)
      this.#length += tag.length
    }
    this.#parts.push(html)
    this.#length += html.length
  }

  #close(depth: number): void {
    for (let open = this.#written.length; open > depth; open--) this.#parts.push(END)
    this.#length += END.length * Math.max(0, this.#written.length - depth)
    this.#written.length = depth
  }

  #endLine(): void {
    this.#close(0)
    this.#parts.push('\n')
    this.#length++
    this.#line++
    if (this.#wanted) this.#isWanted = this.#wanted.has(this.#line)
  }
}

const TAGS = new Map<string, string>()

/** `title.function` is of the classes `hljs-title` and `function_`. */
function tagOf(scope: string): string {
  let tag = TAGS.get(scope)
  if (tag === undefined) {
    const [first = '', ...more] = scope.split('.')
    tag = `<span class="${[`hljs-${first}`, ...more.map((part, i) => part + '_'.repeat(i + 1))].join(' ')}">`
    TAGS.set(scope, tag)
  }
  return tag
}
