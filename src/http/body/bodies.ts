import type { IncomingMessage } from 'node:http'
import { Readable, Transform } from 'node:stream'
import { finished } from 'node:stream/promises'
import formbody from '@fastify/formbody'
import multipart from '@fastify/multipart'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Context } from '../../context.js'
import { Failure, invalidInput, STATUS, tooLarge, unknownType } from '../../failures.js'
import { type MinimumRate, watchRate } from '../../lib/async/minimum-rate.js'
import { shareOf } from '../../lib/share.js'
import { Unavailable } from '../../lib/unavailable.js'
import { emptyParameterBag, parseFormBody } from '../form.js'
import { readMultipart } from '../uploads.js'
import { FORM_TYPE, hasBody, isSent } from './body.js'
import { JsonReader } from './json.js'

/** Bytes of a body that are read, and values that are parsed, before the caller must be admitted (SEC-71). */
const UNADMITTED_BYTES = 64 * 1024
const UNADMITTED_VALUES = 2_000
/** Maximum size of an urlencoded body, which is parsed in one step (SEC-71, SEC-145). */
const MAX_FORM_BYTES = 1024 * 1024
/** Bytes of JSON that are parsed in one step. */
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
    /** The body, once its headers have been checked. */
    incoming?: Body
  }
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
 * Registers parsers for all content types (G-5). A body is counted and timed as it arrives: a caller that may not send
 * more is refused once 64 KiB have been read, and a body that exceeds a limit as soon as it does (SEC-71, SEC-75,
 * SEC-142, SEC-145).
 */
export async function parseBodies(
  app: FastifyInstance,
  { config: { limits }, cpu: { slices }, process: { workers } }: Pick<Context, 'config' | 'cpu' | 'process'>,
  rate: MinimumRate,
): Promise<void> {
  const memory = new BodyMemory(shareOf(limits.bodyMemory, workers, limits.bodyBytes), limits.bodyBytes)
  app.decorateRequest('incoming')
  app.addHook('preParsing', async (request, reply, payload) => {
    if (!hasBody(request.raw)) return payload
    const body = new Body(request, memory)
    request.incoming = body
    reply.raw.once('close', () => body.release())
    await body.announce()
    // all other parsers count what they read
    return request.headers['content-type'] === FORM_TYPE ? counted(request.raw, body, rate) : payload
  })
  app.addHook('onError', async ({ incoming }) => incoming?.release())

  app.removeAllContentTypeParsers()
  await app.register(formbody, { parser: parseFormBody, bodyLimit: MAX_FORM_BYTES })
  await app.register(multipart)
  app.addHook('preValidation', async (request) => {
    if (request.isMultipart()) request.body = await atMinimumRate(request.raw, rate, () => readCounted(request))
  })
  app.addContentTypeParser('application/json', ({ incoming }: FastifyRequest, payload: IncomingMessage) =>
    atMinimumRate(payload, rate, async () => {
      const reader = new JsonReader()
      for await (const chunk of chunksOf(payload)) {
        await incoming?.count(chunk.length)
        for (let at = 0; at < chunk.length; at += PIECE_BYTES) {
          await slices.run(() => reader.push(chunk.subarray(at, at + PIECE_BYTES)))
          await incoming?.countValues(reader.elements)
        }
      }
      return slices.run(() => reader.end())
    }),
  )
  app.addContentTypeParser('*', ({ headers }: FastifyRequest, payload: IncomingMessage) =>
    atMinimumRate(payload, rate, async () => {
      for await (const _ of chunksOf(payload)) throw unknownType(headers['content-type'])
      return emptyParameterBag()
    }),
  )
}

/** Lets a scope read multipart bodies part by part, as streams. */
export const parseMultipart = (app: FastifyInstance) => app.register(multipart)

/** The connection must stay open for the response when reading ends early. */
const chunksOf = (payload: IncomingMessage) => payload.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>

const tooSlow = () => new Failure('timeout', { message: '408 Request Timeout' })

