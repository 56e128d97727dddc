import type { Oid, TreeEntry } from '../types.js'

/** A tree entry as stored; `mode` has the digits as written, so that entries are written back byte for byte. */
export interface RawEntry {
  mode: string
  name: Buffer
  oid: Oid
}

/** A tree entry whose name is latin1, one character per byte, as merges compare and sort names. */
export type NamedEntry = Omit<RawEntry, 'name'> & { name: string }

/**
 * Parses up to `limit` tree entries in stored order from an offset, so that a huge tree can be read in slices. `next`
 * stays below the length of a tree that is truncated or malformed there, if no entry could be parsed.
 */
export function parseTree(content: Buffer, from = 0, limit = Number.POSITIVE_INFINITY): { entries: RawEntry[]; next: number } {
  const entries: RawEntry[] = []
  let next = from
  while (next < content.length && entries.length < limit) {
    const space = content.indexOf(0x20, next)
    const end = content.indexOf(0, space)
    if (space < 0 || end < 0 || end + 21 > content.length) break
    entries.push({
      mode: content.toString('latin1', next, space),
      name: content.subarray(space + 1, end),
      oid: content.toString('hex', end + 1, end + 21),
    })
    next = end + 21
  }
  return { entries, next }
}

/** Decodes a whole tree object; throws when it is truncated or malformed. */
export function decodeTree(content: Buffer): NamedEntry[] {
  const { entries, next } = parseTree(content)
  if (next < content.length) throw new Error('malformed tree object')
  return entries.map(({ mode, name, oid }) => ({ mode, name: name.toString('latin1'), oid }))
}

/** Encodes a tree object in Git's order, in which a directory sorts as if its name ended in a slash. */
export function encodeTree(entries: NamedEntry[]): Buffer {
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

export function entryType(mode: string): TreeEntry['type'] {
  if (mode.padStart(6, '0').startsWith('04')) return 'tree'
  return mode === '160000' ? 'commit' : 'blob'
}
