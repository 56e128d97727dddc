import type { Readable } from 'node:stream'
import { invalidInput } from '../../failures.js'

/** The most bytes of what a client sends beside the package itself. */
const MAX_DOCUMENT = 2 * 1_048_576
const MAX_KEY = 1_024
const code = (sign: string) => sign.charCodeAt(0)
const [QUOTE, BACKSLASH, COLON, COMMA] = [code('"'), code('\\'), code(':'), code(',')]
const [OPEN, CLOSE, OPEN_LIST, CLOSE_LIST] = [code('{'), code('}'), code('['), code(']')]

/**
 * Reads what `npm publish` sends: one JSON document in which the package is the text `_attachments.FILE.data`, in base64.
 * The package is passed on as it comes and never held as a whole; the rest is parsed at the end.
 */
export class NpmBody {
  readonly #document: Buffer[] = []
  #size = 0
  /** The keys that lead to the current value; null in a list. */
  readonly #path: (string | null)[] = []
  #key: number[] = []
  #lastText = ''
  #state: 'between' | 'text' | 'escape' | 'data' = 'between'
  /** Base64 digits that do not make whole bytes yet. */
  #rest = ''
  #attachments = 0

  constructor(private readonly body: Readable) {}

  /** The bytes of the package; none if there is no package. To be read to the end before the document. */
  async *attachment(): AsyncGenerator<Buffer> {
    // the connection must stay open for the response
    for await (const chunk of this.body.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      for (let at = 0; at < chunk.length; ) {
        if (this.#state === 'data') {
          const quote = chunk.indexOf(QUOTE, at)
          const end = quote < 0 ? chunk.length : quote
          const bytes = this.#decode(chunk.subarray(at, end), quote >= 0)
          if (bytes.length > 0) yield bytes
          at = end
          if (quote < 0) continue
          this.#state = 'between'
          this.#keep(chunk.subarray(quote, ++at))
        } else {
          const begin = at
          at = this.#scan(chunk, at)
          this.#keep(chunk.subarray(begin, at))
        }
      }
    }
  }

  /** How many packages there were. */
  get attachments(): number {
    return this.#attachments
  }

  /** Everything but the package. */
  document(): unknown {
    try {
      return JSON.parse(Buffer.concat(this.#document).toString('utf8'))
    } catch {
      throw invalidInput('the body is not JSON')
    }
  }

  #keep(bytes: Buffer): void {
    this.#size += bytes.length
    if (this.#size > MAX_DOCUMENT) throw invalidInput(`the description of a package may have ${MAX_DOCUMENT / 1_048_576} MiB`)
    // copied, so that a piece does not keep the chunk in memory
    this.#document.push(Buffer.from(bytes))
  }

  #decode(digits: Buffer, isEnd: boolean): Buffer {
    const text = this.#rest + digits.toString('latin1')
    if (text.includes('\\')) throw invalidInput('_attachments is not base64')
    const whole = isEnd ? text.length : text.length - (text.length % 4)
    this.#rest = text.slice(whole)
    return Buffer.from(text.slice(0, whole), 'base64')
  }

  /** Reads up to the end of the chunk or the beginning of the package. */
  #scan(chunk: Buffer, from: number): number {
    let at = from
    for (; at < chunk.length; at++) {
      const sign = chunk[at] as number
      if (this.#state === 'escape') this.#state = 'text'
      else if (this.#state === 'text') {
        if (sign === BACKSLASH) this.#state = 'escape'
        else if (sign === QUOTE) {
          this.#state = 'between'
          this.#lastText = Buffer.from(this.#key).toString('utf8')
        } else if (this.#key.length < MAX_KEY) this.#key.push(sign)
      } else if (sign === QUOTE) {
        if (this.#isData()) {
          if (++this.#attachments > 1) throw invalidInput('only one package can be published at a time')
          this.#state = 'data'
          return at + 1
        }
        this.#state = 'text'
        this.#key = []
      } else this.#structure(sign)
    }
    return at
  }

  #structure(sign: number): void {
    if (sign === OPEN || sign === OPEN_LIST) {
      if (this.#path.length > 100) throw invalidInput('the body is too deep')
      this.#path.push(sign === OPEN ? '' : null)
    } else if (sign === CLOSE || sign === CLOSE_LIST) this.#path.pop()
    else if (sign === COLON) this.#path[this.#path.length - 1] = this.#lastText
    else if (sign === COMMA && this.#path.at(-1) !== null) this.#path[this.#path.length - 1] = ''
  }

  #isData(): boolean {
    return this.#path.length === 3 && this.#path[0] === '_attachments' && this.#path[2] === 'data'
  }
}
