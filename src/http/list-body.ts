import type { Context } from '../context.js'
import type { Slices } from '../lib/async/slices.js'
import { Rendered } from './rendered-cache.js'

/** Maximum size of the response to a list, in bytes (SEC-178). */
export const MAX_LIST_BYTES = 8 * 1024 * 1024
/** Size from which a list waits in the queue for large responses, in bytes (SEC-180). */
const LARGE_LIST_BYTES = 1024 * 1024
/** Texts with more characters count as long. */
const LONG_TEXT_LENGTH = 8_192
/** Texts of at most this many JSON bytes are never truncated. */
const MIN_CUT_BYTES = 1_024
/** Appended to truncated texts. */
const ELLIPSIS = '...'
const ELLIPSIS_BYTES = 3
/** Characters rendered before yielding to the event loop, and bytes written at a time. */
const PIECE_SIZE = 64 * 1024

/**
 * Renders the elements of a list as JSON. If they exceed the maximum size together, long texts are truncated to a
 * common length at which they fit (SEC-178); the view of a single element has them whole. A large list waits in the
 * queue for large responses.
 */
export async function renderElements({ cpu: { slices }, origin }: Pick<Context, 'cpu' | 'origin'>, items: unknown[]): Promise<string[]> {
  if (longTextBytes(items) > LARGE_LIST_BYTES) {
    await origin?.holdLarge?.()
    return cutElements(slices, items)
  }
  const texts: string[] = []
  // the brackets
  let bytes = 2
  let unsliced = 0
  for (const item of items) {
    const render = () => (item instanceof Rendered ? item.text : JSON.stringify(item))
    const text = unsliced < PIECE_SIZE ? render() : await slices.run(render)
    unsliced = unsliced < PIECE_SIZE ? unsliced + text.length : text.length
    bytes += Buffer.byteLength(text) + 1
    if (bytes > LARGE_LIST_BYTES) await origin?.holdLarge?.()
    if (bytes > MAX_LIST_BYTES) return cutElements(slices, items)
    texts.push(text)
  }
  return texts
}

/** A lower bound of the size of the long texts at the first level of elements, in bytes. */
function longTextBytes(items: unknown[]): number {
  let bytes = 0
  for (const item of items)
    if (typeof item === 'object' && item !== null && !(item instanceof Rendered))
      for (const value of Object.values(item)) if (typeof value === 'string' && value.length > LONG_TEXT_LENGTH) bytes += value.length
  return bytes
}

async function cutElements(slices: Slices, items: unknown[]): Promise<string[]> {
  const values: unknown[] = []
  const long: string[] = []
  let rest = 2
  for (const item of items) {
    await slices.run(() => {
      const value = item instanceof Rendered ? JSON.parse(item.text) : item
      values.push(value)
      const without = replaceTexts(value, (text) => {
        if (jsonSize(text, MIN_CUT_BYTES).bytes <= MIN_CUT_BYTES) return text
        long.push(text)
        return ''
      })
      rest += Buffer.byteLength(without) + 1
    })
  }
  const limit = await commonLimit(slices, long, MAX_LIST_BYTES - rest)
  const texts: string[] = []
  for (const value of values) texts.push(await slices.run(() => replaceTexts(value, (text) => cutText(text, limit))))
  return texts
}

/**
 * The JSON size to which texts are truncated, so that all together take at most `budget` bytes. Each text is measured
 * only as far as needed to know that it will be truncated.
 */
async function commonLimit(slices: Slices, texts: string[], budget: number): Promise<number> {
  for (let maxBytes = Math.max(MIN_CUT_BYTES, (2 * budget) / texts.length); ; maxBytes *= 4) {
    const sizes: number[] = []
    for (const text of texts) sizes.push(await slices.run(() => jsonSize(text, maxBytes).bytes))
    const limit = fittingLimit(sizes, budget)
    if (limit <= maxBytes || sizes.every((size) => size <= maxBytes)) return limit
  }
}

/** Renders the value as JSON, with long texts replaced. */
const replaceTexts = (value: unknown, replace: (text: string) => string) =>
  JSON.stringify(value, (_, part: unknown) => (typeof part === 'string' && part.length > MIN_CUT_BYTES / 6 ? replace(part) : part))

/** The size to which larger items are cut, so that all together take at most `budget`. */
export function fittingLimit(sizes: number[], budget: number): number {
  const ascending = [...sizes].sort((a, b) => a - b)
  let remaining = Math.max(0, budget)
  for (const [i, size] of ascending.entries()) {
    const level = Math.floor(remaining / (ascending.length - i))
    if (size > level) return level
    remaining -= size
  }
  return Number.POSITIVE_INFINITY
}

/** The text if its JSON takes at most this many bytes, otherwise its beginning. */
function cutText(text: string, limit: number): string {
  const maxBytes = Math.max(limit, MIN_CUT_BYTES)
  if (text.length <= maxBytes && jsonSize(text, maxBytes).bytes <= maxBytes) return text
  return text.slice(0, jsonSize(text, maxBytes - ELLIPSIS_BYTES).end) + ELLIPSIS
}

const QUOTE = 0x22
const BACKSLASH = 0x5c
/** Control characters that JSON escapes with two characters: \b \t \n \f \r. */
const SHORT_ESCAPES = new Set([8, 9, 10, 12, 13])

/** Size of a text in JSON, counted until it exceeds `maxBytes`, and the index of the character at which it does. */
function jsonSize(text: string, maxBytes: number): { bytes: number; end: number } {
  let bytes = 0
  let at = 0
  while (at < text.length) {
    const code = text.charCodeAt(at)
    let size = 3
    let length = 1
    if (code < 0x80) size = code < 0x20 ? (SHORT_ESCAPES.has(code) ? 2 : 6) : code === QUOTE || code === BACKSLASH ? 2 : 1
    else if (code < 0x800) size = 2
    else if (code >= 0xd800 && code <= 0xdfff) {
      const pair = code < 0xdc00 && at + 1 < text.length && (text.charCodeAt(at + 1) & 0xfc00) === 0xdc00
      size = pair ? 4 : 6
      length = pair ? 2 : 1
    }
    if (bytes + size > maxBytes) return { bytes: bytes + size, end: at }
    bytes += size
    at += length
  }
  return { bytes, end: at }
}

/** Renders an object with lists whose elements have already been rendered. */
export function renderWith(fields: object, lists: Record<string, string[]>): Rendered {
  const parts = Object.entries(lists).map(([name, texts]) => `${JSON.stringify(name)}:[${texts.join(',')}]`)
  return new Rendered(`${JSON.stringify(fields).slice(0, -1)},${parts.join(',')}}`)
}

/** The body of a list: a small one as text, a large one as chunks with their total size. */
export async function listBody(slices: Slices, texts: string[]): Promise<string | { pieces: Buffer[]; bytes: number }> {
  const characters = texts.reduce((sum, text) => sum + text.length + 1, 1)
  if (characters <= PIECE_SIZE) return `[${texts.join(',')}]`
  const pieces: Buffer[] = []
  let piece = '['
  for (const [i, text] of texts.entries()) {
    piece += i === 0 ? text : `,${text}`
    if (piece.length < PIECE_SIZE) continue
    pieces.push(await slices.run(() => Buffer.from(piece)))
    piece = ''
  }
  pieces.push(Buffer.from(`${piece}]`))
  return { pieces, bytes: pieces.reduce((sum, { length }) => sum + length, 0) }
}
