import { describe, expect, test } from 'vitest'
import { decodeTree, encodeTree, entryType, parseTree } from '../../src/git/objects/tree-codec.js'

const ODD_NAME = Buffer.from([0x61, 0xff, 0x0a, 0x22])
const BYTES = Buffer.alloc(20, 0xab)
const oid = BYTES.toString('hex')
const tree = Buffer.concat(['100664 ', ODD_NAME, '\0', BYTES, '40000 d\0', BYTES, '160000 s\0', BYTES].map((part) => Buffer.from(part as string)))
const torn = Buffer.concat([tree, Buffer.from('100644 a\0short')])

describe('parseTree', () => {
  test('keeps odd modes and the bytes of odd names (SEC-153, SEC-154)', () => {
    expect(parseTree(tree).entries).toEqual([
      { mode: '100664', name: ODD_NAME, oid },
      { mode: '40000', name: Buffer.from('d'), oid },
      { mode: '160000', name: Buffer.from('s'), oid },
    ])
    expect(parseTree(tree).entries.map(({ mode }) => entryType(mode))).toEqual(['blob', 'tree', 'commit'])
    expect(entryType('040000')).toBe('tree')
  })

  test('reads a tree in slices', () => {
    const { entries, next } = parseTree(tree, 0, 1)
    expect([...entries, ...parseTree(tree, next).entries]).toEqual(parseTree(tree).entries)
  })

  test('stops before a torn tail', () => {
    expect(parseTree(torn)).toEqual({ entries: parseTree(tree).entries, next: tree.length })
  })
})

describe('decodeTree', () => {
  test('is the inverse of encodeTree, byte for byte', () => expect(encodeTree(decodeTree(tree)).equals(tree)).toBe(true))

  test('refuses a torn tail, so that no entry is lost when the tree is written back', () => {
    expect(() => decodeTree(torn)).toThrow('malformed tree object')
  })
})
