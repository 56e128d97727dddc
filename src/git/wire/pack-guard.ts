import { Transform } from 'node:stream'
import { setImmediate as yieldToEventLoop } from 'node:timers/promises'
import { createInflate, type Inflate, inflateSync } from 'node:zlib'
import type { TransportLimits } from './limits.js'

/** What a pack may inflate to beyond `inflatedBytes`: this multiple of the bytes received. */
const MAX_RATIO = 100
/** Objects of at most this size are inflated at once, which takes a sixth of the time of a stream. */
const SMALL_BYTES = 65_536
/** Small objects between two turns of the event loop: a few milliseconds. */
const OBJECTS_PER_TURN = 300

const OFS_DELTA = 6
const REF_DELTA = 7

/** Passes on a push and inflates its pack beside git, to refuse one that is small and inflates to gigabytes (SEC-220). */
export class PackGuard extends Transform {
  /** Why nothing more is passed on. */
  fault: string | null = null
  #stage: 'packets' | 'pack' | 'object' | 'content' | 'done' = 'packets'
  /** Received bytes that have not been examined. */
  #rest: Buffer = Buffer.alloc(0)
  /** Bytes of the current packet that are still to come. */
  #skip = 0
  #objectsLeft = 0
  #objects = 0
  #size = 0
  #inflate: Inflate | undefined
  #received = 0
  #inflated = 0
  #ended = false

  constructor(private readonly limits: Pick<TransportLimits, 'objectBytes' | 'inflatedBytes'>) {
    super()
  }

  override _transform(chunk: Buffer, _: BufferEncoding, done: () => void): void {
    const end = () => {
      if (this.#ended) return done()
      this.#ended = this.fault !== null
      // git has read the commands, and will find that the pack is incomplete
      this.push(this.#ended ? chunk.subarray(0, Math.max(0, chunk.length - this.#rest.length)) : chunk)
      if (this.#ended) this.push(null)
      done()
    }
    // git says what is wrong with a pack that cannot be read
    this.#examine(chunk)
      .catch(() => this.#leaveToGit())
      .finally(end)
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#inflate?.close()
    done(error)
  }

  async #examine(chunk: Buffer): Promise<void> {
    if (this.#stage === 'done' || this.fault !== null) return
    this.#received += chunk.length
    this.#rest = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk])
    while (this.fault === null && (await this.#step()));
  }

  #leaveToGit(): void {
    this.#stage = 'done'
    this.#rest = Buffer.alloc(0)
  }

  /** Examines the next part of what has arrived; false if more has to arrive first. */
  async #step(): Promise<boolean> {
    switch (this.#stage) {
      case 'packets':
        return this.#packet()
      case 'pack':
        if (this.#rest.length < 12) return false
        this.#objectsLeft = this.#rest.readUInt32BE(8)
        this.#take(12)
        this.#stage = 'object'
        return true
      case 'object':
        return this.#header()
      case 'content':
        return this.#size <= SMALL_BYTES && !this.#inflate ? this.#small() : this.#large()
      default:
        return false
    }
  }

  #take(bytes: number): void {
    this.#rest = this.#rest.subarray(bytes)
  }

  /** Skips a command or an option; flush packets end both lists, and then comes the pack. */
  #packet(): boolean {
    const skipped = Math.min(this.#skip, this.#rest.length)
    this.#skip -= skipped
    this.#take(skipped)
    if (this.#rest.length < 4) return false
    const head = this.#rest.toString('latin1', 0, 4)
    if (head === 'PACK') {
      this.#stage = 'pack'
      return true
    }
    const length = Number.parseInt(head, 16)
    this.#take(4)
    if (length > 4) this.#skip = length - 4
    else if (length !== 0) throw new Error('not a packet')
    return true
  }

  #header(): boolean {
    if (this.#objectsLeft === 0) {
      this.#leaveToGit()
      return false
    }
    let at = 0
    const next = () => this.#rest[at++]
    let byte = next()
    if (byte === undefined) return false
    const type = (byte >> 4) & 7
    let size = byte & 15
    for (let unit = 16; byte & 128; unit *= 128) {
      byte = next()
      if (byte === undefined) return false
      size += (byte & 127) * unit
    }
    if (type === OFS_DELTA)
      do {
        byte = next()
        if (byte === undefined) return false
      } while (byte & 128)
    if (type === REF_DELTA) at += 20
    if (at > this.#rest.length) return false
    this.#take(at)
    this.#size = size
    const { objectBytes } = this.limits
    if (size > objectBytes) this.fault = `An object of this push has ${size} bytes, and ${objectBytes} are allowed.`
    this.#stage = 'content'
    return true
  }

  async #small(): Promise<boolean> {
    try {
      // with `info` the answer has the engine, which knows where the compressed data ended
      const inflated: unknown = inflateSync(this.#rest, { info: true, maxOutputLength: this.#size + 1, chunkSize: Math.max(64, this.#size) })
      const { engine } = inflated as { engine: Inflate }
      this.#take(engine.bytesWritten)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'Z_BUF_ERROR') throw error
      // compressed data may be padded without end, by empty blocks
      return this.#rest.length < 2 * SMALL_BYTES ? false : this.#large()
    }
    this.#count(this.#size)
    this.#end()
    if (this.#objects % OBJECTS_PER_TURN === 0) await yieldToEventLoop()
    return true
  }

  async #large(): Promise<boolean> {
    if (this.#rest.length === 0) return false
    this.#inflate ??= this.#open()
    const inflate = this.#inflate
    const before = inflate.bytesWritten
    const given = this.#rest.length
    await new Promise<void>((resolve, reject) => {
      inflate.once('error', reject)
      inflate.write(this.#rest, () => {
        inflate.off('error', reject)
        resolve()
      })
    })
    this.#take(inflate.bytesWritten - before)
    // the stream leaves what follows its end
    if (inflate.bytesWritten - before === given) return false
    inflate.close()
    this.#inflate = undefined
    this.#end()
    return true
  }

  #open(): Inflate {
    const inflate = createInflate({ chunkSize: 262_144 })
    inflate.on('data', (data: Buffer) => this.#count(data.length))
    inflate.on('error', () => undefined)
    return inflate
  }

  #count(bytes: number): void {
    this.#inflated += bytes
    if (this.#inflated > this.limits.inflatedBytes && this.#inflated > MAX_RATIO * this.#received)
      this.fault ??= `This push inflates to more than ${MAX_RATIO} times its size. Large files belong in Git LFS.`
  }

  #end(): void {
    this.#objects++
    this.#objectsLeft--
    this.#stage = 'object'
  }
}
