import { Failure, invalidInput } from '../failures.js'

/**
 * Parameters as they arrive: text, lists, maps, and in JSON also numbers and booleans. Maps have no prototype, so that
 * any name is only a name (SEC-72, SEC-73).
 */
export type ParameterBag = { [name: string]: unknown }

/** How deep the values of a body may be nested (SEC-71). */
export const MAX_DEPTH = 32
export const MAX_ELEMENTS = 100_000
export const MAX_KEY = 256
/** Fields of a form (SEC-75). */
export const MAX_FIELDS = 1_000
/** No field name within the other limits is longer. */
const MAX_NAME = MAX_DEPTH * (MAX_KEY + 2)
const FORBIDDEN_KEYS = new Set(['__proto__', 'constructor', 'prototype'])

/** An object whose prototype is empty: unlike an object without a prototype, V8 stores it in a third of the memory. */
class BareObject {
  [name: string]: unknown
}
Object.setPrototypeOf(BareObject.prototype, null)
delete (BareObject.prototype as { constructor?: unknown }).constructor

export const emptyParameterBag = (): ParameterBag => new BareObject()

/**
 * Parses a query string by the rules of Rack: `a=1&a=2` last wins, but where a list is expected it is one (W-3, see
 * `valuesOf`); `b[]=` a list, `c[k]=` a map, a repeated key in `d[][k]=` starts a new element. Throws a Failure on
 * invalid encoding or exceeded limits.
 */
export function parseForm(text: string): ParameterBag {
  const bag = emptyParameterBag()
  if (text === '') return bag
  for (const pair of text.split('&')) {
    if (pair === '') continue
    const equals = pair.indexOf('=')
    const name = decode(equals < 0 ? pair : pair.slice(0, equals))
    put(bag, name, equals < 0 ? null : decode(pair.slice(equals + 1)))
  }
  return bag
}

function decode(text: string): string {
  try {
    return checkText(decodeURIComponent(text.includes('+') ? text.replaceAll('+', ' ') : text))
  } catch (error) {
    if (error instanceof Failure) throw error
    throw badText()
  }
}

const badText = () => invalidInput('a parameter is not valid UTF-8')

const AMPERSAND = 0x26
const EQUALS = 0x3d
const PERCENT = 0x25
const PLUS = 0x2b
const SPACE = 0x20

/**
 * Parses an urlencoded body as `parseForm` does, from its bytes as they arrive; no step takes longer than the piece it
 * was given (SEC-75, SEC-145).
 */
export class FormReader {
  /** Values so far. */
  elements = 0
  readonly #bag = emptyParameterBag()
  #decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
  #name: string | undefined
  #text = ''
  /** An escape of which fewer than three characters have arrived. */
  #escape = ''
  /** Whether the current field has any character yet. */
  #begun = false

