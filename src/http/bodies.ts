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

/** Bytes of a body that are read, and values that are parsed, before the caller must be admitted (SEC-71). */
const UNADMITTED_BYTES = 64 * 1024
const UNADMITTED_VALUES = 2_000
/** Bytes that are parsed in one step. */
const PIECE_BYTES = 16 * 1024
/**
 * Estimated memory of each value of a body beside its characters, including everything built from it until the request
 * ends.
 */
const ELEMENT_BYTES = 400
/** Seconds after which a body that found no memory may be sent again. */
const RETRY_AFTER_SECONDS = 5

declare module 'fastify' {
  interface FastifyRequest {
    /**
     * Refuses a caller that may not send a larger body, before it is read. Routes without this function accept no
     * larger bodies.
     */
    admit?: () => Promise<void>
    /** Releases the memory counted for the body; called when nothing refers to the body any more. */
    releaseBody?: () => void
  }
}

/** Parses a body into parameters, chunk by chunk. */
interface BodyReader {
  /** Values so far. */
  readonly elements?: number
  push(bytes: Buffer): void | Promise<void>
  end(): ParameterBag | Promise<ParameterBag>
}

/** Limits the memory of all larger bodies; one sender gets at most half of it, or one body. */
class BodyMemory {
  #held = 0
  readonly #bySender = new Map<string, number>()
  readonly #share: number

  constructor(
    private readonly limit: number,
    maxBodyBytes: number,
  ) {
    this.#share = Math.max(limit / 2, maxBodyBytes)
  }

  acquire(bytes: number, sender: string): void {
    const own = (this.#bySender.get(sender) ?? 0) + bytes
    if (own > this.#share || this.#held + bytes > this.limit)
      throw new Unavailable('the bodies of other requests take all memory there is for them', RETRY_AFTER_SECONDS)
    this.#held += bytes
    this.#bySender.set(sender, own)
  }

  release(bytes: number, sender: string): void {
    this.#held -= bytes
    const own = (this.#bySender.get(sender) ?? 0) - bytes
    if (own > 0) this.#bySender.set(sender, own)
    else this.#bySender.delete(sender)
  }
}

/**
 * Registers parsers for all content types (G-5). A body is counted, timed and parsed as it arrives: a caller that may
 * not send more is refused once 64 KiB have been read, and a body that violates a limit as soon as it does (SEC-71,
 * SEC-75, SEC-142, SEC-145).
 */
export function parseBodies(
  app: FastifyInstance,
  { config: { limits }, cpu: { slices }, process: { workers } }: Pick<Context, 'config' | 'cpu' | 'process'>,
  rate: MinimumRate,
): void {
  const memory = new BodyMemory(shareOf(limits.bodyMemory, workers, limits.bodyBytes), limits.bodyBytes)
  const add = (type: string, readerOf: (request: FastifyRequest) => BodyReader) =>
    app.addContentTypeParser(type, async (request: FastifyRequest, payload: IncomingMessage) => {
      const body = new Body(request, memory)
      try {
        const bag = await atMinimumRate(payload, rate, () => body.read(payload, readerOf(request), slices))
        // a route that accepts large bodies releases the memory when its handler is done
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

/** Fails with 408 when the body arrives too slowly (SEC-142). */
async function atMinimumRate<T>(payload: IncomingMessage, rate: MinimumRate, work: () => Promise<T>): Promise<T> {
  let stopWatching: () => void = () => undefined
  const tooSlow = new Promise<never>((_, reject) => {
    stopWatching = watchRate(payload, rate, () => reject(new Failure('timeout', { message: '408 Request Timeout' })))
  })
  return Promise.race([work(), tooSlow]).finally(stopWatching)
}

/** An incoming body. */
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
    await this.#checkSize(Number(this.request.headers['content-length'] ?? 0))
    // the connection must stay open for the response when reading ends early
    for await (const chunk of payload.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      this.#size += chunk.length
      await this.#checkSize(this.#size)
      for (let at = 0; at < chunk.length; at += PIECE_BYTES) {
        await slices.run(() => reader.push(chunk.subarray(at, at + PIECE_BYTES)))
        const { elements = 0 } = reader
        if (elements > UNADMITTED_VALUES) await this.#requireAdmission()
        this.#hold(this.#size + elements * ELEMENT_BYTES)
      }
    }
    return slices.run(() => reader.end())
  }

  release(): void {
    this.#released = true
    if (this.#held > 0) this.memory.release(this.#held, this.#sender)
    this.#held = 0
  }

  /** Checks the size of the body, as announced or received so far. */
  async #checkSize(bytes: number): Promise<void> {
    if (bytes > this.request.routeOptions.bodyLimit) throw tooLarge()
    if (bytes > UNADMITTED_BYTES) await this.#requireAdmission()
  }

  /** Checks once whether the sender may send more than anonymous callers. */
  async #requireAdmission(): Promise<void> {
    if (this.#admitted) return
    if (!this.request.admit) throw tooLarge()
    await this.request.admit()
    this.#admitted = true
  }

  #hold(bytes: number): void {
    if (bytes <= UNADMITTED_BYTES || bytes <= this.#held || this.#released) return
    if (this.#held === 0) this.#sender = this.request.caller?.user ? `user ${this.request.caller.user.id}` : `from ${this.request.ip}`
    this.memory.acquire(bytes - this.#held, this.#sender)
    this.#held = bytes
  }
}

/**
 * How long the rest of a refused body is discarded, and the pause after each chunk, multiplied by the number of bodies
 * being discarded. In milliseconds. This allows a few MiB a second in total, at little cost.
 */
const DISCARD_MS = 10_000
const DISCARD_PAUSE_MS = 5
/** Bodies that are discarded at a time; further connections are closed with the response. */
const MAX_DISCARDED = 32

/**
 * Returns a hook that closes the connection after a response to a request whose body was not read, which would
 * otherwise wait for the rest of the body. Many clients read a response only after sending everything, and would see a
 * connection reset instead; so a bounded part of the body is discarded first.
 */
export function closeUnreadBodies() {
  let discarded = 0

  /** Yields the response at once, and ends when the body has been discarded. */
  async function* withDiscardedRest(answer: string, body: IncomingMessage) {
    yield answer
    if (discarded >= MAX_DISCARDED) return
    discarded++
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, DISCARD_MS)
      const end = () => {
        clearTimeout(timer)
        resolve()
      }
      body.on('data', () => {
        body.pause()
        setTimeout(() => body.resume(), DISCARD_PAUSE_MS * discarded).unref()
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
    return Readable.from(withDiscardedRest(payload, raw), { objectMode: false })
  }
}
