import { Failure, invalidInput } from '../failures.js'

/** Parameters as they come in: text, lists, maps, and in JSON also numbers and booleans. Maps have no prototype, so any name is only a name (SEC-72, SEC-73). */
export type Bag = { [name: string]: unknown }

const MAX_DEPTH = 32
const MAX_ELEMENTS = 100_000
const MAX_KEY = 256
const FORBIDDEN_KEYS = new Set(['__proto__', 'constructor', 'prototype'])

export const emptyBag = (): Bag => Object.create(null) as Bag

/** Query string or urlencoded form → parameters, by the rules of Rack: `a=1&a=2` last wins, `b[]=` a list, `c[k]=` a map, a repeated key in `d[][k]=` starts a new element. Throws a Failure on broken encoding or broken limits. */
export function parseForm(text: string, maxFields = MAX_ELEMENTS): Bag {
  const bag = emptyBag()
  if (text === '') return bag
  let fields = 0
  for (const pair of text.split('&')) {
    if (pair === '') continue
    if (++fields > maxFields) throw invalidInput('too many parameters')
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
    throw invalidInput('a parameter is not valid UTF-8')
  }
}

/** Puts one field with bracket notation into the bag (W-3). `value` is text, or null when the field had no `=`. */
export function put(bag: Bag, name: string, value: unknown): void {
  const bracket = name.indexOf('[')
  if (bracket <= 0) {
    set(bag, name, value)
    return
  }
  const keys = [name.slice(0, bracket)]
  let at = bracket
  while (at < name.length) {
    const close = name.indexOf(']', at)
    if (name[at] !== '[' || close < 0) {
      set(bag, name, value) // not bracket notation after all: an ordinary, odd name
      return
    }
    keys.push(name.slice(at + 1, close))
    at = close + 1
  }
  if (keys.length > MAX_DEPTH) throw invalidInput('parameters are nested too deeply')
  insert(bag, keys, value)
}

function insert(top: Bag, keys: string[], value: unknown) {
  let map = top
  for (let i = 0; ; i++) {
    const key = keys[i] as string
    if (FORBIDDEN_KEYS.has(key)) return
    if (i === keys.length - 1) return set(map, key, value)
    if (keys[i + 1] !== '') {
      const inner = map[key]
      const below = isBag(inner) ? inner : emptyBag()
      map[key] = below
      map = below
      continue
    }
    const list: unknown[] = Array.isArray(map[key]) ? map[key] : []
    map[key] = list
    if (i + 1 === keys.length - 1) {
      list.push(value)
      return
    }
    // a list of maps: a key that the last element already has starts a new one
    const last = list[list.length - 1]
    if (isBag(last) && !holds(last, keys, i + 2)) map = last
    else {
      map = emptyBag()
      list.push(map)
    }
    i++
  }
}

function holds(element: Bag, keys: string[], from: number): boolean {
  let value: unknown = element
  for (let i = from; i < keys.length; i++) {
    if (keys[i] === '') return false
    if (!isBag(value) || !((keys[i] as string) in value)) return false
    value = value[keys[i] as string]
  }
  return true
}

function set(bag: Bag, key: string, value: unknown) {
  if (key.length > MAX_KEY) throw invalidInput('a parameter name is too long')
  if (!FORBIDDEN_KEYS.has(key)) bag[key] = value
}

export const isBag = (value: unknown): value is Bag => typeof value === 'object' && value !== null && !Array.isArray(value) && !Buffer.isBuffer(value)

/** Refuses NUL and lone surrogates, which neither Postgres nor Git can hold (SEC-49, SEC-50). */
export function checkText(text: string): string {
  if (text.includes('\0')) throw invalidInput('a parameter contains a NUL character')
  if (!text.isWellFormed()) throw invalidInput('a parameter is not valid Unicode')
  return text
}

/** A JSON body → parameters. It must be an object (G-5); depth, size and names are bounded before anything looks inside (SEC-71). */
export function parseJson(text: string): Bag {
  if (text.trim() === '') return emptyBag()
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw badJson()
  }
  if (!isBag(value)) throw badJson()
  let elements = 0
  const clean = (inner: unknown, depth: number): unknown => {
    if (typeof inner === 'string') return checkText(inner)
    if (typeof inner !== 'object' || inner === null) return inner
    if (depth > MAX_DEPTH) throw invalidInput('parameters are nested too deeply')
    if (Array.isArray(inner)) {
      elements += inner.length
      if (elements > MAX_ELEMENTS) throw invalidInput('too many parameters')
      for (let i = 0; i < inner.length; i++) inner[i] = clean(inner[i], depth + 1)
      return inner
    }
    const bag = emptyBag()
    for (const [key, item] of Object.entries(inner)) {
      if (++elements > MAX_ELEMENTS) throw invalidInput('too many parameters')
      set(bag, checkText(key), clean(item, depth + 1))
    }
    return bag
  }
  return clean(value, 1) as Bag
}

const badJson = () => invalidInput('message body does not match declared format')
