import type { IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Config } from '../config.js'
import { Failure, STATUS, tooLarge, unknownType } from '../failures.js'
import { type Pace, watchPace } from '../lib/pace.js'
import { Slices } from '../lib/slices.js'
import { Unavailable } from '../lib/unavailable.js'
import { type Bag, emptyBag, FormReader } from './form.js'
import { JsonReader } from './json.js'
import { MultipartReader } from './uploads.js'

/** Bytes of a body that are read whoever sends it (SEC-71). */
export const UNASKED_BYTES = 64 * 1024
/** Bytes that are parsed in one go. */
const PIECE = 16 * 1024
/** Bytes that a value of a body takes beside its letters. */
const ELEMENT_BYTES = 100
/** Seconds until a body that found no room is worth sending again. */
const RETRY_AFTER = 5

declare module 'fastify' {
  interface FastifyRequest {
    /** Refuses a caller who may not send a body above 64 KiB, by what is known before it is read; a route without takes no such bodies. */
    admit?: () => Promise<void>
    /** Gives back the memory that the body was counted for; called when nothing refers to it any more. */
    releaseBody?: () => void
  }
}

/** Makes parameters of a body, piece by piece. */
interface BodyReader {
  /** Values so far. */
  readonly elements?: number
  push(bytes: Buffer): void | Promise<void>
  end(): Bag | Promise<Bag>
}

/** Bytes of all larger bodies that are held at once. */
class BodyMemory {
  #held = 0

  constructor(private readonly limit: number) {}

  take(bytes: number): void {
    if (this.#held + bytes > this.limit) throw new Unavailable('the bodies of other requests take all memory there is for them', RETRY_AFTER)
    this.#held += bytes
  }

  free(bytes: number): void {
    this.#held -= bytes
  }
}

/** Parsers of all types of bodies (G-5). A body is counted, paced and parsed as it comes: whoever may not send it is refused once 64 KiB are read, and what breaks a limit where it does so (SEC-71, SEC-75, SEC-142, SEC-145). */
export function parseBodies(app: FastifyInstance, { limits }: Config, pace: Pace): void {
  const slices = new Slices()
  const memory = new BodyMemory(limits.bodyMemory)
  const add = (type: string, readerOf: (request: FastifyRequest) => BodyReader) =>
    app.addContentTypeParser(type, async (request: FastifyRequest, payload: IncomingMessage) => {
      const body = new Body(request, memory)
      try {
        const bag = await inTime(payload, pace, () => body.read(payload, readerOf(request), slices))
        // a handler that takes large bodies says when it is done with one
        if (request.admit) request.releaseBody = () => body.release()
        else body.release()
        return bag
      } catch (error) {
        body.release()
        throw error
      }
    })
  app.removeAllContentTypeParsers()
  add('application/json', () => new JsonReader())
  add('application/x-www-form-urlencoded', () => new FormReader())
  add('multipart/form-data', ({ headers, routeOptions }) => new MultipartReader(headers, routeOptions.bodyLimit))
  add('*', ({ headers }) => ({
    push() {
      throw unknownType(headers['content-type'])
    },
    end: emptyBag,
  }))
}

/** 408 when the body comes too slowly (SEC-142). */
async function inTime<T>(payload: IncomingMessage, pace: Pace, work: () => Promise<T>): Promise<T> {
  let unwatch: () => void = () => undefined
  const late = new Promise<never>((_, reject) => {
    unwatch = watchPace(payload, pace, () => reject(new Failure('timeout', { message: '408 Request Timeout' })))
  })
  return Promise.race([work(), late]).finally(unwatch)
}

/** One body on its way in. */
class Body {
  #size = 0
  #held = 0
  #admitted = false
  #released = false

  constructor(
    private readonly request: FastifyRequest,
    private readonly memory: BodyMemory,
  ) {}

  async read(payload: IncomingMessage, reader: BodyReader, slices: Slices): Promise<Bag> {
    await this.#expect(Number(this.request.headers['content-length'] ?? 0))
    // the connection has to carry the answer when reading ends early
    for await (const chunk of payload.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      this.#size += chunk.length
      await this.#expect(this.#size)
      for (let at = 0; at < chunk.length; at += PIECE) {
        await slices.run(() => reader.push(chunk.subarray(at, at + PIECE)))
        this.#hold(this.#size + (reader.elements ?? 0) * ELEMENT_BYTES)
      }
    }
    return slices.run(() => reader.end())
  }

  release(): void {
    this.#released = true
    this.memory.free(this.#held)
    this.#held = 0
  }

  /** The body has, or will have, so many bytes. */
  async #expect(bytes: number): Promise<void> {
    if (bytes > this.request.routeOptions.bodyLimit) throw tooLarge()
    if (bytes <= UNASKED_BYTES || this.#admitted) return
    if (!this.request.admit) throw tooLarge()
    await this.request.admit()
    this.#admitted = true
  }

  #hold(bytes: number): void {
    if (bytes <= UNASKED_BYTES || bytes <= this.#held || this.#released) return
    this.memory.take(bytes - this.#held)
    this.#held = bytes
  }
}

/** Bytes of a refused body that are thrown away, and milliseconds that takes at most. */
const DISCARDED_BYTES = 8 * 1024 * 1024
const DISCARDING = 2_000

/** An answer to a request whose body nobody will read ends the connection, which would else wait for the rest of it at any pace. Many clients look for an answer only when they have sent everything, and would find the connection reset: so a bounded rest is thrown away first. */
export async function closeUnread({ raw }: FastifyRequest, reply: FastifyReply, payload: unknown): Promise<unknown> {
  const { 'content-length': length, 'transfer-encoding': encoding } = raw.headers
  if (raw.complete || (encoding === undefined && Number(length ?? 0) === 0)) return payload
  reply.header('connection', 'close')
  if (typeof payload !== 'string' || raw.method === 'HEAD' || reply.statusCode === STATUS.timeout) return payload
  reply.header('content-length', Buffer.byteLength(payload))
  return Readable.from(withRest(payload, raw), { objectMode: false })
}

/** The whole answer at once, its end when the body is over. */
async function* withRest(answer: string, body: IncomingMessage) {
  yield answer
  await new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, DISCARDING)
    const end = () => {
      clearTimeout(timer)
      resolve()
    }
    const from = body.socket.bytesRead
    body.on('data', () => {
      if (body.socket.bytesRead - from > DISCARDED_BYTES) end()
    })
    body.on('end', end).on('close', end)
  })
}
