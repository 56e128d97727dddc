import { utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { PackedRefs, PackedRefsCache } from '../../src/git/refs/packed-refs.js'
import { RefStore } from '../../src/git/refs/ref-store.js'
import { ZERO } from '../../src/git/types.js'
import { committed, git, workshop } from './support.js'

const { repository, draft, refs } = workshop()

const A = 'a'.repeat(40)
const B = 'b'.repeat(40)
const HEADER = '# pack-refs with: peeled fully-peeled sorted \n'
const namesIn = (packed: PackedRefs) => Array.from(packed.lines, (_, i) => packed.at(i)?.name)

describe('PackedRefs', () => {
  it('finds names of any length, the first and the last, with what annotated tags point at', async () => {
    const packed = await PackedRefs.of(Buffer.from(`${HEADER}${A} refs/heads/a\n${B} refs/heads/a/é\n${A} refs/tags/v1\n^${B}\n${B} refs/tags/v2\n`))
    expect(packed.find('refs/heads/a')).toEqual({ name: 'refs/heads/a', oid: A, peeled: A })
    expect(packed.find('refs/heads/a/é')?.oid).toBe(B)
    expect(packed.find('refs/tags/v1')).toEqual({ name: 'refs/tags/v1', oid: A, peeled: B })
    expect(packed.find('refs/tags/v2')?.peeled).toBe(B)
    expect(['refs/heads', 'refs/heads/b', 'refs/a', 'refs/z', 'refs/tags/v'].map((name) => packed.find(name))).toEqual(Array(5).fill(null))
    expect([packed.rangeOf('refs/heads/'), packed.rangeOf('refs/tags/'), packed.rangeOf('refs/x/')]).toEqual([
      { from: 0, to: 2 },
      { from: 2, to: 4 },
      { from: 4, to: 4 },
    ])
  })

  it('reads files that are not in order, have no header, no last line end, or nothing at all', async () => {
    const packed = await PackedRefs.of(Buffer.from(`${A} refs/heads/b\n${B} refs/heads/a`))
    expect(namesIn(packed)).toEqual(['refs/heads/a', 'refs/heads/b'])
    expect(packed.find('refs/heads/a')).toEqual({ name: 'refs/heads/a', oid: B, peeled: null })
    expect(namesIn(await PackedRefs.of(Buffer.alloc(0)))).toEqual([])
  })
})

describe('a page of refs', () => {
  it('merges loose refs over packed ones, wherever it begins and ends', async () => {
    const directory = await repository()
    const made = []
    for (const path of ['x', 'y']) made.push(committed(await draft(directory, [{ action: 'create', path, content: Buffer.of(1) }])).commit)
    const [a = '', b = ''] = made
    const create = (names: string[]) =>
      refs.update(
        directory,
        names.map((name) => ({ ref: `refs/heads/${name}`, old: ZERO, new: a })),
      )
    await create(['b', 'd/1', 'd/2', 'f', 'h'])
    git(directory, ['pack-refs', '--all'])
    await create(['a', 'c', 'd/11', 'z', 'é'])
    await refs.update(directory, [
      { ref: 'refs/heads/f', old: a, new: b },
      { ref: 'refs/heads/h', old: a, new: ZERO },
    ])
    const printed = git(directory, ['for-each-ref', '--format=%(refname) %(objectname)', 'refs/heads/'])
    const listed = Buffer.from(printed, 'latin1').toString().trim().split('\n')
    const store = new RefStore(directory, new PackedRefsCache(1_000_000))
    const lines = (found: { name: string; oid: string }[]) => found.map(({ name, oid }) => `${name} ${oid}`)
    expect(lines(await store.refs('refs/heads/'))).toEqual(listed)
    for (let skip = 0; skip <= listed.length + 1; skip++)
      for (const limit of [0, 1, 3, 20]) {
        const page = await store.page('refs/heads/', skip, limit)
        expect([lines(page.refs), page.total]).toEqual([listed.slice(skip, skip + limit), listed.length])
      }
    expect(await store.page('refs/tags/', 0, 20)).toEqual({ refs: [], total: 0 })
  })

  it('sees a file that is rewritten in place of the one it knows, also where both look the same', async () => {
    const directory = await repository()
    const path = join(directory, 'packed-refs')
    const store = new RefStore(directory, new PackedRefsCache(1_000_000))
    for (const oid of [A, B, A, B]) {
      await writeFile(path, `${HEADER}${oid} refs/heads/x\n`)
      expect(await store.ref('refs/heads/x')).toBe(oid)
    }
    await utimes(path, 1, 1)
    expect(await store.ref('refs/heads/x')).toBe(B)
    await writeFile(path, `${HEADER}${A} refs/heads/x\n`)
    expect(await Promise.all([store.ref('refs/heads/x'), store.ref('refs/heads/x')])).toEqual([A, A])
  })
})
