import type { Commit, Oid, Signature, Tag } from '../types.js'

/**
 * Parses any commit, however malformed: what cannot be parsed is empty, what cannot be decoded becomes U+FFFD (SEC-151,
 * SEC-152).
 */
export function parseCommit(oid: Oid, content: Buffer): Commit {
  const { headers, body } = split(content)
  const decode = decoder(headers)
  return {
    oid,
    tree: first(headers, 'tree')?.toString('latin1') ?? '',
    parents: headers.filter(({ name }) => name === 'parent').map(({ value }) => value.toString('latin1')),
    author: parseSignature(first(headers, 'author'), decode),
    committer: parseSignature(first(headers, 'committer'), decode),
    message: decode(body),
  }
}

/** Signature headers; the signature covers the commit without them. */
const SIGNATURE_HEADER = /^gpgsig(?:-sha256)? /

/** The signature of a commit and the bytes it covers; null if the commit is unsigned. */
export function parseSigned(content: Buffer): { signature: string; text: Buffer } | null {
  const text: Buffer[] = []
  const signature: string[] = []
  let at = 0
  let inside: 'gpgsig' | 'other' | null = null
  for (let end = content.indexOf(0x0a); end > at; end = content.indexOf(0x0a, at)) {
    const line = content.subarray(at, end + 1)
    const start = line.toString('latin1', 0, 'gpgsig-sha256 '.length)
    if (SIGNATURE_HEADER.test(start)) inside = start.startsWith('gpgsig ') ? 'gpgsig' : 'other'
    else if (line[0] !== 0x20) inside = null
    if (inside === null) text.push(line)
    // continuation lines begin with a space
    else if (inside === 'gpgsig') signature.push(line.toString('latin1', line[0] === 0x20 ? 1 : 'gpgsig '.length))
    at = end + 1
  }
  return signature.length === 0 ? null : { signature: signature.join(''), text: Buffer.concat([...text, content.subarray(at)]) }
}

/** Parses an annotated tag; `tagger` is null if it has none. */
export function parseTag(oid: Oid, content: Buffer): Tag {
  const { headers, body } = split(content)
  const decode = decoder(headers)
  const tagger = first(headers, 'tagger')
  return {
    oid,
    target: first(headers, 'object')?.toString('latin1') ?? '',
    targetType: (first(headers, 'type')?.toString('latin1') ?? 'commit') as Tag['targetType'],
    tagger: tagger ? parseSignature(tagger, decode) : null,
    message: decode(body),
  }
}

interface Header {
  name: string
  value: Buffer
}

/** Only this many bytes of headers are parsed, enough for thousands of parents. */
const MAX_HEADER_BYTES = 262_144

/** Splits off the headers, up to the first empty line. Continuation lines, which start with a space, are skipped. */
function split(content: Buffer): { headers: Header[]; body: Buffer } {
  const blank = content[0] === 0x0a ? -1 : content.indexOf('\n\n')
  const end = blank < 0 && content[0] !== 0x0a ? content.length : blank + 1
  const headers: Header[] = []
  for (let at = 0; at < Math.min(end, MAX_HEADER_BYTES); ) {
    const found = content.indexOf(0x0a, at)
    const line = content.subarray(at, found < 0 ? end : found)
    const space = line.indexOf(0x20)
    if (space > 0) headers.push({ name: line.toString('latin1', 0, space), value: line.subarray(space + 1) })
    at += line.length + 1
  }
  return { headers, body: content.subarray(end + 1) }
}

const first = (headers: Header[], name: string) => headers.find((header) => header.name === name)?.value

function decoder(headers: Header[]): (bytes: Buffer) => string {
  const label = first(headers, 'encoding')?.toString('latin1')
  if (label) {
    try {
      const named = new TextDecoder(label, { ignoreBOM: true })
      return (bytes) => named.decode(bytes)
    } catch {
      // an unknown encoding: read as UTF-8
    }
  }
  return (bytes) => bytes.toString('utf8')
}

/**
 * Parses `Name <mail> seconds offset`, each part of which may be missing. Like Git, searches for the last `>` before
 * the date.
 */
function parseSignature(value: Buffer | undefined, decode: (bytes: Buffer) => string): Signature {
  const nobody = { name: '', email: '', seconds: 0, offset: '+0000' }
  if (!value) return nobody
  const open = value.indexOf(0x3c)
  const close = value.lastIndexOf(0x3e)
  if (open < 0 || close < open) return { ...nobody, name: decode(value).trim() }
  const [, seconds = '0', offset = '+0000'] = /^\s*([+-]?\d+)(?:\s+([+-]\d+))?/.exec(value.toString('latin1', close + 1)) ?? []
  return {
    name: decode(value.subarray(0, open)).trim(),
    email: decode(value.subarray(open + 1, close)).trim(),
    seconds: clamp(Number(seconds)),
    offset,
  }
}

const clamp = (seconds: number) => Math.max(Number.MIN_SAFE_INTEGER, Math.min(Number.MAX_SAFE_INTEGER, seconds))
