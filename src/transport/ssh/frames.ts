import type { Socket } from 'node:net'
import { Writable } from 'node:stream'

/**
 * The protocol on the socket between the service and the process that holds an SSH connection. The client sends one
 * line of JSON, then raw bytes. The service answers a key request with a line of JSON, and a run request with frames: a
 * type, the length of the content in four bytes, the content.
 */
export interface RunRequest {
  ask: 'run'
  /** The id of the verified key. */
  key: number
  /** Empty for a shell. */
  command: string
  /** The value of GIT_PROTOCOL. */
  protocol?: string
  /** The address of the SSH client. */
  address: string
  /** The socket to which git may write its output directly. */
  outlet?: { path: string; greeting: string }
}

/** Looks up a key by its SHA-256, in base64 without padding. */
export interface KeyRequest {
  ask: 'key'
  sha256: string
}

export type SocketRequest = RunRequest | KeyRequest

/** The id of the key; null if it may not log in. */
export interface KeyResponse {
  key: number | null
}

/** Maximum bytes of a command (GS-10). */
const MAX_COMMAND_BYTES = 4_096

/** Why a command is refused before it is parsed; null if it is not. */
export const commandFault = (command: string): string | null =>
  Buffer.byteLength(command) > MAX_COMMAND_BYTES ? `A command has at most ${MAX_COMMAND_BYTES} bytes.` : null

/** `outlet`: git now writes to the outlet; later frames come after its output. */
export const FRAME = { out: 1, err: 2, exit: 3, outlet: 4 } as const
/** Bytes buffered on the socket before writes wait. */
const MAX_BUFFERED_BYTES = 262_144
/** Length of the header of a frame. */
const HEADER_BYTES = 5

function frameHeader(type: number, length: number): Buffer {
  const bytes = Buffer.allocUnsafe(HEADER_BYTES)
  bytes[0] = type
  bytes.writeUInt32BE(length, 1)
  return bytes
}

export const frame = (type: number, content: Buffer) => Buffer.concat([frameHeader(type, content.length), content])

/** Writes output as frames to a socket, with backpressure; ending it does not end the socket. */
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
 * Reads frames. The content of a frame may be yielded in several parts, and adjacent frames of a type are merged, since
 * each yielded part becomes an SSH packet.
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

/** Reads the first line of a connection and leaves the rest unread; null if there is none. */
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
