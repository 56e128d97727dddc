import { once } from 'node:events'
import type { Writable } from 'node:stream'
import { finished } from 'node:stream/promises'
import { Slice } from '../../lib/async/yield.js'
import { Unavailable } from '../../lib/unavailable.js'
import type { RefStore } from '../refs/ref-store.js'

/** Characters that are written at once. */
export const PIECE = 65_536

/** A line of the pkt-line format, in latin1. */
export const packetLine = (text: string) => (text.length + 4).toString(16).padStart(4, '0') + text

export const FLUSH = '0000'

/** The version of the wire protocol that a Git-Protocol header asks for. */
export function protocolVersion(protocol: string | undefined): 0 | 1 | 2 {
  const versions = (protocol ?? '').split(':').map((part) => (part === 'version=2' ? 2 : part === 'version=1' ? 1 : 0))
  return Math.max(...versions) as 0 | 1 | 2
}

/**
 * What `git receive-pack` advertises of the refs below these prefixes, which are in byte order, after what goes before.
 * Git checks for each ref that its object is there and writes each line alone, which for 100,000 refs takes ten times
 * as long.
 */
export async function* advertisedRefs(
  refs: RefStore,
  { prefixes, capabilities, before }: { prefixes: string[]; capabilities: string; before: string },
): AsyncGenerator<Buffer> {
  let text = before
  let first = true
  const slice = new Slice()
  for (const prefix of prefixes) {
    for (const line of await refs.lines(`${prefix}/`)) {
      text += packetLine(first ? `${line}\0${capabilities}\n` : `${line}\n`)
      first = false
      if (text.length >= PIECE) {
        yield Buffer.from(text, 'latin1')
        text = ''
      }
      if (slice.over) await slice.breathe()
    }
  }
  if (first) text += packetLine(`${'0'.repeat(40)} capabilities^{}\0${capabilities}\n`)
  yield Buffer.from(text + FLUSH, 'latin1')
}

/** Writes all pieces. A reader that takes nothing for `stall` milliseconds is cut off; one that leaves is no fault. */
export async function writePieces(pieces: AsyncIterable<Buffer>, out: Writable, stall: number): Promise<void> {
  const closed = finished(out, { readable: false })
  const timer = setTimeout(() => out.destroy(new Unavailable('the client takes nothing')), stall)
  try {
    for await (const piece of pieces) {
      if (!out.write(piece)) await Promise.race([once(out, 'drain'), closed])
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
