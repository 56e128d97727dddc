import { isUtf8 } from 'node:buffer'

/**
 * Paths in Git are bytes. A path that is UTF-8 is its text; every byte that is not becomes a lone surrogate (U+DC80 to
 * U+DCFF), which no text has. Both ways lose nothing; where such a path is shown, its bytes become U+FFFD.
 */
const BYTE = /[\udc80-\udcff]/u
const BYTES = /[\udc80-\udcff]/gu
const OTHERS = /[^\udc80-\udcff]+/gu

/** Whether a path has bytes that are not UTF-8. */
export const hasBytes = (path: string): boolean => BYTE.test(path)

const byteOf = (character: string) => character.charCodeAt(0) & 0xff

export function bytesOfPath(path: string): Buffer {
  if (!hasBytes(path)) return Buffer.from(path)
  return Buffer.concat([...path].map((character) => (BYTE.test(character) ? Buffer.from([byteOf(character)]) : Buffer.from(character))))
}

export function pathOfBytes(bytes: Buffer): string {
  if (isUtf8(bytes)) return bytes.toString('utf8')
  let path = ''
  for (let at = 0; at < bytes.length; ) {
    const length = lengthAt(bytes, at)
    const character = bytes.subarray(at, at + Math.max(1, length))
    path += length > 0 && isUtf8(character) ? character.toString('utf8') : String.fromCharCode(0xdc00 + (bytes[at] as number))
    at += length > 0 && isUtf8(character) ? length : 1
  }
  return path
}

/** The bytes of the character that begins here, by its first byte; 0 where none does. */
function lengthAt(bytes: Buffer, at: number): number {
  const first = bytes[at] as number
  const length = first < 0x80 ? 1 : first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf5 ? 4 : 0
  return at + length <= bytes.length ? length : 0
}

/** A path as it is shown: bytes that are not UTF-8 as U+FFFD. */
export const shownPath = (path: string): string => (hasBytes(path) ? bytesOfPath(path).toString('utf8') : path)

/** A part of a path in a URL: each byte that is not UTF-8 as `%FF`. */
export const encodePath = (part: string): string =>
  hasBytes(part)
    ? part.replace(OTHERS, encodeURIComponent).replace(BYTES, (character) => `%${byteOf(character).toString(16).toUpperCase()}`)
    : encodeURIComponent(part)

/** Reads a part of a URL; null if it is malformed. */
export function decodePath(text: string): string | null {
  if (!text.includes('%')) return text
  if (/%(?![0-9a-f]{2})/i.test(text)) return null
  const bytes = text.replace(/[^%]+|%([0-9a-f]{2})/gi, (piece, code: string | undefined) =>
    code === undefined ? Buffer.from(piece).toString('latin1') : String.fromCharCode(Number.parseInt(code, 16)),
  )
  return pathOfBytes(Buffer.from(bytes, 'latin1'))
}

/**
 * The router takes URLs in UTF-8 alone, so for it each other byte is a character of a private plane (U+10FF80 to
 * U+10FFFF). Where a URL has these characters themselves, their own bytes are written in that way, too.
 */
const PRIVATE = /%F4%8F%B[EF]%[89AB][0-9A-F]/gi

export function urlForRouter(url: string): string {
  if (!/%[89a-f]/i.test(url)) return url
  const [path = '', ...query] = url.split('?')
  const plain = decodePath(path)
  if (plain === null || !(hasBytes(plain) || /[\u{10ff80}-\u{10ffff}]/u.test(plain))) return url
  const escaped = (byte: number) => encodeURIComponent(String.fromCodePoint(0x10ff00 + byte))
  const bytes = (text: string) => [...Buffer.from(text)].map(escaped).join('')
  const written = path
    .split('/')
    .map((part) =>
      [...(decodePath(part) ?? '')]
        .map((character) => {
          if (BYTE.test(character)) return escaped(byteOf(character))
          return /[\u{10ff80}-\u{10ffff}]/u.test(character) ? bytes(character) : encodeURIComponent(character)
        })
        .join(''),
    )
    .join('/')
  return [written, ...query].join('?')
}

/** The URL as it was sent. */
export const urlOfRouter = (url: string): string =>
  url.replace(PRIVATE, (text) => `%${((decodeURIComponent(text).codePointAt(0) as number) & 0xff).toString(16).toUpperCase()}`)

/** A part that the router has decoded, in which characters of the private plane are themselves again. */
export const textOfRouter = (text: string): string => (/[\u{10ff80}-\u{10ffff}]/u.test(text) ? pathOfBytes(bytesOfPath(pathOfRouter(text))) : text)

/** A path that the router has decoded. */
export const pathOfRouter = (text: string): string =>
  text.replace(/[\u{10ff80}-\u{10ffff}]/gu, (character) => String.fromCharCode(0xdc00 + ((character.codePointAt(0) as number) & 0xff)))
