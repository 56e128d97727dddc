import { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { attachment } from './disposition.js'

/** A byte range, both ends inclusive. */
export interface Range {
  start: number
  end: number
}

/** The policy of a picture that may be SVG: nothing runs in it or is loaded, its own styles count. */
export const PICTURE_POLICY = "default-src 'none'; style-src 'unsafe-inline'; sandbox"

/** Content that a client may already have, or may request a range of (W-44, W-45). */
export class Content {
  constructor(
    readonly source: {
      /** With quotes; weak if another version of Git may produce other bytes. */
      etag: string
      headers: Record<string, string>
      /** Undefined if the size is not known in advance; then ranges are not supported. */
      size?: number
      /** Opens all bytes or a range; called at most once, and not for HEAD. */
      open(range?: Range): Promise<Readable | Buffer | { size: number | null; stream: Readable }>
    },
  ) {}
}

/** A file to be saved under its name. */
export const downloadOf = ({ filename, ...file }: Omit<Content['source'], 'headers'> & { filename: string }, type: string): Content =>
  new Content({ ...file, headers: { 'content-type': type, 'content-disposition': attachment(filename) } })

/** Responds to a GET or HEAD: 304 if the client has the content, 206 or 416 for a range. */
export async function sendContent(request: FastifyRequest, reply: FastifyReply, { source }: Content): Promise<FastifyReply> {
  const { etag, headers, size } = source
  reply.headers({ etag, ...(size !== undefined && { 'accept-ranges': 'bytes' }) })
  if (matchesIfNoneMatch(request.headers['if-none-match'], etag)) return reply.code(304).send()
  reply.headers(headers)
  // without a body Fastify would send a length of 0
  if (request.method === 'HEAD') return size === undefined ? reply.send() : reply.header('content-length', size).send(Readable.from([]))
  const range = size === undefined || !matchesIfRange(request.headers['if-range'], etag) ? null : parseRange(request.headers.range, size)
  if (range === 'unsatisfiable')
    return reply
      .code(416)
      .header('content-range', `bytes */${size}`)
      .header('content-type', 'application/json')
      .send(JSON.stringify({ message: '416 Range Not Satisfiable' }))
  const opened = await source.open(range ?? undefined)
  const { stream, length } = 'stream' in opened ? { stream: opened.stream, length: opened.size } : { stream: opened, length: size ?? null }
  if (range) {
    reply.code(206).headers({ 'content-range': `bytes ${range.start}-${range.end}/${size}`, 'content-length': range.end - range.start + 1 })
  } else if (length !== null) reply.header('content-length', length)
  return reply.send(stream)
}

const withoutWeakPrefix = (etag: string) => etag.trim().replace(/^W\//, '')

/** Whether If-None-Match contains the etag, by weak comparison. */
const matchesIfNoneMatch = (header: string | undefined, etag: string) =>
  header !== undefined && (header.trim() === '*' || header.split(',').some((one) => withoutWeakPrefix(one) === withoutWeakPrefix(etag)))

/**
 * Whether If-Range allows a partial response, by strong comparison; a date never matches, because there is no
 * Last-Modified.
 */
const matchesIfRange = (header: string | string[] | undefined, etag: string) => header === undefined || (header === etag && !etag.startsWith('W/'))

/** Parses the Range header; null if it must be ignored: another unit, several ranges, or invalid. */
function parseRange(header: string | undefined, size: number): Range | 'unsatisfiable' | null {
  const [, first = '', last = ''] = /^bytes=[ \t]*(\d*)-(\d*)[ \t]*$/i.exec(header ?? '') ?? []
  if (first === '') {
    if (last === '' || size === 0) return null
    return Number(last) === 0 ? 'unsatisfiable' : { start: Math.max(0, size - Number(last)), end: size - 1 }
  }
  if (last !== '' && Number(last) < Number(first)) return null
  return Number(first) >= size ? 'unsatisfiable' : { start: Number(first), end: last === '' ? size - 1 : Math.min(Number(last), size - 1) }
}
