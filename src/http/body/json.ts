import { invalidInput } from '../../failures.js'
import { checkText, emptyParameterBag, MAX_DEPTH, MAX_ELEMENTS, MAX_KEY, type ParameterBag, set } from '../form.js'

/** The tokens that may come next. */
type Next = 'object' | 'first name' | 'name' | 'colon' | 'value' | 'first item' | 'comma' | 'end'

const QUOTE = 0x22
const BACKSLASH = 0x5c
/** Longer literals are not numbers. */
const MAX_LITERAL = 1_000
/** Length of two escapes that form a surrogate pair, minus one. */
const MAX_SPLIT = 11

const HIGH_SURROGATE = /^\\u[dD][89abAB]/

const LITERAL = /[-+.0-9A-Za-z]+/y
const SPACE = /[ \t\r\n]+/y

/**
 * Parses a JSON body from its bytes as they arrive: depth, elements and names are limited before anything is built from
 * them, and each step takes time in proportion to its chunk (SEC-71, SEC-145). The body must be an object, or `null`,
 * which some clients send if they have no parameters (G-5).
 */
export class JsonReader {
  /** Values so far. */
  elements = 0
  readonly #decoder = new TextDecoder('utf-8', { fatal: true })
  readonly #open: (ParameterBag | unknown[])[] = []
  #top: ParameterBag | undefined
  #next: Next = 'object'
  /** The name of the next value. */
  #name = ''
  /** The part of the current string that has arrived. */
  #string: string | undefined
  /** The end of a chunk that can be parsed only together with the next one. */
  #rest = ''
  #literal = ''

  push(bytes: Buffer): void {
    this.#read(this.#decode(bytes))
  }

  end(): ParameterBag {
    this.#read(this.#decode())
    if (this.#literal !== '') this.#endLiteral()
    if (this.#next === 'object') return emptyParameterBag()
    if (this.#next !== 'end' || !this.#top) throw badJson()
    return this.#top
  }

  #decode(bytes?: Buffer): string {
    try {
      return this.#decoder.decode(bytes, { stream: bytes !== undefined })
    } catch {
      throw badJson()
    }
  }

  #read(piece: string): void {
    let text = piece
    let at = 0
    if (this.#string !== undefined) {
      text = this.#rest + piece
      at = this.#readString(text, 0)
    }
    while (at < text.length) {
      const code = text.charCodeAt(at)
      if (this.#literal !== '' || isLiteral(code)) at = this.#readLiteral(text, at)
      else if (code === QUOTE) {
        if (!['value', 'first item', 'name', 'first name'].includes(this.#next)) throw badJson()
        this.#string = ''
        at = this.#readString(text, at + 1)
      } else if (code <= 0x20) {
        SPACE.lastIndex = at
        if (!SPACE.test(text)) throw badJson()
        at = SPACE.lastIndex
      } else {
        this.#readSign(text[at] as string)
        at++
      }
    }
  }

  #readSign(sign: string): void {
    if (sign === '{') this.#begin(emptyParameterBag(), 'first name')
    else if (sign === '[') this.#begin([], 'first item')
    else if (sign === ':' && this.#next === 'colon') this.#next = 'value'
    else if (sign === ',' && this.#next === 'comma') this.#next = Array.isArray(this.#open.at(-1)) ? 'value' : 'name'
    else if (sign === '}' && !Array.isArray(this.#open.at(-1)) && (this.#next === 'first name' || this.#next === 'comma')) this.#close()
    else if (sign === ']' && Array.isArray(this.#open.at(-1)) && (this.#next === 'first item' || this.#next === 'comma')) this.#close()
    else throw badJson()
  }

  #begin(value: ParameterBag | unknown[], next: Next): void {
    if (this.#next === 'object' && !Array.isArray(value)) this.#top = value
    else this.#put(value)
    if (this.#open.push(value) > MAX_DEPTH) throw invalidInput('parameters are nested too deeply')
    this.#next = next
  }

  #close(): void {
    this.#open.pop()
    this.#next = this.#open.length === 0 ? 'end' : 'comma'
  }

  #put(value: unknown): void {
    if (this.#next !== 'value' && this.#next !== 'first item') throw badJson()
    if (++this.elements > MAX_ELEMENTS) throw invalidInput('too many parameters')
    const into = this.#open.at(-1)
    if (Array.isArray(into)) into.push(value)
    else set(into as ParameterBag, this.#name, value)
    this.#next = 'comma'
  }

  /** Continues the current string; returns the position after it. */
  #readString(text: string, from: number): number {
    let quote = text.indexOf('"', from)
    while (quote >= 0 && isEscaped(text, from, quote)) quote = text.indexOf('"', quote + 1)
    const stop = quote < 0 ? splitOf(text, from) : quote
    const string = this.#string + checkText(parse(`"${text.slice(from, stop)}"`) as string)
    const isName = this.#next === 'name' || this.#next === 'first name'
    if (isName && string.length > MAX_KEY) throw invalidInput('a parameter name is too long')
    if (quote < 0) {
      this.#string = string
      this.#rest = text.slice(stop)
      return text.length
    }
    this.#string = undefined
    this.#rest = ''
    if (isName) {
      this.#name = string
      this.#next = 'colon'
    } else this.#put(string)
    return quote + 1
  }

  #readLiteral(text: string, from: number): number {
    LITERAL.lastIndex = from
    const more = LITERAL.exec(text)?.[0] ?? ''
    this.#literal += more
    if (this.#literal.length > MAX_LITERAL) throw badJson()
    if (from + more.length < text.length) this.#endLiteral()
    return from + more.length
  }

  #endLiteral(): void {
    const literal = this.#literal
    this.#literal = ''
    if (this.#next === 'object' && literal === 'null') {
      this.#top = emptyParameterBag()
      this.#next = 'end'
    } else this.#put(parse(literal))
  }
}

function isLiteral(code: number): boolean {
  return (code >= 0x30 && code <= 0x39) || code === 0x2d || (code >= 0x61 && code <= 0x7a)
}

/** Whether an odd number of backslashes precedes the position. */
function isEscaped(text: string, from: number, at: number): boolean {
  let first = at
  while (first > from && text.charCodeAt(first - 1) === BACKSLASH) first--
  return (at - first) % 2 === 1
}

/** Where a string can be split: not within an escape or a surrogate pair. */
function splitOf(text: string, from: number): number {
  let at = Math.max(from, text.length - MAX_SPLIT)
  if (isEscaped(text, from, at)) at++
  for (at = text.indexOf('\\', at); at >= 0; at = text.indexOf('\\', at)) {
    const length = text[at + 1] !== 'u' ? 2 : HIGH_SURROGATE.test(text.slice(at, at + 4)) ? 12 : 6
    if (at + length > text.length) return at
    at += length
  }
  return text.length
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw badJson()
  }
}

const badJson = () => invalidInput('message body does not match declared format')
