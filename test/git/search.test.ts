import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, vi } from 'vitest'
import { ProcessPool } from '../../src/git/process/pool.js'
import { random, testRepositories } from '../support/reader.js'

const t = testRepositories()
const ALL = { context: 2, limit: 1_000 }

describe('grep', () => {
  it('lines with two around them, those that meet as one chunk, by path, whatever the case', async () => {
    const repository = t.make()
    const lines = (n: number, hits: number[]) =>
      Array.from({ length: n }, (_, i) => (hits.includes(i + 1) ? `a NEEDLE ${i + 1}` : `line ${i + 1}`)).join('\n')
    const [head] = repository.commits({
      files: { 'z.txt': lines(30, [1, 5, 11, 30]), 'a/b': 'needle', 'a-b': 'Needle\r\n', other: 'none\n', bin: Buffer.from('needle\0needle') },
    }) as [string]
    const { chunks, truncated } = await repository.reader.grep(head, 'needle', ALL)
    expect(truncated).toBe(false)
    expect(chunks.map(({ path, startLine }) => [path, startLine])).toEqual([
      ['a-b', 1],
      ['a/b', 1],
      ['z.txt', 1],
      ['z.txt', 9],
      ['z.txt', 28],
    ])
    expect(chunks[0]?.text).toBe('Needle\r')
    expect(chunks[2]?.text).toBe('a NEEDLE 1\nline 2\nline 3\nline 4\na NEEDLE 5\nline 6\nline 7')
    expect(chunks[4]?.text).toBe('line 28\nline 29\na NEEDLE 30')
  })

  it('finds what native git grep finds, for random files and texts', async () => {
    const { below } = random(5)
    const repository = t.make()
    const word = () => ['foo', 'Bar', 'b.r', 'f*o', '\\d', '--', ':', 'x\0y', 'ÄÖ'][below(9)] as string
    const files = Object.fromEntries(
      Array.from({ length: 40 }, (_, i) => [`d${i % 4}/f${i}`, Array.from({ length: below(40) }, () => `${word()} ${word()}`).join('\n')]),
    )
    const [head] = repository.commits({ files }) as [string]
    for (const text of ['foo', 'b.r', 'f*o', '\\d', '--', ':', 'bar f', '-e', '--open-files-in-pager=x']) {
      const native = nativeGrep(repository, text, head)
      const { chunks } = await repository.reader.grep(head, text, { context: 0, limit: 10_000 })
      const ours = chunks.flatMap(({ path, startLine, text: found }) => found.split('\n').map((line, i) => `${path}:${startLine + i}:${line}`))
      expect(ours.sort()).toEqual(native)
    }
  })

  it('letters beyond ASCII have two cases too', async () => {
    const repository = t.make()
    const [head] = repository.commits({ files: { a: 'STRASSE ÄRGER\n' }, message: 'Größe ÄNDERN\n' }) as [string]
    expect((await repository.reader.grep(head, 'ärger', ALL)).chunks).toHaveLength(1)
    expect((await repository.reader.searchLog(head, 'grÖßE änd', { limit: 5 })).oids).toHaveLength(1)
  })

  it('paths are literal, and a text is never an option or a pattern (SEC-79, SEC-80)', async () => {
    const repository = t.make()
    const [head] = repository.commits({ files: { '*': 'hit', 'd/x': 'hit', 'd/y': 'hit', ':(top)d': 'hit', '-x': 'hit', 'e/z': 'hit' } }) as [string]
    const paths = async (...wanted: string[]) => (await repository.reader.grep(head, 'HIT', { ...ALL, paths: wanted })).chunks.map(({ path }) => path)
    expect(await paths('*')).toEqual(['*'])
    expect(await paths('d')).toEqual(['d/x', 'd/y'])
    expect(await paths('d/', '-x')).toEqual(['-x', 'd/x', 'd/y'])
    expect(await paths(':(top)d')).toEqual([':(top)d'])
    expect(await paths(':!d')).toEqual([])
    expect(await paths('../d')).toEqual([])
    expect(await paths('none')).toEqual([])
    expect((await paths()).length).toBe(0)
    for (const text of ['', 'h.t', '--all', '-f/etc/passwd', 'a\nb', '--output=x'])
      expect((await repository.reader.grep(head, text, ALL)).chunks).toEqual([])
    expect(existsSync(join(repository.directory, 'x'))).toBe(false)
  })

  it('names with line breaks, quotes and bytes that are no text (SEC-153)', async () => {
    const repository = t.make()
    const names = ['a\nb', '--', 'q"q', 'tab\there', ' ', 'ünï']
    const [head] = repository.commits({
      files: [...names.map((name): [string, string] => [name, 'hit\n']), [Buffer.from([0x66, 0xff]), 'hit\n']],
    }) as [string]
    const { chunks } = await repository.reader.grep(head, 'hit', ALL)
    expect(chunks.map(({ path }) => path).sort()).toEqual([...names, 'f\udcff'].sort())
    expect(chunks.every(({ text, startLine }) => text === 'hit' && startLine === 1)).toBe(true)
  })

  it('says when there is more: chunks beyond the limit, or the time is up', async () => {
    const repository = t.make()
    const files = Object.fromEntries(Array.from({ length: 30 }, (_, i) => [`f${String(i).padStart(2, '0')}`, 'hit\n']))
    const [head] = repository.commits({ files }) as [string]
    const some = await repository.reader.grep(head, 'hit', { context: 2, limit: 10 })
    expect([some.chunks.map(({ path }) => path), some.truncated]).toEqual([Object.keys(files).slice(0, 10), true])
    const all = await repository.reader.grep(head, 'hit', { context: 2, limit: 30 })
    expect([all.chunks.length, all.truncated]).toEqual([30, false])
    // one file of a megabyte three thousand times: more than can be read in that time
    const blob = repository
      .gitBytes(['hash-object', '-w', '--stdin'], `hit\n${'some other line\n'.repeat(65_000)}`)
      .toString()
      .trim()
    const rows = Array.from({ length: 3_000 }, (_, i) => `100644 blob ${blob}\tf${i}\0`)
    const tree = repository.gitBytes(['mktree', '-z'], rows.join('')).toString().trim()
    const huge = repository.git('commit-tree', '-m', 'x', tree).trim()
    const late = await repository.reader.grep(huge, 'hit', { context: 2, limit: 10_000, deadline: 300 })
    expect([late.truncated, late.chunks.length < 3_000]).toEqual([true, true])
    const gone = AbortSignal.abort(new Error('gone'))
    await expect(repository.reader.grep(head, 'hit', { ...ALL, signal: gone })).rejects.toThrow('gone')
  })

  it('files above 10 MiB are left alone, their neighbours not; a long line is cut (SEC-146, SEC-147)', async () => {
    const repository = t.make()
    const [head] = repository.commits({
      files: { a: 'hit\n', big: Buffer.alloc(11 * 1024 * 1024, 'hit '), line: `hit ${'x'.repeat(2_000_000)}\n`, z: 'hit\n' },
    }) as [string]
    const { chunks, truncated } = await repository.reader.grep(head, 'hit', ALL)
    expect(chunks.map(({ path }) => path)).toEqual(['a', 'line', 'z'])
    expect(chunks[1]?.text).toHaveLength(10_000)
    expect(truncated).toBe(false)
  })

  it('so many large files that they cannot be named end the search early, and it says so (SEC-147)', async () => {
    const repository = t.make()
    const big = repository
      .gitBytes(['hash-object', '-w', '--stdin'], Buffer.alloc(11 * 1024 * 1024, 'hit '))
      .toString()
      .trim()
    const small = repository.gitBytes(['hash-object', '-w', '--stdin'], 'hit\n').toString().trim()
    const rows = [`100644 blob ${small}\ta\0`, ...Array.from({ length: 700 }, (_, i) => `100644 blob ${big}\tb${i}${'x'.repeat(100)}\0`)]
    const tree = repository.gitBytes(['mktree', '-z'], rows.join('')).toString().trim()
    const head = repository.git('commit-tree', '-m', 'x', tree).trim()
    const { chunks, truncated } = await repository.reader.grep(head, 'none of them', ALL)
    expect([chunks, truncated]).toEqual([[], true])
    // where none of them is asked about they cost nothing
    expect(await repository.reader.grep(head, 'none of them', { ...ALL, paths: ['a'] })).toEqual({ chunks: [], truncated: true })
    expect((await repository.reader.grep(head, 'hit', { ...ALL, paths: ['a'] })).chunks).toHaveLength(1)
  })

  it('asked again nothing is started, and many who ask at once are answered by one process (SEC-143)', async () => {
    const repository = t.make()
    const [head] = repository.commits({ files: { a: 'hit\n', 'd/b': 'Hit\n', 'd/c': 'none\n' }, message: 'Hit it\n' }) as [string]
    const start = vi.spyOn(ProcessPool.prototype, 'start')
    const started = (command: string) => start.mock.calls.filter(([, args]) => args.includes(command)).length
    try {
      const ask = () => repository.reader.grep(head, 'HIT', ALL)
      const [first, ...others] = await Promise.all([ask(), ask(), ask(), ask()])
      expect(first?.chunks).toHaveLength(2)
      for (const other of [...others, await ask()]) expect(other).toEqual(first)
      expect(started('grep')).toBe(1)
      for (const _ of [1, 2]) expect(await repository.reader.filesWith(head, 'hit', { paths: ['d'] })).toEqual(['d/b'])
      expect(started('grep')).toBe(2)
      for (const _ of [1, 2]) expect((await repository.reader.searchLog(head, 'HIT', { limit: 5 })).oids).toEqual([head])
      expect(started('log')).toBe(1)
    } finally {
      start.mockRestore()
    }
  })

  it('one who leaves takes nothing from the others who asked the same (SEC-143)', async () => {
    const repository = t.make()
    const [head] = repository.commits({ files: { a: 'hit\n' } }) as [string]
    const leaving = new AbortController()
    const left = repository.reader.grep(head, 'hit', { ...ALL, signal: leaving.signal })
    const stays = repository.reader.grep(head, 'hit', { ...ALL, signal: new AbortController().signal })
    leaving.abort(new Error('gone'))
    await expect(left).rejects.toThrow('gone')
    expect((await stays).chunks).toHaveLength(1)
  })

  it('has nothing to find where there is no commit', async () => {
    const repository = t.make()
    for (const oid of ['f'.repeat(40), 'none']) expect(await repository.reader.grep(oid, 'x', ALL)).toEqual({ chunks: [], truncated: false })
    expect(await repository.reader.searchLog('f'.repeat(40), 'x', { limit: 5 })).toEqual({ oids: [], truncated: false })
  })
})

