import { createHash, randomBytes } from 'node:crypto'
import { open, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { promisify } from 'node:util'
import { crc32, deflate } from 'node:zlib'
import { syncDirectory, syncFile, writeNewFile } from '../../lib/files/durable.js'
import type { ObjectType } from './cat-file.js'
import type { StagedObject } from './object-buffer.js'

const compress = promisify(deflate)
/** Bytes hashed before yielding to the event loop, a few milliseconds (SEC-145). */
const SLICE_BYTES = 2 * 1024 * 1024
const TYPES: Record<ObjectType, number> = { commit: 1, tree: 2, blob: 3, tag: 4 }

interface IndexEntry {
  oid: Buffer
  crc: number
  offset: number
}

/**
 * Writes objects into the repository as one pack with its index; both are synced on return. The pack is renamed into
 * place before its index, so no reader sees an incomplete one, and temporary names are ones that `git gc` cleans up
 * after a kill.
 */
export async function writePack(directory: string, objects: StagedObject[]) {
  const folder = join(directory, 'objects', 'pack')
  const suffix = randomBytes(6).toString('hex')
  const packTmp = join(folder, `tmp_pack_${suffix}`)
  const indexTmp = join(folder, `tmp_idx_${suffix}`)
  try {
    const { entries, checksum } = await writePackFile(packTmp, objects)
    // sync both before either is renamed
    await Promise.all([syncFile(packTmp), writeNewFile(indexTmp, packIndex(entries, checksum), 0o444)])
    const name = join(folder, `pack-${checksum.toString('hex')}`)
    await rename(packTmp, `${name}.pack`)
    await rename(indexTmp, `${name}.idx`)
    await syncDirectory(folder)
  } catch (error) {
    await Promise.all([rm(packTmp, { force: true }), rm(indexTmp, { force: true })])
    throw error
  }
}

/** Writes the pack without syncing it. */
async function writePackFile(path: string, objects: StagedObject[]) {
  const entries: IndexEntry[] = []
  const hash = createHash('sha1')
  const file = await open(path, 'wx', 0o444)
  try {
    let offset = 0
    let checksum: Buffer = Buffer.of()
    const stored = async function* () {
      for await (const { oid, bytes } of packEntries(objects)) {
        const start = offset
        let crc = 0
        for (let at = 0; at < bytes.length; at += SLICE_BYTES) {
          if (at > 0) await setImmediate()
          const slice = bytes.subarray(at, at + SLICE_BYTES)
          crc = crc32(slice, crc)
          hash.update(slice)
          yield slice
        }
        offset += bytes.length
        if (offset > 0x7fff_ffff) throw new RangeError('too much for one pack')
        if (oid) entries.push({ oid: Buffer.from(oid, 'hex'), crc, offset: start })
      }
      checksum = hash.digest()
      yield checksum
    }
    for await (const chunk of coalesced(stored())) await file.writeFile(chunk)
    return { entries, checksum }
  } finally {
    await file.close()
  }
}

/** The pack in memory, to check it before it is written. */
export async function packOf(objects: StagedObject[]): Promise<Buffer> {
  const parts: Buffer[] = []
  for await (const { bytes } of packEntries(objects)) parts.push(bytes)
  const body = Buffer.concat(parts)
  return Buffer.concat([body, createHash('sha1').update(body).digest()])
}

/**
 * Yields the header, without an oid, then one entry per object; a few are deflated concurrently, off the event loop.
 */
async function* packEntries(objects: StagedObject[]): AsyncGenerator<{ oid?: string; bytes: Buffer }> {
  const header = Buffer.from('PACK\0\0\0\x02\0\0\0\0', 'latin1')
  header.writeUInt32BE(objects.length, 8)
  yield { bytes: header }
  for (let i = 0; i < objects.length; i += 8) {
    yield* await Promise.all(
      objects.slice(i, i + 8).map(async ({ oid, type, content }) => ({
        oid,
        bytes: Buffer.concat([entryHeader(type, content.length), await compress(content)]),
      })),
    )
  }
}

function entryHeader(type: ObjectType, size: number): Buffer {
  const bytes = [(TYPES[type] << 4) | (size & 0xf)]
  for (let rest = Math.floor(size / 16); rest > 0; rest = Math.floor(rest / 128)) {
    bytes.push((bytes.pop() as number) | 0x80, rest & 0x7f)
  }
  return Buffer.from(bytes)
}

/** Joins chunks into fewer, larger writes. */
async function* coalesced(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let waiting: Buffer[] = []
  let size = 0
  for await (const chunk of chunks) {
    waiting.push(chunk)
    size += chunk.length
    if (size < 1_048_576) continue
    yield Buffer.concat(waiting)
    waiting = []
    size = 0
  }
  yield Buffer.concat(waiting)
}

/** An index of version 2: fan-out, ids, checksums, offsets, trailer. */
function packIndex(entries: IndexEntry[], packChecksum: Buffer): Buffer {
  const sorted = [...entries].sort((a, b) => a.oid.compare(b.oid))
  const tables = 8 + 1024
  const index = Buffer.alloc(tables + sorted.length * 28 + 40)
  index.writeUInt32BE(0xff744f63, 0)
  index.writeUInt32BE(2, 4)
  const fanout = new Array<number>(256).fill(0)
  sorted.forEach(({ oid, crc, offset }, i) => {
    const first = oid[0] as number
    fanout[first] = (fanout[first] as number) + 1
    oid.copy(index, tables + i * 20)
    index.writeUInt32BE(crc, tables + sorted.length * 20 + i * 4)
    index.writeUInt32BE(offset, tables + sorted.length * 24 + i * 4)
  })
  let total = 0
  fanout.forEach((count, i) => {
    total += count
    index.writeUInt32BE(total, 8 + i * 4)
  })
  const end = index.length - 40
  packChecksum.copy(index, end)
  createHash('sha1')
    .update(index.subarray(0, end + 20))
    .digest()
    .copy(index, end + 20)
  return index
}