  push(bytes: Buffer): void {
    const out = Buffer.allocUnsafe(bytes.length)
    let length = 0
    const flush = (ends: boolean) => {
      this.#add(out.subarray(0, length), ends)
      length = 0
    }
    for (const byte of bytes) {
      if (this.#escape !== '') {
        this.#escape += String.fromCharCode(byte)
        if (this.#escape.length < 3) continue
        if (!/^%[0-9A-Fa-f]{2}$/.test(this.#escape)) throw badText()
        out[length++] = Number.parseInt(this.#escape.slice(1), 16)
        this.#escape = ''
      } else if (byte === AMPERSAND) {
        flush(true)
        this.#endPair()
      } else {
        this.#begun = true
        if (byte === PERCENT) this.#escape = '%'
        else if (byte === EQUALS && this.#name === undefined) {
          flush(true)
          this.#name = this.#text
          this.#text = ''
        } else out[length++] = byte === PLUS ? SPACE : byte
      }
    }
    flush(false)
  }

  end(): ParameterBag {
    if (this.#escape !== '') throw badText()
    this.#add(undefined, true)
    this.#endPair()
    return this.#bag
  }

  #add(bytes: Buffer | undefined, ends: boolean): void {
    try {
      this.#text += checkText(this.#decoder.decode(bytes, { stream: !ends }))
    } catch (error) {
      throw error instanceof Failure ? error : badText()
    }
    if (this.#name === undefined && this.#text.length > MAX_NAME) throw invalidInput('a parameter name is too long')
  }

  #endPair(): void {
    if (this.#begun) {
      if (++this.elements > MAX_FIELDS) throw invalidInput('too many parameters')
      if (this.#name === undefined) put(this.#bag, this.#text, null)
      else put(this.#bag, this.#name, this.#text)
    }
    this.#name = undefined
    this.#text = ''
    this.#begun = false
  }
}

/** Puts one field with bracket notation into the bag (W-3). `value` is text, or null when the field had no `=`. */
export function put(bag: ParameterBag, name: string, value: unknown): void {
  const bracket = name.indexOf('[')
  if (bracket <= 0) {
    setField(bag, name, value)
    return
  }
  const keys = [name.slice(0, bracket)]
  let at = bracket
  while (at < name.length) {
    const close = name.indexOf(']', at)
    if (name[at] !== '[' || close < 0) {
      setField(bag, name, value) // not bracket notation after all, but an ordinary, odd name
      return
    }
    keys.push(name.slice(at + 1, close))
    at = close + 1
  }
  if (keys.length > MAX_DEPTH) throw invalidInput('parameters are nested too deeply')
  insert(bag, keys, value)
}

function insert(top: ParameterBag, keys: string[], value: unknown) {
  let map = top
  for (let i = 0; ; i++) {
    const key = keys[i] as string
    if (FORBIDDEN_KEYS.has(key)) return
    if (i === keys.length - 1) return setField(map, key, value)
    if (keys[i + 1] !== '') {
      const inner = map[key]
      const below = isBag(inner) ? inner : emptyParameterBag()
      map[key] = below
      map = below
      continue
    }
    const plain = i + 1 === keys.length - 1 ? valuesOf(map, key) : undefined
    const list: unknown[] = Array.isArray(map[key]) ? map[key] : (plain ?? [])
    map[key] = list
    if (i + 1 === keys.length - 1) {
      list.push(value)
      return
    }
    // a list of maps: a key that the last element already has starts a new one
    const last = list[list.length - 1]
    if (isBag(last) && !holds(last, keys, i + 2)) map = last
    else {
      map = emptyParameterBag()
      list.push(map)
    }
    i++
  }
}

function holds(element: ParameterBag, keys: string[], from: number): boolean {
  let value: unknown = element
  for (let i = from; i < keys.length; i++) {
    if (keys[i] === '') return false
    if (!isBag(value) || !((keys[i] as string) in value)) return false
    value = value[keys[i] as string]
  }
  return true
}

const REPEATED = Symbol('all values of names that are given several times')
type WithRepeated = ParameterBag & { [REPEATED]?: Map<string, unknown[]> }

/** All values of a plain field, which is a list where a list is expected, however often the name is given (W-3). */
export function valuesOf(bag: ParameterBag, name: string): unknown[] | undefined {
  const value = bag[name]
  return (bag as WithRepeated)[REPEATED]?.get(name) ?? (Array.isArray(value) || isBag(value) || value === undefined ? undefined : [value])
}

/** All values of a plain field that is given several times. */
export const repeatedValuesOf = (bag: ParameterBag, name: string): unknown[] | undefined => (bag as WithRepeated)[REPEATED]?.get(name)

/** Puts a field; the last one wins, and the others are kept for parameters that are lists. */
function setField(bag: ParameterBag, key: string, value: unknown) {
  const before = bag[key]
  const known = repeatedValuesOf(bag, key)
  if (known) known.push(value)
  else if (before !== undefined && !isBag(before)) keepValues(bag, key, Array.isArray(before) ? [...before, value] : [before, value])
  set(bag, key, value)
}

function keepValues(bag: WithRepeated, key: string, values: unknown[]) {
  let all = bag[REPEATED]
  if (!all) {
    all = new Map()
    Object.defineProperty(bag, REPEATED, { value: all })
  }
  all.set(key, values)
}

/** One bag of several; a name in a later one replaces it (G-4). */
export function joinBags(...bags: (ParameterBag | undefined)[]): ParameterBag {
  const joined = emptyParameterBag()
  for (const bag of bags) {
    if (!bag) continue
    for (const name of Object.keys(bag)) {
      joined[name] = bag[name]
      const values = repeatedValuesOf(bag, name)
      if (values) keepValues(joined, name, values)
      else (joined as WithRepeated)[REPEATED]?.delete(name)
    }
  }
  return joined
}

/** Puts a value under a name; names that have a meaning in JavaScript are left out (SEC-72). */
export function set(bag: ParameterBag, key: string, value: unknown) {
  if (key.length > MAX_KEY) throw invalidInput('a parameter name is too long')
  if (!FORBIDDEN_KEYS.has(key)) bag[key] = value
}

export const isBag = (value: unknown): value is ParameterBag =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !Buffer.isBuffer(value)

/** Refuses NUL and lone surrogates, which neither Postgres nor Git can store (SEC-49, SEC-50). */
export function checkText(text: string): string {
  if (text.includes('\0')) throw invalidInput('a parameter contains a NUL character')
  if (!text.isWellFormed()) throw invalidInput('a parameter is not valid Unicode')
  return text
}
