import { Failure, invalidInput } from '../failures.js'
import { decodePath } from '../lib/text/byte-path.js'

/**
 * Parameters as received: strings, lists, maps, and in JSON also numbers and booleans. Maps have no prototype, so that
 * any name is safe as a key (SEC-72, SEC-73).
 */
export type ParameterBag = { [name: string]: unknown }

/** Maximum nesting of the values of a body (SEC-71). */
export const MAX_DEPTH = 32
export const MAX_ELEMENTS = 100_000
export const MAX_KEY = 256
/** Maximum number of fields of a form (SEC-75). */
export const MAX_FIELDS = 1_000
const FORBIDDEN_KEYS = new Set(['__proto__', 'constructor', 'prototype'])

/** An object with an empty prototype, which V8 stores in a third of the memory of an object without a prototype. */
class BareObject {
  [name: string]: unknown
}
Object.setPrototypeOf(BareObject.prototype, null)
delete (BareObject.prototype as { constructor?: unknown }).constructor

export const emptyParameterBag = (): ParameterBag => new BareObject()

/**
 * Parses a query string or an urlencoded body by the rules of Rack: in `a=1&a=2` the last value wins, but a list parameter gets all values
 * (W-3, see `valuesOf`); `b[]=` makes a list, `c[k]=` a map, and a repeated key in `d[][k]=` starts a new element.
 * Throws a Failure on invalid encoding or exceeded limits. The values named in `paths` are paths, which need not be UTF-8
 * (RF-109).
 */
export function parseForm(text: string, paths: ReadonlySet<string> = NO_PATHS): ParameterBag {
  const bag = emptyParameterBag()
  let fields = 0
  let end: number
  for (let start = 0; start < text.length; start = end + 1) {
    end = text.indexOf('&', start)
    if (end < 0) end = text.length
    if (end === start) continue
    const pair = text.slice(start, end)
    if (++fields > MAX_FIELDS) throw invalidInput('too many parameters')
    const equals = pair.indexOf('=')
    const name = decode(equals < 0 ? pair : pair.slice(0, equals))
    put(bag, name, equals < 0 ? null : decode(pair.slice(equals + 1), paths.has(name)))
  }
  return bag
}

/** Parses an urlencoded body, in which the decoder has replaced bytes that are no UTF-8 by U+FFFD (SEC-50). */
export function parseFormBody(text: string): ParameterBag {
  if (text.includes('\ufffd')) throw badText()
  return parseForm(text)
}

const NO_PATHS: ReadonlySet<string> = new Set()

function decode(text: string, isPath = false): string {
  // `replaceAll` takes five times as long for a million of them
  const spaced = text.includes('+') ? text.split('+').join(' ') : text
  try {
    return checkText(decodeURIComponent(spaced))
  } catch (error) {
    const path = isPath && !(error instanceof Failure) ? decodePath(spaced) : null
    if (path !== null) return checkNul(path)
    if (error instanceof Failure) throw error
    throw badText()
  }
}

const badText = () => invalidInput('a parameter is not valid UTF-8')

/** Adds a field with bracket notation to the bag (W-3). `value` is null if the field had no `=`. */
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
      setField(bag, name, value) // not bracket notation, but an odd name
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
      const child = isBag(inner) ? inner : emptyParameterBag()
      map[key] = child
      map = child
      continue
    }
    const plain = i + 1 === keys.length - 1 ? valuesOf(map, key) : undefined
    const list: unknown[] = Array.isArray(map[key]) ? map[key] : (plain ?? [])
    map[key] = list
    if (i + 1 === keys.length - 1) {
      list.push(value)
      return
    }
    // in a list of maps, a key that the last element already has starts a new element
    const last = list[list.length - 1]
    if (isBag(last) && !hasPath(last, keys, i + 2)) map = last
    else {
      map = emptyParameterBag()
      list.push(map)
    }
    i++
  }
}

function hasPath(element: ParameterBag, keys: string[], from: number): boolean {
  let value: unknown = element
  for (let i = from; i < keys.length; i++) {
    if (keys[i] === '') return false
    if (!isBag(value) || !((keys[i] as string) in value)) return false
    value = value[keys[i] as string]
  }
  return true
}

const REPEATED = Symbol('all values of repeated names')
type WithRepeated = ParameterBag & { [REPEATED]?: Map<string, unknown[]> }

/** All values of a plain field for a parameter that is a list, however often the name occurs (W-3). */
export function valuesOf(bag: ParameterBag, name: string): unknown[] | undefined {
  const value = bag[name]
  return (bag as WithRepeated)[REPEATED]?.get(name) ?? (Array.isArray(value) || isBag(value) || value === undefined ? undefined : [value])
}

/** All values of a plain field that occurs several times. */
export const repeatedValuesOf = (bag: ParameterBag, name: string): unknown[] | undefined => (bag as WithRepeated)[REPEATED]?.get(name)

/** Sets a field; the last value wins, and the others are stored for list parameters. */
function setField(bag: ParameterBag, key: string, value: unknown) {
  const before = bag[key]
  const known = repeatedValuesOf(bag, key)
  if (known) known.push(value)
  else if (before !== undefined && !isBag(before)) storeRepeated(bag, key, Array.isArray(before) ? [...before, value] : [before, value])
  set(bag, key, value)
}

function storeRepeated(bag: WithRepeated, key: string, values: unknown[]) {
  let all = bag[REPEATED]
  if (!all) {
    all = new Map()
    Object.defineProperty(bag, REPEATED, { value: all })
  }
  all.set(key, values)
}

/** Merges bags; a name in a later one replaces it (G-4). */
export function joinBags(...bags: (ParameterBag | undefined)[]): ParameterBag {
  const joined = emptyParameterBag()
  for (const bag of bags) {
    if (!bag) continue
    for (const name of Object.keys(bag)) {
      joined[name] = bag[name]
      const values = repeatedValuesOf(bag, name)
      if (values) storeRepeated(joined, name, values)
      else (joined as WithRepeated)[REPEATED]?.delete(name)
    }
  }
  return joined
}

/** Sets a value; names with a meaning in JavaScript are ignored (SEC-72). */
export function set(bag: ParameterBag, key: string, value: unknown) {
  if (key.length > MAX_KEY) throw invalidInput('a parameter name is too long')
  if (!FORBIDDEN_KEYS.has(key)) bag[key] = value
}

export const isBag = (value: unknown): value is ParameterBag =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !Buffer.isBuffer(value)

/** Refuses NUL and lone surrogates, which neither Postgres nor Git can store (SEC-49, SEC-50). */
export function checkText(text: string): string {
  checkNul(text)
  if (!text.isWellFormed()) throw invalidInput('a parameter is not valid Unicode')
  return text
}

function checkNul(text: string): string {
  if (text.includes('\0')) throw invalidInput('a parameter contains a NUL character')
  return text
}
