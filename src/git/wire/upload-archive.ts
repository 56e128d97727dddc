import type { Readable } from 'node:stream'
import { FLUSH, pktLine } from './advertisement.js'
import { nextOf } from './ls-refs.js'

/** Maximum bytes of the arguments of a request. */
const MAX_ARGUMENT_BYTES = 65_536
const ARGUMENT = 'argument '

/**
 * Reads the arguments of `git archive --remote`, which git resolves without regard to hidden refs. Returns why the
 * request is refused: it may name a hidden ref, or it is not of the protocol; null if git may answer it. The body is
 * complete from its beginning.
 */
export async function archiveRefusal(body: Readable, signal: AbortSignal, hidden: readonly string[]): Promise<string | null> {
  let head: Buffer = Buffer.alloc(0)
  for (;;) {
    const given = argumentsIn(head)
    if (given === 'invalid' || head.length > MAX_ARGUMENT_BYTES) return 'the arguments are invalid'
    if (given !== 'incomplete') {
      body.unshift(head)
      return given.some((text) => isHidden(text, hidden)) ? 'no such ref' : null
    }
    const chunk = await nextOf(body, signal)
    if (chunk === null) return 'the arguments are incomplete'
    head = Buffer.concat([head, chunk])
  }
}

/** The texts that git may take for the tree: the value of an option may stand before it. */
function argumentsIn(head: Buffer): string[] | 'incomplete' | 'invalid' {
  const given: string[] = []
  for (let at = 0; at + 4 <= head.length; ) {
    const digits = head.toString('latin1', at, at + 4)
    if (digits === FLUSH) return mayBeTree(given)
    const length = /^[0-9a-f]{4}$/.test(digits) ? Number.parseInt(digits, 16) : 0
    if (length <= 4) return 'invalid'
    if (at + length > head.length) return 'incomplete'
    const line = head.toString('utf8', at + 4, at + length).replace(/\n$/, '')
    if (!line.startsWith(ARGUMENT) || /\p{Cc}/u.test(line)) return 'invalid'
    given.push(line.slice(ARGUMENT.length))
    at += length
  }
  return 'incomplete'
}

function mayBeTree(given: string[]): string[] {
  const values = given.filter((text) => text.startsWith('-') && !text.includes('=')).length
  return given.filter((text) => !text.startsWith('-')).slice(0, 1 + values)
}

/** Whether git may find a hidden ref under this name, which may lack `refs/` and be followed by a path. */
function isHidden(text: string, hidden: readonly string[]): boolean {
  const name = `${text.split(':', 1)[0]}/`.toLowerCase()
  return hidden.some((prefix) => name.startsWith(`${prefix}/`) || `refs/${name}`.startsWith(`${prefix}/`))
}

/** Bands of the side-band protocol, on which an archive is sent. */
const BAND = { errors: 2, fatal: 3 } as const
const FAILED = 'The archive cannot be made. Do the ref, the paths and the format exist?\n'
/** Messages of git, in the C locale, about the repository and not the request. */
const SERVER_FAULT =
  /^(?:error|fatal): (?:unable to|cannot|failed to|could not|corrupt|bad |loose |packed |packfile|pack |object file|inflate|missing|garbage|out of memory)/im
const MAX_KEPT_BYTES = 4_096

/** The output of `git upload-archive` without standard error of git, which may name folders of the server (GS-12). */
export class ArchiveOutput {
  #errors = ''

  /** What git wrote about a fault of the server; null for what the client did wrong. */
  get fault(): string | null {
    return SERVER_FAULT.test(this.#errors) ? this.#errors : null
  }

  async *withoutErrors(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    let rest: Buffer = Buffer.alloc(0)
    for await (const chunk of chunks) {
      const data = rest.length > 0 ? Buffer.concat([rest, chunk]) : chunk
      const kept: Buffer[] = []
      let at = 0
      while (at + 4 <= data.length) {
        const length = Math.max(Number.parseInt(data.toString('latin1', at, at + 4), 16) || 0, 4)
        if (at + length > data.length) break
        kept.push(this.#filtered(data.subarray(at, at + length)))
        at += length
      }
      rest = data.subarray(at)
      if (kept.length > 0) yield Buffer.concat(kept)
    }
  }

  #filtered(packet: Buffer): Buffer {
    if (packet[4] === BAND.fatal) return Buffer.from(pktLine(`\x03${FAILED}`))
    if (packet[4] !== BAND.errors) return packet
    if (this.#errors.length < MAX_KEPT_BYTES) this.#errors += packet.toString('utf8', 5)
    return Buffer.alloc(0)
  }
}
