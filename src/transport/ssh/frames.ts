import type { Socket } from 'node:net'
import { Writable } from 'node:stream'

/**
 * What is said on the socket between the service and whoever holds an SSH connection. The client sends one line of JSON
 * and then bytes as they are. The service answers a question with a line of JSON, and a command with frames: a type,
 * the length of the content in four bytes, the content.
 */
export interface RunRequest {
  ask: 'run'
  /** Of the row of the key that has been checked. */
  key: number
  /** Empty: a shell. */
  command: string
  /** The value of GIT_PROTOCOL. */
  protocol?: string
  /** Of the SSH client. */
  address: string
  /** Where git may write its answer itself, rather than through the service. */
  outlet?: { path: string; greeting: string }
}

/** Which key it is that has this SHA-256, base64 without padding. */
export interface KeyRequest {
  ask: 'key'
  sha256: string
}

export type SocketRequest = RunRequest | KeyRequest

/** The answer to a question about a key: null where nobody may log in with it. */
export interface KeyResponse {
  key: number | null
}

/** `outlet`: from now on git writes to the outlet; what follows is meant to come after that. */
export const FRAME = { out: 1, err: 2, exit: 3, outlet: 4 } as const
/** Bytes of output that may be written before the socket takes them. */
const MAX_BUFFERED_BYTES = 262_144
/** Bytes before the content of a frame. */
const HEADER_BYTES = 5

function frameHeader(type: number, length: number): Buffer {
  const bytes = Buffer.allocUnsafe(HEADER_BYTES)
  bytes[0] = type
  bytes.writeUInt32BE(length, 1)
  return bytes
}

export const frame = (type: number, content: Buffer) => Buffer.concat([frameHeader(type, content.length), content])

/** Output as frames on a socket, as fast as the socket takes them; its end does not end the socket. */
export class FrameWriter extends Writable {
  constructor(
    readonly socket: Socket,
    readonly type: number,
  ) {
    super({ highWaterMark: 65_536 })
    socket.once('close', () => this.destroy())
  }

  override _write(chunk: Buffer, _: BufferEncoding, done: (error?: Error | null) => void) {
    this.socket.cork()
    this.socket.write(frameHeader(this.type, chunk.length))
    this.socket.write(chunk)
    this.socket.uncork()
    if (this.socket.writableLength < MAX_BUFFERED_BYTES || this.socket.destroyed) done()
    else this.#waitForDrain(done)
  }

  #waitForDrain(done: () => void) {
    const more = () => {
      this.socket.off('drain', more).off('close', more)
      done()
    }
    this.socket.on('drain', more).on('close', more)
  }
}

/**
 * The content that arrives. That of one frame may come in several pieces, and what came together is given together:
 * each piece becomes a packet.
 */
export async function* frames(chunks: AsyncIterable<Buffer>): AsyncGenerator<{ type: number; content: Buffer }> {
  let rest: Buffer = Buffer.alloc(0)
  let type = 0
  let left = 0
  for await (const chunk of chunks) {
    const parts: { type: number; content: Buffer }[] = []
    let data = rest.length > 0 ? Buffer.concat([rest, chunk]) : chunk
    while (data.length > 0) {
      if (left === 0) {
        if (data.length < HEADER_BYTES) break
        type = data[0] as number
        left = data.readUInt32BE(1)
        data = data.subarray(HEADER_BYTES)
      }
      const content = data.subarray(0, left)
      if (content.length === 0) continue
      left -= content.length
      data = data.subarray(content.length)
      parts.push({ type, content })
    }
    rest = data
    for (let at = 0; at < parts.length; ) {
      const { type: same } = parts[at] as { type: number }
      let end = at + 1
      while (parts[end]?.type === same) end++
      const pieces = parts.slice(at, end).map(({ content }) => content)
      yield { type: same, content: pieces.length === 1 ? (pieces[0] as Buffer) : Buffer.concat(pieces) }
      at = end
    }
  }
}

/** The first line of a connection, whose other bytes stay to be read; null where none comes. */
export function firstLine(socket: Socket, maxBytes: number): Promise<string | null> {
  return new Promise((resolve) => {
    let rest: Buffer = Buffer.alloc(0)
    const end = (line: string | null) => {
      socket.pause()
      for (const [event, listener] of Object.entries(listeners)) socket.off(event, listener)
      resolve(line)
    }
    const closed = () => end(null)
    const listeners = {
      data(chunk: Buffer) {
        rest = Buffer.concat([rest, chunk])
        const at = rest.indexOf(10)
        if (at < 0) return void (rest.length > maxBytes && end(null))
        const line = rest.toString('utf8', 0, at)
        end(line)
        if (rest.length > at + 1) socket.unshift(rest.subarray(at + 1))
      },
      end: closed,
      close: closed,
    }
    if (socket.destroyed) return resolve(null)
    for (const [event, listener] of Object.entries(listeners)) socket.on(event, listener)
  })
}
