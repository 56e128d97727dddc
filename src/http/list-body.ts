import type { Context } from '../context.js'
import type { Slices } from '../lib/async/slices.js'
import { Rendered } from './rendered-cache.js'

/** Bytes that the answer to a list has at most (SEC-178). */
export const LIST_BYTES = 8 * 1024 * 1024
/** Bytes from which a list waits for its turn (SEC-180). */
const LARGE_BYTES = 1024 * 1024
/** Characters from which on a text counts as long. */
const LONG = 8_192
/** JSON bytes up to which a text is never cut. */
const SHORT = 1_024
/** Put where a text was cut. */
const MARK = '...'
const MARK_BYTES = 3
/** Characters rendered before yielding to the event loop, and bytes written at a time. */
const PIECE = 64 * 1024

/**
 * The elements of a list as JSON, one text each. When they are larger together than a list may be, long texts are cut
 * to a common length at which they fit (SEC-178); the view of a single element has them whole. A
 * large list waits until it may be held.
 */
export async function renderElements({ slices, origin }: Pick<Context, 'slices' | 'origin'>, items: unknown[]): Promise<string[]> {
  if (longTextBytes(items) > LARGE_BYTES) {
    await origin?.holdLarge?.()
    return cutElements(slices, items)
  }
  const texts: string[] = []
  // the brackets
  let bytes = 2
  let unwatched = 0
  for (const item of items) {
    const render = () => (item instanceof Rendered ? item.text : JSON.stringify(item))
    const text = unwatched < PIECE ? render() : await slices.run(render)
    unwatched = unwatched < PIECE ? unwatched + text.length : text.length
    bytes += Buffer.byteLength(text) + 1
    if (bytes > LARGE_BYTES) await origin?.holdLarge?.()
    if (bytes > LIST_BYTES) return cutElements(slices, items)
    texts.push(text)
  }
  return texts
}

/** A lower bound of the bytes of the long texts at the first level of elements. */
function longTextBytes(items: unknown[]): number {
  let bytes = 0
  for (const item of items)
    if (typeof item === 'object' && item !== null && !(item instanceof Rendered))
      for (const value of Object.values(item)) if (typeof value === 'string' && value.length > LONG) bytes += value.length
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
        if (jsonSize(text, SHORT).bytes <= SHORT) return text
        long.push(text)
        return ''
      })
      rest += Buffer.byteLength(without) + 1
    })
  }
  const limit = await commonLimit(slices, long, LIST_BYTES - rest)
  const texts: string[] = []
  for (const value of values) texts.push(await slices.run(() => replaceTexts(value, (text) => cutText(text, limit))))
  return texts
}

/**
 * The size as JSON to which the texts are cut so that all together take at most `room` bytes. Of each text no more is
 * read than shows that it will be cut.
 */
async function commonLimit(slices: Slices, texts: string[], room: number): Promise<number> {
  for (let most = Math.max(SHORT, (2 * room) / texts.length); ; most *= 4) {
    const sizes: number[] = []
    for (const text of texts) sizes.push(await slices.run(() => jsonSize(text, most).bytes))
    const limit = levelOf(sizes, room)
    if (limit <= most || sizes.every((size) => size <= most)) return limit
  }
}

/** The value as JSON, with texts longer than `SHORT` replaced. */
const replaceTexts = (value: unknown, replace: (text: string) => string) =>
  JSON.stringify(value, (_, part: unknown) => (typeof part === 'string' && part.length > SHORT / 6 ? replace(part) : part))

/** The size to which the larger things are cut so that all together take at most `room`. */
export function levelOf(sizes: number[], room: number): number {
  const ascending = [...sizes].sort((a, b) => a - b)
  let left = Math.max(0, room)
  for (const [i, size] of ascending.entries()) {
    const level = Math.floor(left / (ascending.length - i))
    if (size > level) return level
    left -= size
  }
  return Number.POSITIVE_INFINITY
}

/** The text if it takes at most so many bytes as JSON, otherwise its beginning. */
function cutText(text: string, limit: number): string {
  const most = Math.max(limit, SHORT)
  if (text.length <= most && jsonSize(text, most).bytes <= most) return text
  return text.slice(0, jsonSize(text, most - MARK_BYTES).end) + MARK
}

const QUOTE = 0x22
const BACKSLASH = 0x5c
/** Control characters that JSON writes as two characters: \b \t \n \f \r. */
const NAMED = new Set([8, 9, 10, 12, 13])

/** Bytes of a text within JSON, counted until they exceed `most`, and the index of the character where they do. */
function jsonSize(text: string, most: number): { bytes: number; end: number } {
  let bytes = 0
  let at = 0
  while (at < text.length) {
    const code = text.charCodeAt(at)
    let size = 3
    let length = 1
    if (code < 0x80) size = code < 0x20 ? (NAMED.has(code) ? 2 : 6) : code === QUOTE || code === BACKSLASH ? 2 : 1
    else if (code < 0x800) size = 2
    else if (code >= 0xd800 && code <= 0xdfff) {
      const pair = code < 0xdc00 && at + 1 < text.length && (text.charCodeAt(at + 1) & 0xfc00) === 0xdc00
      size = pair ? 4 : 6
      length = pair ? 2 : 1
    }
    if (bytes + size > most) return { bytes: bytes + size, end: at }
    bytes += size
    at += length
  }
  return { bytes, end: at }
}

/** An object with lists whose elements have been rendered already. */
export function renderWith(fields: object, lists: Record<string, string[]>): Rendered {
  const parts = Object.entries(lists).map(([name, texts]) => `${JSON.stringify(name)}:[${texts.join(',')}]`)
  return new Rendered(`${JSON.stringify(fields).slice(0, -1)},${parts.join(',')}}`)
}

/** A list as it is sent: a small one as its text, a large one as pieces of bytes, and how many bytes they are. */
export async function listBody(slices: Slices, texts: string[]): Promise<string | { pieces: Buffer[]; bytes: number }> {
  const characters = texts.reduce((sum, text) => sum + text.length + 1, 1)
  if (characters <= PIECE) return `[${texts.join(',')}]`
  const pieces: Buffer[] = []
  let piece = '['
  for (const [i, text] of texts.entries()) {
    piece += i === 0 ? text : `,${text}`
    if (piece.length < PIECE) continue
    pieces.push(await slices.run(() => Buffer.from(piece)))
    piece = ''
  }
  pieces.push(Buffer.from(`${piece}]`))
  return { pieces, bytes: pieces.reduce((sum, { length }) => sum + length, 0) }
}