/** `path:line:text` of every hit, sorted. */
function nativeGrep(repository: ReturnType<typeof t.make>, text: string, head: string) {
  let out = ''
  try {
    out = repository.git('grep', '-n', '-F', '-i', '-I', '-e', text, head)
  } catch {
    // none
  }
  return out
    .split('\n')
    .filter(Boolean)
    .map((line) => line.slice(head.length + 1))
    .sort()
}

describe('searchLog', () => {
  it('commits whose message holds the text, newest first, up to a limit', async () => {
    const repository = t.make()
    const oids = repository.commits(
      { message: 'First needle\n' },
      { message: 'Second\n\nwith a NEEDLE in the body\n' },
      { message: 'Third\n' },
      { message: 'needle and\nthread\n' },
      { branch: 'other', parents: [0], message: 'needle elsewhere\n' },
    )
    const at = (found: string[]) => found.map((oid) => oids.indexOf(oid))
    const head = oids[3] as string
    const all = await repository.reader.searchLog(head, 'Needle', { limit: 10 })
    expect([at(all.oids), all.truncated]).toEqual([[3, 1, 0], false])
    const two = await repository.reader.searchLog(head, 'Needle', { limit: 2 })
    expect([at(two.oids), two.truncated]).toEqual([[3, 1], true])
    expect(at((await repository.reader.searchLog(head, 'needle AND\nthread', { limit: 10 })).oids)).toEqual([3])
    expect(at((await repository.reader.searchLog(head, 'needle and\nneedle', { limit: 10 })).oids)).toEqual([])
    // of a text of several lines only what holds all of them counts for the limit
    expect(await repository.reader.searchLog(head, 'd\n\nwith a needle', { limit: 1 })).toEqual({ oids: [oids[1]], truncated: false })
    // neither patterns nor options, nor who wrote it
    for (const text of ['n..dle', '--all', '^First', 'ada@example.com', 'Ada', ''])
      expect((await repository.reader.searchLog(head, text, { limit: 10 })).oids).toEqual([])
  })
})
