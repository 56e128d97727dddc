import { Readable, Transform } from 'node:stream'

/**
 * Bytes of the body of a fetch, as sent and inflated: a line of fifty bytes for each commit that a client names as
 * wanted or present.
 */
const MAX_ASKED = 16 * 1024 ** 2
/** Bytes of the bodies of all fetches that git has not read yet. */
const MAX_WAITING = 64 * 1024 ** 2

/** Thrown when a body is not read any further. */
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

/** What all bodies together hold in memory. */
export interface Waiting {
  bytes: number
}

/**
 * Reads a body as fast as it arrives, whether git reads it or not: a connection that is not read from does not show
 * that its client has left. What is buffered is limited, for one body and for all (SEC-150).
 */
export class ReadAhead extends Readable {
  #chunks: Buffer[] = []
  #taken = 0
  #held = 0
  #wanted = false
  #ended = false

  constructor(
    body: Readable,
    readonly waiting: Waiting,
  ) {
    super({ highWaterMark: 65_536 })
    this.on('error', () => {}) // it may come before git listens; whoever reads from it finds it destroyed
    body.on('data', (chunk: Buffer) => this.#take(chunk))
    body.once('end', () => {
      this.#ended = true
      this.#give()
    })
    body.once('close', () => {
      if (!body.readableEnded) this.destroy()
    })
  }

  #take(chunk: Buffer) {
    if (this.destroyed) return
    this.#taken += chunk.length
    this.#hold(chunk.length)
    if (this.#taken > MAX_ASKED) this.destroy(tooLarge())
    else if (this.waiting.bytes > MAX_WAITING) this.destroy(new BodyRefused(503, 'The server is busy, try again', { 'retry-after': '1' }))
    else {
      this.#chunks.push(chunk)
      this.#give()
    }
  }

  #hold(more: number) {
    this.#held += more
    this.waiting.bytes += more
  }

  #give() {
    while (this.#wanted) {
      const chunk = this.#chunks.shift()
      if (!chunk) break
      this.#hold(-chunk.length)
      this.#wanted = this.push(chunk)
    }
    if (!this.#ended || this.#chunks.length > 0) return
    this.#ended = false
    this.push(null)
  }

  override _read() {
    this.#wanted = true
    this.#give()
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void) {
    this.#chunks = []
    this.#hold(-this.#held)
    done(error)
  }
}

/** Throws when a body inflates to more than a fetch may send. */
export function limited(body: Readable): Readable {
  let size = 0
  const limit = new Transform({
    transform(chunk: Buffer, _, done) {
      size += chunk.length
      if (size > MAX_ASKED) done(tooLarge())
      else done(null, chunk)
    },
  })
  limit.on('error', () => body.destroy())
  body.once('close', () => {
    if (!body.readableEnded) limit.destroy(body.errored ?? undefined)
  })
  return body.pipe(limit)
}
