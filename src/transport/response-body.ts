import type { ServerResponse } from 'node:http'
import { Writable } from 'node:stream'

/** Bytes that wait for a slow client: two pieces. */
const HIGH_WATER_MARK_BYTES = 131_072

/**
 * The body of an answer of Git. Its head is written with the first byte, so that an earlier failure can still be
 * answered with another status; destroying it afterwards cuts the connection.
 */
export class ResponseBody extends Writable {
  #started = false
  readonly #closed: Promise<void>

  constructor(
    private readonly raw: ServerResponse,
    private readonly writeHead: () => void,
  ) {
    super({ highWaterMark: HIGH_WATER_MARK_BYTES })
    this.on('error', () => {}) // whoever writes, or waits for the delivery, gets to know
    this.#closed = new Promise((resolve) => {
      raw.once('close', () => {
        this.destroy()
        resolve()
      })
    })
  }

  /** Settles when all has gone out, or the client has gone; rejects with what it was destroyed with. */
  async delivered(): Promise<void> {
    if (this.#started && !this.errored) await this.#closed
    if (this.errored) throw this.errored
  }

  override _write(chunk: Buffer, _: BufferEncoding, done: () => void): void {
    const isFirst = this.#start()
    if (this.raw.write(chunk) || isFirst) done()
    else this.raw.once('drain', done)
  }

  override _final(done: () => void): void {
    this.#start()
    this.raw.end()
    done()
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    if (this.#started && !this.raw.writableEnded) this.raw.destroy()
    done(error)
  }

  /** Whether this is the beginning. What follows in the same turn of the event loop goes out together with it. */
  #start(): boolean {
    if (this.#started) return false
    this.#started = true
    this.writeHead()
    const { socket } = this.raw
    socket?.cork()
    setImmediate(() => {
      if (!this.raw.writableEnded) socket?.uncork()
    })
    return true
  }
}
