import type { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'

/** Bytes from which a chunk is not a small one, and bytes of a stream from which on small ones matter. */
const SMALL = 16_384
const LONG = 65_536

/**
 * The chunks of a long stream in few pieces: after a small one, the next is read only a millisecond later, when more
 * has come. Git writes packs in pieces of 8 KB, and each chunk costs nearly as much as one of 64 KB.
 */
export async function* coalesceChunks(source: Readable): AsyncGenerator<Buffer> {
  let size = 0
  let rested = false
  for await (const chunk of source as AsyncIterable<Buffer>) {
    yield chunk
    size += chunk.length
    // what comes first after a rest was read before it
    rested = !rested && chunk.length < SMALL && size > LONG
    if (rested) await sleep(1)
  }
}
