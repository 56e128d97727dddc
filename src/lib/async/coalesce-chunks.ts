import type { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'

/** Chunks below the first size count as small; streams above the second size are coalesced. In bytes. */
const SMALL_CHUNK_BYTES = 16_384
const LONG_STREAM_BYTES = 65_536

/**
 * Merges the chunks of a long stream: after a small chunk, the next is read a millisecond later, when more data has
 * arrived. Git writes packs in chunks of 8 KB, and each costs nearly as much as one of 64 KB.
 */
export async function* coalesceChunks(source: Readable): AsyncGenerator<Buffer> {
  let size = 0
  let waited = false
  for await (const chunk of source as AsyncIterable<Buffer>) {
    yield chunk
    size += chunk.length
    // the first chunk after a wait was read before it
    waited = !waited && chunk.length < SMALL_CHUNK_BYTES && size > LONG_STREAM_BYTES
    if (waited) await sleep(1)
  }
}
