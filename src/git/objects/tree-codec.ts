import type { Oid } from '../types.js'

/**
 * A tree entry as stored: `name` is latin1, one character per byte, and `mode` has the digits as written, so that
 * entries are written back byte for byte.
 */
export interface RawEntry {
  mode: string
  name: string
  oid: Oid
}

/** Decodes a tree object; throws when it is truncated or malformed. */
export function decodeTree(content: Buffer): RawEntry[] {
  const entries: RawEntry[] = []
  for (let at = 0; at < content.length; ) {
    const space = content.indexOf(0x20, at)
    const nul = content.indexOf(0, space)
    if (space < 0 || nul < 0 || nul + 21 > content.length) throw new Error('malformed tree object')
    entries.push({
      mode: content.toString('latin1', at, space),
      name: content.toString('latin1', space + 1, nul),
      oid: content.toString('hex', nul + 1, nul + 21),
    })
    at = nul + 21
  }
  return entries
}

/** Encodes a tree object in Git's order, in which a directory sorts as if its name ended in a slash. */
export function encodeTree(entries: RawEntry[]): Buffer {
  const sorted = entries.map((entry) => ({ entry, key: isTree(entry.mode) ? `${entry.name}/` : entry.name }))
  sorted.sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0))
  const content = Buffer.allocUnsafe(entries.reduce((size, { mode, name }) => size + mode.length + name.length + 22, 0))
  let at = 0
  for (const { entry } of sorted) {
    at += content.write(`${entry.mode} ${entry.name}\0`, at, 'latin1')
    at += content.write(entry.oid, at, 20, 'hex')
  }
  return content
}

/** Also accepts zero-padded modes, which some old tools wrote. */
export function isTree(mode: string) {
  return /^0*40000$/.test(mode)
}
