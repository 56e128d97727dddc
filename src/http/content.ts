import { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'

/** The first and the last byte. */
export interface Range {
  start: number
  end: number
}

/** Bytes that a client may have already, or want a part of (W-44, W-45). */
export class Content {
  constructor(
    readonly of: {
      /** With its quotes; weak where another version of Git might give other bytes. */
      etag: string
      headers: Record<string, string>
      /** Undefined: not known before they are made, so there are no parts of them. */
      size?: number
      /** All bytes, or those of a range; asked for once, and not for HEAD. */
      open(range?: Range): Promise<Readable | Buffer | { size: number | null; stream: Readable }>
    },
  ) {}
}

/** Answers a GET or HEAD of bytes: 304 where the client has them, 206 or 416 where it asks for a part. */
export async function sendContent(request: FastifyRequest, reply: FastifyReply, { of }: Content): Promise<FastifyReply> {
  const { etag, headers, size } = of
  reply.headers({ etag, ...(size !== undefined && { 'accept-ranges': 'bytes' }) })
  if (hasAlready(request.headers['if-none-match'], etag)) return reply.code(304).send()
  reply.headers(headers)
  // for no body at all the framework would say that there are no bytes
  if (request.method === 'HEAD') return size === undefined ? reply.send() : reply.header('content-length', size).send(Readable.from([]))
  const range = size === undefined || !isOf(request.headers['if-range'], etag) ? null : rangeOf(request.headers.range, size)
  if (range === 'unsatisfiable')
    return reply
      .code(416)
      .header('content-range', `bytes */${size}`)
      .header('content-type', 'application/json')
      .send(JSON.stringify({ message: '416 Range Not Satisfiable' }))
  const opened = await of.open(range ?? undefined)
  const { stream, length } = 'stream' in opened ? { stream: opened.stream, length: opened.size } : { stream: opened, length: size ?? null }
  if (range) {
    reply.code(206).headers({ 'content-range': `bytes ${range.start}-${range.end}/${size}`, 'content-length': range.end - range.start + 1 })
  } else if (length !== null) reply.header('content-length', length)
  return reply.send(stream)
}

const bare = (etag: string) => etag.trim().replace(/^W\//, '')

/** Whether If-None-Match names it; weak comparison. */
const hasAlready = (header: string | undefined, etag: string) =>
  header !== undefined && (header.trim() === '*' || header.split(',').some((one) => bare(one) === bare(etag)))

/** Whether If-Range admits a part: strong comparison; dates are never those of our bytes, which have none. */
const isOf = (header: string | string[] | undefined, etag: string) => header === undefined || (header === etag && !etag.startsWith('W/'))

/** The one range that is asked for; null where the header is to be ignored: other units, several ranges, no sense. */
function rangeOf(header: string | undefined, size: number): Range | 'unsatisfiable' | null {
  const [, first = '', last = ''] = /^bytes=[ \t]*(\d*)-(\d*)[ \t]*$/i.exec(header ?? '') ?? []
  if (first === '') {
    if (last === '' || size === 0) return null
    return Number(last) === 0 ? 'unsatisfiable' : { start: Math.max(0, size - Number(last)), end: size - 1 }
  }
  if (last !== '' && Number(last) < Number(first)) return null
  return Number(first) >= size ? 'unsatisfiable' : { start: Number(first), end: last === '' ? size - 1 : Math.min(Number(last), size - 1) }
}
