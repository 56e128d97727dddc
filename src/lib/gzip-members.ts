import { inflateRawSync } from 'node:zlib'

const [CRC, EXTRA, NAME, COMMENT] = [2, 4, 8, 16]

/** The offset after a header (RFC 1952). */
function afterHeader(bytes: Buffer, at: number): number {
  if (bytes.length < at + 18 || bytes.readUInt16BE(at) !== 0x1f8b || bytes[at + 2] !== 8) throw new Error('this is not gzip')
  const flags = bytes[at + 3] as number
  let next = at + 10
  if (flags & EXTRA) next += 2 + bytes.readUInt16LE(next)
  for (const flag of [NAME, COMMENT]) {
    if (!(flags & flag)) continue
    const end = bytes.indexOf(0, next)
    if (end < 0) throw new Error('this is not gzip')
    next = end + 1
  }
  return flags & CRC ? next + 2 : next
}

/** The files in a gzip stream, one for each member, as runners send several reports; throws beyond `limit` bytes in all. */
export function gunzipMembers(bytes: Buffer, limit: number): Buffer[] {
  const members: Buffer[] = []
  let left = limit
  for (let at = 0; at < bytes.length; ) {
    const from = afterHeader(bytes, at)
    // `info` adds the engine, which knows how much it has read
    const { buffer, engine } = inflateRawSync(bytes.subarray(from), { maxOutputLength: Math.max(1, left), info: true }) as unknown as {
      buffer: Buffer
      engine: { bytesWritten: number }
    }
    left -= buffer.length
    members.push(buffer)
    at = from + engine.bytesWritten + 8
    // padding of blocks
    while (at < bytes.length && bytes[at] === 0) at++
  }
  return members
}
