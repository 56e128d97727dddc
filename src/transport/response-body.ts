import type { ServerResponse } from 'node:http'
import { Writable } from 'node:stream'

/** Bytes to buffer for a slow client: two chunks. */
const HIGH_WATER_MARK_BYTES = 131_072

/**
 * The body of a Git response. The status and headers are sent with the first byte, so that an earlier failure can still
 * be answered with another status; after that, destroying the stream closes the connection.
 */
export class ResponseBody extends Writable {
  #started = false
  readonly #closed: Promise<void>

  constructor(
    private readonly raw: ServerResponse,
    private readonly writeHead: () => void,
  ) {
    super({ highWaterMark: HIGH_WATER_MARK_BYTES })
    this.on('error', () => {}) // the writer and `delivered` see the error
    this.#closed = new Promise((resolve) => {
      raw.once('close', () => {
        this.destroy()
        resolve()
      })
    })
  }

  /** Resolves when everything is sent or the client has disconnected; rejects with the error of the stream. */
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

  /**
   * Sends the headers; returns false if they were sent before. Chunks of the same event loop turn are sent together.
   */
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
