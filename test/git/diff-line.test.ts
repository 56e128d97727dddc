import { describe, expect, it } from 'vitest'
import type { TestFile } from '../support/git.js'
import { testRepositories } from '../support/reader.js'

const t = testRepositories()
type Files = Record<string, TestFile> | [string | Buffer, TestFile][]

/** A repository whose second commit changes the first's files; returns which lines of one file are added or removed. */
function changed(before: Files, after: Files) {
  const repository = t.make()
  const [from, to] = repository.commits({ parents: [], files: before }, { files: after }) as [string, string]
  const { reader } = repository
  return async (path: string, side: 'old' | 'new', upTo = 4) => {
    const lines: number[] = []
    for (let line = -1; line <= upTo; line++)
      if (await reader.diffLine(from, to, { path, old_line: null, new_line: null, [`${side}_line`]: line })) lines.push(line)
    return lines
  }
}

const TEN = Array.from({ length: 10 }, (_, n) => `line ${n + 1}\n`)
const text = (...lines: string[]) => lines.join('')
const numbered = (count: number) => Array.from({ length: count }, (_, n) => `${n}\n`).join('')

describe('whether a line is in a difference', () => {
  it('of a changed file: added lines in the new one, removed lines in the old one, no context', async () => {
    const after = [...TEN.slice(0, 2), 'new\n', 'newer\n', ...TEN.slice(2, 6), ...TEN.slice(7, 9), 'last']
    const lines = changed({ f: text(...TEN) }, { f: text(...after) })
    expect(await lines('f', 'new', 12)).toEqual([3, 4, 11])
    expect(await lines('f', 'old', 11)).toEqual([7, 10])
  })

  it('of an added and a deleted file: all, on one side', async () => {
    const lines = changed({ gone: 'a\nb\n' }, { gone: null, come: 'x\ny\nz' })
    expect([await lines('come', 'new'), await lines('come', 'old')]).toEqual([[1, 2, 3], []])
    expect([await lines('gone', 'new'), await lines('gone', 'old')]).toEqual([[], [1, 2]])
  })

  it('of a renamed file: only what changed, under the new path', async () => {
    const lines = changed({ was: text(...TEN) }, { was: null, is: text(...TEN.slice(0, 9), 'other\n') })
    expect([await lines('is', 'new', 11), await lines('is', 'old', 11)]).toEqual([[10], [10]])
    expect([await lines('was', 'new'), await lines('was', 'old')]).toEqual([[], []])
  })

  it('of a file that was a folder, a folder that was a file, a file that became a link, a submodule', async () => {
    const folder = changed({ a: 'one\ntwo\n' }, { a: null, 'a/b': 'x\n', 'a/c': 'y\nz\n' })
    expect([await folder('a', 'old'), await folder('a/c', 'new'), await folder('a/b', 'new')]).toEqual([[1, 2], [1, 2], [1]])
    const file = changed({ 'a/b': 'x\n', 'a/c': 'y\nz\n' }, { 'a/b': null, 'a/c': null, a: 'one\ntwo\n\n' })
    expect([await file('a', 'new'), await file('a/c', 'old')]).toEqual([
      [1, 2, 3],
      [1, 2],
    ])
    const link = changed({ a: 'one\ntwo\n' }, { a: { mode: '120000', content: 'one' } })
    expect([await link('a', 'old'), await link('a', 'new')]).toEqual([[1, 2], [1]])
    const module = changed({ m: { mode: '160000', content: 'a'.repeat(40) } }, { m: { mode: '160000', content: 'b'.repeat(40) } })
    expect([await module('m', 'old'), await module('m', 'new')]).toEqual([[1], [1]])
  })

  it('never of a binary, of a change of mode alone, or of a path that is not there', async () => {
    const lines = changed(
      { b: Buffer.from([0, 1, 10, 2]), m: 'a\n', same: 'a\n' },
      { b: Buffer.from([0, 3, 10, 4]), m: { mode: '100755', content: 'a\n' } },
    )
    for (const path of ['b', 'm', 'same', 'none', '', '*', ':(top)m', '-x', 'b/']) expect([path, await lines(path, 'new', 2)]).toEqual([path, []])
  })

  it('whatever the text looks like and the file is called', async () => {
    const sly = '@@ -1,9 +1,9 @@\nindex 0000000..1111111\ndiff --git a/x b/x\n--- a/x\n'
    const names = ['-x', '--', '*', 'a\nb', 'a\tb', '"q"', 'ü', ':(top)x', ' ']
    const files = (content: string): Files => names.map((name): [string, TestFile] => [name, content])
    const lines = changed(files('a\n'), files(`a\n${sly}`))
    for (const name of names) expect([name, await lines(name, 'new', 6)]).toEqual([name, [2, 3, 4, 5]])
    const odd = changed(
      [[Buffer.from([0x66, 0xff]), text(...TEN)]],
      [
        [Buffer.from([0x66, 0xff]), null],
        ['plain', text(...TEN, 'new\n')],
      ],
    )
    expect(await odd('plain', 'new', 12)).toEqual([11])
  })

  it('in a difference that is far too large to be shown', async () => {
    const many = Object.fromEntries(Array.from({ length: 300 }, (_, n) => [`f${n}`, `${n}\n`]))
    const lines = changed({ a: 'a\n' }, { ...many, z: numbered(200_000) })
    expect(await lines('f299', 'new', 3)).toEqual([1])
    expect(await lines('z', 'new', 3)).toEqual([1, 2, 3])
  })

  it('beside changed lines, with the number it has on either side, as far as the difference shows it', async () => {
    const repository = t.make()
    const after = text(...TEN.slice(0, 4), 'new\n', ...TEN.slice(4))
    const [from, to] = repository.commits(
      { parents: [], files: { was: text(...TEN), a: 'a\nb\n' } },
      { files: { was: null, is: after, a: 'b\n' } },
    ) as [string, string]
    const { reader } = repository
    const shown: [number, number][] = []
    for (let old_line = 1; old_line <= 10; old_line++)
      for (const new_line of [old_line - 1, old_line, old_line + 1, old_line + 2])
        if (await reader.diffLine(from, to, { path: 'is', old_line, new_line })) shown.push([old_line, new_line])
    expect(shown).toEqual([
      [2, 2],
      [3, 3],
      [4, 4],
      [5, 6],
      [6, 7],
      [7, 8],
    ])
    expect(await reader.diffLine(from, to, { path: 'is', old_line: 5, new_line: 6 })).toEqual({ old_path: 'was', new_path: 'is' })
    expect(await reader.diffLine(from, to, { path: 'a', old_line: 2, new_line: 1 })).toEqual({ old_path: 'a', new_path: 'a' })
    expect(await reader.diffLine(from, to, { path: 'is', old_line: null, new_line: null })).toBeNull()
  })

  it('of a root commit, against nothing', async () => {
    const repository = t.make()
    const [root] = repository.commits({ parents: [], files: { a: 'a\nb\n' } }) as [string]
    const at = { path: 'a', old_line: null }
    const { reader } = repository
    expect(await reader.diffLine(null, root, { ...at, new_line: 2 })).toEqual({ old_path: 'a', new_path: 'a' })
    expect(await reader.diffLine(null, root, { ...at, new_line: 3 })).toBeNull()
  })
})

describe('how many commits are new', () => {
  it('counts what only one side has, and stops at the limit', async () => {
    const repository = t.make()
    const oids = repository.commits(...Array.from({ length: 30 }, (_, n) => ({ files: { a: String(n) } }))) as string[]
    const [side] = repository.commits({ branch: 'side', parents: [oids[9] as string], files: { b: 'b' } }) as [string]
    const { reader } = repository
    const tip = oids[29] as string
    expect(await reader.countNew([], tip, 1_000)).toBe(30)
    expect(await reader.countNew([oids[9] as string], tip, 1_000)).toBe(20)
    expect(await reader.countNew([tip], side, 1_000)).toBe(1)
    expect(await reader.countNew([tip], oids[3] as string, 1_000)).toBe(0)
    expect(await reader.countNew([], tip, 7)).toBe(7)
    expect(await reader.countNew(['0'.repeat(40)], tip, 1_000)).toBe(30)
    expect(await reader.countNew([], 'f'.repeat(40), 1_000)).toBe(0)
  })
})
