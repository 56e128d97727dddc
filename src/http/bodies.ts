import type { IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Context } from '../context.js'
import { Failure, STATUS, tooLarge, unknownType } from '../failures.js'
import { type MinimumRate, watchRate } from '../lib/async/minimum-rate.js'
import type { Slices } from '../lib/async/slices.js'
import { shareOf } from '../lib/share.js'
import { Unavailable } from '../lib/unavailable.js'
import { emptyParameterBag, FormReader, type ParameterBag } from './form.js'
import { JsonReader } from './json.js'
import { MultipartReader } from './uploads.js'

/** Bytes of a body that are read, and values that are parsed, without asking who sends them (SEC-71). */
const UNASKED_BYTES = 64 * 1024
const UNASKED_VALUES = 2_000
/** Bytes that are parsed in one step. */
const PIECE = 16 * 1024
/**
 * Bytes that a value of a body takes beside its characters, together with what is built from it until the request is
 * refused or done.
 */
const ELEMENT_BYTES = 400
/** Seconds after which a body that found no memory may be sent again. */
const RETRY_AFTER = 5

declare module 'fastify' {
  interface FastifyRequest {
    /**
     * Refuses a caller who may not send a larger body, by what is known before it is read. Routes without it accept no
     * larger bodies.
     */
    admit?: () => Promise<void>
    /** Gives back the memory that the body was counted for; called when nothing refers to the body any more. */
    releaseBody?: () => void
  }
}

/** Builds the parameters from a body, piece by piece. */
interface BodyReader {
  /** Values so far. */
  readonly elements?: number
  push(bytes: Buffer): void | Promise<void>
  end(): ParameterBag | Promise<ParameterBag>
}

/** Bytes of all larger bodies held at a time; one sender gets half of them, or one body. */
class BodyMemory {
  #held = 0
  readonly #bySender = new Map<string, number>()
  readonly #share: number

  constructor(
    private readonly limit: number,
    largest: number,
  ) {
    this.#share = Math.max(limit / 2, largest)
  }

