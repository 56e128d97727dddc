import { Readable, Transform } from 'node:stream'

/**
 * Maximum size of the body of a fetch, in bytes, both compressed and inflated: it has a line of 50 bytes for each
 * commit that the client wants or has.
 */
const MAX_BODY_BYTES = 16 * 1024 ** 2
/** Maximum bytes buffered for all fetches together. */
const MAX_BUFFERED_BYTES = 64 * 1024 ** 2

/** A body that is refused while it is read. */
export class BodyRefused extends Error {
  override name = 'BodyRefused'
  constructor(
    readonly status: 413 | 503,
    message: string,
    readonly headers: Record<string, string> = {},
  ) {
    super(message)
  }
}

const tooLarge = () => new BodyRefused(413, 'The request is too large')

/** The bytes that all bodies together hold in memory. */
export interface BufferedBytes {
  bytes: number
}

/**
 * Reads a body as fast as it arrives, even if git does not read it: Node notices a disconnect only while it reads from
 * the connection. The buffer is limited, per body and in total (SEC-150).
 */
export class ReadAheadBody extends Readable {
  #chunks: Buffer[] = []
  #received = 0
  #buffered = 0
  #wanted = false
  #ended = false

  constructor(
    body: Readable,
    readonly total: BufferedBytes,
  ) {
    super({ highWaterMark: 65_536 })
    this.on('error', () => {}) // may be emitted before git listens; readers find the stream destroyed
    body.on('data', (chunk: Buffer) => this.#receive(chunk))
    body.once('end', () => {
      this.#ended = true
      this.#deliver()
    })
    body.once('close', () => {
      if (!body.readableEnded) this.destroy()
    })
  }

  #receive(chunk: Buffer) {
    if (this.destroyed) return
    this.#received += chunk.length
    this.#account(chunk.length)
    if (this.#received > MAX_BODY_BYTES) this.destroy(tooLarge())
    else if (this.total.bytes > MAX_BUFFERED_BYTES) this.destroy(new BodyRefused(503, 'The server is busy, try again', { 'retry-after': '1' }))
    else {
      this.#chunks.push(chunk)
      this.#deliver()
    }
  }

  #account(more: number) {
    this.#buffered += more
    this.total.bytes += more
  }

  #deliver() {
    while (this.#wanted) {
      const chunk = this.#chunks.shift()
      if (!chunk) break
      this.#account(-chunk.length)
      this.#wanted = this.push(chunk)
    }
    if (!this.#ended || this.#chunks.length > 0) return
    this.#ended = false
    this.push(null)
  }

  override _read() {
    this.#wanted = true
    this.#deliver()
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void) {
    this.#chunks = []
    this.#account(-this.#buffered)
    done(error)
  }
}

/** Limits the inflated size of a body. */
export function limited(body: Readable): Readable {
  let size = 0
  const limit = new Transform({
    transform(chunk: Buffer, _, done) {
      size += chunk.length
      if (size > MAX_BODY_BYTES) done(tooLarge())
      else done(null, chunk)
    },
  })
  limit.on('error', () => body.destroy())
  body.once('close', () => {
    if (!body.readableEnded) limit.destroy(body.errored ?? undefined)
  })
  return body.pipe(limit)
}
