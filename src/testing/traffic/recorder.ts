import { isUtf8 } from 'node:buffer'
import type { IncomingHttpHeaders } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { type CallFilter, type CallTarget, matcher, targetOf } from './matching.js'

/** Maximum number of recorded calls, and bytes of their bodies; the oldest are dropped first. */
const MAX_CALLS = 10_000
const MAX_BYTES = 64 * 1024 ** 2
/** Bytes that are kept of one body. */
const MAX_BODY = 64 * 1024

/** Parsed where it is JSON and whole, otherwise a text; null: there is none, or it is no text. */
type Body = unknown

/** A call that was answered, or whose client has left. */
export interface RecordedCall extends CallTarget {
  /** Counted from one since the last reset, in the order in which calls came. */
  number: number
  /** With the question mark; empty: there is none. */
  query: string
  /** As they were sent, credentials included. */
  headers: IncomingHttpHeaders
  body: Body
  /** The username; null: nobody, a refused credential, or a call that was met by a fault or a limit. */
  caller: string | null
  /** Whoever acts as the caller. */
  sudoer: string | null
  /** Null: the connection ended before an answer. */
  status: number | null
  answer: Body
  /** Milliseconds. */
  duration: number
}

/** Bytes after which a response is truncated. */
interface Truncation {
  after: number
}

/** Keeps the last calls in memory. */
export class Recorder {
  #calls: { call: RecordedCall; bytes: number }[] = []
  #bytes = 0
  #number = 0
  #dropped = 0
  /** Calls that began before the last reset are not kept. */
  #epoch = 0

  /** Records a call; the returned `cut` truncates its response. */
  record(request: FastifyRequest, reply: FastifyReply): { target: CallTarget; cut(after: number): void } {
    const [start, epoch, number, target] = [performance.now(), this.#epoch, ++this.#number, targetOf(request)]
    const [sent, answered] = [new BodyCapture(), new BodyCapture()]
    const cut: Truncation = { after: Number.POSITIVE_INFINITY }
    captureBody(request, sent)
    captureAnswer(reply, answered, cut)
    reply.raw.once('close', () => {
      if (epoch !== this.#epoch) return
      const { caller, headers, raw } = request
      const call: RecordedCall = {
        number,
        ...target,
        query: (raw.url ?? '').slice(target.path.length),
        headers,
        body: sent.as(headers['content-type']),
        caller: caller?.user?.username ?? request.gitUser ?? null,
        sudoer: (caller?.user && caller.sudoer?.username) ?? null,
        status: reply.raw.headersSent ? reply.raw.statusCode : null,
        answer: answered.as(answered.type),
        duration: Math.round((performance.now() - start) * 10) / 10,
      }
      this.#keep(call, sent.bytes + answered.bytes)
    })
    return {
      target,
      cut(after) {
        cut.after = after
      },
    }
  }

  /** The matching calls in order of arrival, and the number of dropped ones. */
  list({ caller, status, ...where }: CallFilter & { caller?: string | undefined; status?: number | undefined } = {}): {
    requests: RecordedCall[]
    dropped: number
  } {
    const matches = matcher(where)
    const found = this.#calls
      .map(({ call }) => call)
      .filter((call) => matches(call) && (caller === undefined || call.caller === caller) && (status === undefined || call.status === status))
    return { requests: found.sort((a, b) => a.number - b.number), dropped: this.#dropped }
  }

  /** Drops all calls, including running ones. */
  clear(): void {
    this.#calls = []
    this.#bytes = this.#number = this.#dropped = 0
    this.#epoch++
  }

  #keep(call: RecordedCall, bytes: number): void {
    this.#calls.push({ call, bytes })
    this.#bytes += bytes
    while (this.#calls.length > MAX_CALLS || this.#bytes > MAX_BYTES) {
      this.#bytes -= this.#calls.shift()?.bytes ?? 0
      this.#dropped++
    }
  }
}

/** Captures the beginning of a body. */
class BodyCapture {
  bytes = 0
  /** Whether there was more. */
  #more = false
  #pieces: Buffer[] = []
  type: string | undefined

  add(piece: Buffer): void {
    const kept = piece.subarray(0, MAX_BODY - this.bytes)
    this.#more ||= kept.length < piece.length
    if (kept.length === 0) return
    this.bytes += kept.length
    // a piece may be part of a large buffer, which would stay as long as it
    this.#pieces.push(Buffer.from(kept))
  }

  as(type: string | undefined): Body {
    const whole = Buffer.concat(this.#pieces)
    if (whole.length === 0 || !(this.#more || isUtf8(whole))) return null
    const text = whole.toString()
    if (this.#more || !/^application\/([a-z.+-]+\+)?json\b/.test(type ?? '')) return text.includes('\0') ? null : text
    try {
      return JSON.parse(text)
    } catch {
      return text
    }
  }
}

/** Sees the body as it is read, whoever reads it. */
function captureBody({ raw }: FastifyRequest, capture: BodyCapture): void {
  const emit = raw.emit.bind(raw)
  raw.emit = (event: string | symbol, ...values: unknown[]) => {
    if (event === 'data') capture.add(values[0] as Buffer)
    return emit(event as string, ...values)
  }
}

/** Sees an answer as it is written, and ends it with the connection where it is to be cut. */
function captureAnswer(reply: FastifyReply, capture: BodyCapture, cut: Truncation): void {
  const { raw } = reply
  const [write, end] = [raw.write.bind(raw), raw.end.bind(raw)]
  let written = 0
  /** Whether the answer ends with this piece. */
  const take = (piece: unknown, encoding: unknown): boolean => {
    if (written > cut.after) return true
    if (typeof piece !== 'string' && !(piece instanceof Uint8Array)) return false
    const bytes =
      typeof piece === 'string' ? Buffer.from(piece, typeof encoding === 'string' ? (encoding as BufferEncoding) : 'utf8') : Buffer.from(piece)
    capture.type = String(reply.getHeader('content-type') ?? '')
    const kept = bytes.subarray(0, cut.after - written)
    capture.add(kept)
    written += bytes.length
    if (written <= cut.after) return false
    write(kept, () => raw.destroy())
    return true
  }
  raw.write = ((piece: unknown, ...rest: unknown[]) => take(piece, rest[0]) || write(piece, ...(rest as []))) as typeof write
  raw.end = ((piece: unknown, ...rest: unknown[]) => (take(piece, rest[0]) ? raw : end(piece, ...(rest as [])))) as typeof end
}