  take(bytes: number, sender: string): void {
    const own = (this.#bySender.get(sender) ?? 0) + bytes
    if (own > this.#share || this.#held + bytes > this.limit)
      throw new Unavailable('the bodies of other requests take all memory there is for them', RETRY_AFTER)
    this.#held += bytes
    this.#bySender.set(sender, own)
  }

  free(bytes: number, sender: string): void {
    this.#held -= bytes
    const own = (this.#bySender.get(sender) ?? 0) - bytes
    if (own > 0) this.#bySender.set(sender, own)
    else this.#bySender.delete(sender)
  }
}

/**
 * Parsers for all content types (G-5). A body is counted, timed and parsed as it arrives: a caller who may not send
 * more is refused once 64 KiB have been read, and a body that breaks a limit where it breaks it (SEC-71, SEC-75,
 * SEC-142, SEC-145).
 */
export function parseBodies(
  app: FastifyInstance,
  { config: { limits }, slices, workers }: Pick<Context, 'config' | 'slices' | 'workers'>,
  pace: MinimumRate,
): void {
  const memory = new BodyMemory(shareOf(limits.bodyMemory, workers, limits.bodyBytes), limits.bodyBytes)
  const add = (type: string, readerOf: (request: FastifyRequest) => BodyReader) =>
    app.addContentTypeParser(type, async (request: FastifyRequest, payload: IncomingMessage) => {
      const body = new Body(request, memory)
      try {
        const bag = await inTime(payload, pace, () => body.read(payload, readerOf(request), slices))
        // a handler that accepts large bodies says when it is done with one
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
    end: emptyParameterBag,
  }))
}

/** 408 when the body comes too slowly (SEC-142). */
async function inTime<T>(payload: IncomingMessage, pace: MinimumRate, work: () => Promise<T>): Promise<T> {
  let unwatch: () => void = () => undefined
  const late = new Promise<never>((_, reject) => {
    unwatch = watchRate(payload, pace, () => reject(new Failure('timeout', { message: '408 Request Timeout' })))
  })
  return Promise.race([work(), late]).finally(unwatch)
}

/** One incoming body. */
class Body {
  #size = 0
  #held = 0
  #admitted = false
  #released = false
  #sender = ''

  constructor(
    private readonly request: FastifyRequest,
    private readonly memory: BodyMemory,
  ) {}

  async read(payload: IncomingMessage, reader: BodyReader, slices: Slices): Promise<ParameterBag> {
    await this.#expect(Number(this.request.headers['content-length'] ?? 0))
    // the connection still has to carry the answer when reading ends early
    for await (const chunk of payload.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      this.#size += chunk.length
      await this.#expect(this.#size)
      for (let at = 0; at < chunk.length; at += PIECE) {
        await slices.run(() => reader.push(chunk.subarray(at, at + PIECE)))
        const { elements = 0 } = reader
        if (elements > UNASKED_VALUES) await this.#ask()
        this.#hold(this.#size + elements * ELEMENT_BYTES)
      }
    }
    return slices.run(() => reader.end())
  }

  release(): void {
    this.#released = true
    if (this.#held > 0) this.memory.free(this.#held, this.#sender)
    this.#held = 0
  }

  /** Called when the body is known to have, or to be going to have, so many bytes. */
  async #expect(bytes: number): Promise<void> {
    if (bytes > this.request.routeOptions.bodyLimit) throw tooLarge()
    if (bytes > UNASKED_BYTES) await this.#ask()
  }

  /** Checks once whether the sender may send more than everybody may. */
  async #ask(): Promise<void> {
    if (this.#admitted) return
    if (!this.request.admit) throw tooLarge()
    await this.request.admit()
    this.#admitted = true
  }

  #hold(bytes: number): void {
    if (bytes <= UNASKED_BYTES || bytes <= this.#held || this.#released) return
    if (this.#held === 0) this.#sender = this.request.caller?.user ? `user ${this.request.caller.user.id}` : `from ${this.request.ip}`
    this.memory.take(bytes - this.#held, this.#sender)
    this.#held = bytes
  }
}

/**
 * Milliseconds for which the rest of a refused body is discarded, and the pause between two pieces for each body being
 * discarded: a few MiB a second in all, which cost next to nothing.
 */
const DISCARDING = 10_000
const PAUSE = 5
/** Bodies discarded at a time; the connections of further ones end with the answer. */
const MAX_DISCARDED = 32

/**
 * An answer to a request whose body nobody will read ends the connection, which would otherwise wait for the rest of
 * the body at any pace. Many clients look for an answer only after sending everything, and would get a connection
 * reset: so a bounded part of the rest is discarded first.
 */
export function unreadCloser() {
  let discarded = 0

  /** The whole answer at once, its end when the body is over. */
  async function* withRest(answer: string, body: IncomingMessage) {
    yield answer
    if (discarded >= MAX_DISCARDED) return
    discarded++
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, DISCARDING)
      const end = () => {
        clearTimeout(timer)
        resolve()
      }
      body.on('data', () => {
        body.pause()
        setTimeout(() => body.resume(), PAUSE * discarded).unref()
      })
      body.on('end', end).on('close', end)
    }).finally(() => discarded--)
  }

  return async ({ raw }: FastifyRequest, reply: FastifyReply, payload: unknown): Promise<unknown> => {
    const { 'content-length': length, 'transfer-encoding': encoding } = raw.headers
    if (raw.complete || raw.readableEnded || (encoding === undefined && Number(length ?? 0) === 0)) return payload
    reply.header('connection', 'close')
    if (typeof payload !== 'string' || raw.method === 'HEAD' || reply.statusCode === STATUS.timeout) return payload
    reply.header('content-length', Buffer.byteLength(payload))
    return Readable.from(withRest(payload, raw), { objectMode: false })
  }
}
