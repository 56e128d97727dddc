import { once } from 'node:events'
import type { Writable } from 'node:stream'
import { finished } from 'node:stream/promises'
import { Turn } from '../../lib/async/yield.js'
import { Unavailable } from '../../lib/unavailable.js'
import type { RefStore } from '../refs/ref-store.js'

/** Output is written in chunks of at least this many characters. */
export const CHUNK_CHARS = 65_536

/** Formats a pkt-line, in latin1. */
export const pktLine = (text: string) => (text.length + 4).toString(16).padStart(4, '0') + text

export const FLUSH = '0000'

/** The refs of the service, which no client sees (SEC-86). */
export const SERVICE_REFS = ['refs/keep-around', 'refs/roost']

/** The wire protocol version requested by a Git-Protocol header. */
export function protocolVersion(protocol: string | undefined): 0 | 1 | 2 {
  const versions = (protocol ?? '').split(':').map((part) => (part === 'version=2' ? 2 : part === 'version=1' ? 1 : 0))
  return Math.max(...versions) as 0 | 1 | 2
}

/**
 * The ref advertisement of `git receive-pack` for the given ref prefixes, which must be in byte order, preceded by
 * `prefix`. Git itself checks each ref's object and writes each line separately, which takes ten times as long for
 * 100,000 refs.
 */
export async function* advertisedRefs(
  refs: RefStore,
  { prefixes, capabilities, prefix }: { prefixes: string[]; capabilities: string; prefix: string },
): AsyncGenerator<Buffer> {
  let text = prefix
  let first = true
  const turn = new Turn()
  for (const prefix of prefixes) {
    for (const line of await refs.lines(`${prefix}/`)) {
      text += pktLine(first ? `${line}\0${capabilities}\n` : `${line}\n`)
      first = false
      if (text.length >= CHUNK_CHARS) {
        yield Buffer.from(text, 'latin1')
        text = ''
      }
      if (turn.over) await turn.end()
    }
  }
  if (first) text += pktLine(`${'0'.repeat(40)} capabilities^{}\0${capabilities}\n`)
  yield Buffer.from(text + FLUSH, 'latin1')
}

/**
 * Writes all chunks. A client that reads nothing for `stall` milliseconds is cut off; one that disconnects is not an
 * error.
 */
export async function writeChunks(chunks: AsyncIterable<Buffer>, out: Writable, stall: number): Promise<void> {
  const closed = finished(out, { readable: false })
  const timer = setTimeout(() => out.destroy(new Unavailable('the client takes nothing')), stall)
  try {
    for await (const chunk of chunks) {
      if (!out.write(chunk)) await Promise.race([once(out, 'drain'), closed])
      timer.refresh()
    }
    out.end()
    await closed
  } catch (fault) {
    closed.catch(() => undefined)
    if (!out.destroyed) throw fault
  } finally {
    clearTimeout(timer)
  }
}