/** Fails with 408 when the body arrives too slowly (SEC-142). */
async function atMinimumRate<T>(payload: IncomingMessage, rate: MinimumRate, work: () => Promise<T>): Promise<T> {
  let stopWatching: () => void = () => undefined
  const slow = new Promise<never>((_, reject) => {
    stopWatching = watchRate(payload, rate, () => reject(tooSlow()))
  })
  return Promise.race([work(), slow]).finally(stopWatching)
}

/** A stream of a body that fails as soon as the body may not go on, or comes too slowly. */
function counted(payload: IncomingMessage, body: Body, rate: MinimumRate): Transform {
  const stream = new Transform({
    transform(chunk: Buffer, _, done) {
      body.count(chunk.length).then(() => done(null, chunk), done)
    },
  })
  const stopWatching = watchRate(payload, rate, () => stream.destroy(tooSlow()))
  payload.once('close', () => payload.readableEnded || stream.destroy(invalidInput('the body ended too early')))
  stream.once('close', stopWatching)
  return payload.pipe(stream)
}

/**
 * Reads a multipart body to its end, so that the connection can be used again. The plugin reads the request itself, so
 * what arrives is counted beside it, and the parts are read on when it is admitted.
 */
async function readCounted(request: FastifyRequest): Promise<unknown> {
  const { raw, incoming } = request
  let last: Promise<void> | undefined
  let count: (chunk: Buffer) => void = () => undefined
  const failed = new Promise<never>((_, reject) => {
    count = (chunk) => {
      last = incoming?.count(chunk.length)
      last?.catch(reject)
    }
  })
  const read = async () => {
    const bag = await readMultipart(request, async () => last)
    await finished(raw.resume(), { writable: false, cleanup: true })
    return bag
  }
  raw.on('data', count)
  return Promise.race([failed, read()]).finally(() => raw.off('data', count).unpipe())
}

/** An incoming body. */
class Body {
  #size = 0
  #values = 0
  #held = 0
  #admission: Promise<void> | undefined
  #released = false
  #sender = ''
  readonly #limit: number

  constructor(
    private readonly request: FastifyRequest,
    private readonly memory: BodyMemory,
  ) {
    const { bodyLimit } = request.routeOptions
    this.#limit = request.headers['content-type'] === FORM_TYPE ? MAX_FORM_BYTES : bodyLimit
  }

  /** Fails if the sender may not send what the headers announce. */
  announce(): Promise<void> {
    return this.#check(Number(this.request.headers['content-length'] ?? 0))
  }

  /** Fails if the sender may not send this much more. */
  async count(bytes: number): Promise<void> {
    this.#size += bytes
    await this.#check(this.#size)
    this.#hold()
  }

  /** Fails if the sender may not send so many values. */
  async countValues(values: number): Promise<void> {
    this.#values = values
    if (values > UNADMITTED_VALUES) await this.#requireAdmission()
    this.#hold()
  }

  /** Releases the memory counted for the body; called when nothing refers to the body any more. */
  release(): void {
    this.#released = true
    if (this.#held > 0) this.memory.release(this.#held, this.#sender)
    this.#held = 0
  }

  async #check(bytes: number): Promise<void> {
    if (bytes > this.#limit) throw tooLarge()
    if (bytes > UNADMITTED_BYTES) await this.#requireAdmission()
  }

  /** Checks once whether the sender may send more than anonymous callers. */
  async #requireAdmission(): Promise<void> {
    if (!this.request.admit) throw tooLarge()
    this.#admission ??= this.request.admit()
    await this.#admission
  }

  #hold(): void {
    const bytes = this.#size + this.#values * ELEMENT_BYTES
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
      // a stream that was removed from it has left it paused
      body.on('end', end).on('close', end).resume()
    }).finally(() => discarded--)
  }

  return async ({ raw }: FastifyRequest, reply: FastifyReply, payload: unknown): Promise<unknown> => {
    if (raw.complete || raw.readableEnded || !isSent(raw)) return payload
    reply.header('connection', 'close')
    if (typeof payload !== 'string' || raw.method === 'HEAD' || reply.statusCode === STATUS.timeout) return payload
    reply.header('content-length', Buffer.byteLength(payload))
    return Readable.from(withDiscardedRest(payload, raw), { objectMode: false })
  }
}
