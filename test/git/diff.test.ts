import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { POOL_LIMITS, ProcessPool } from '../../src/git/process/pool.js'
import { readerFor } from '../../src/git/reading/reader.js'
import { readResources } from '../../src/git/reading/resources.js'
import type { Diff, DiffLimits, FileDiff } from '../../src/git/types.js'
import { encodePath, pathOfBytes } from '../../src/lib/text/byte-path.js'
import type { TestCommit, TestFile } from '../support/git.js'
import { random, testRepositories } from '../support/reader.js'
import { seeds } from '../support/rounds.js'

const t = testRepositories()
const ALL: DiffLimits = { files: 1e6, lines: 1e9, bytes: 1e9, fileBytes: 1e9 }
const EMPTY_TREE = '4b825dc642cb6eb9a060e54bf8d69288fbee4904'
const SUBMODULE = 'b'.repeat(40)

/** What native git says, brought into our shape file by file: one process a file, so no text can be taken for another's. */
function native(repository: ReturnType<typeof t.make>, from: string, to: string): Pick<Diff, 'files' | 'similarity' | 'blobs'> {
  const fields = repository.gitBytes(['diff-tree', '-r', '-M', '--raw', '-z', from, to]).toString('latin1').split('\0')
  const files: (FileDiff & { sort: string; status: string })[] = []
  const blobs: Record<string, (string | null)[]> = {}
  const text = (latin: string) => Buffer.from(latin, 'latin1').toString('utf8')
  // the name for a URL, where it is not UTF-8 (RF-109)
  const encoded = (field: string, latin: string) =>
    text(latin).includes('\ufffd') ? { [field]: encodePath(pathOfBytes(Buffer.from(latin, 'latin1'))) } : {}
  while (fields.length > 1) {
    const [a = '', b = '', before = '', after = '', status = ''] = (fields.shift() as string).slice(1).split(' ')
    const old = fields.shift() as string
    const now = status.startsWith('R') ? (fields.shift() as string) : old
    blobs[text(now)] = [before, after].map((oid) => (/^0+$/.test(oid) ? null : oid))
    const bytes = [...new Set([old, now])].map((path) => Buffer.from(path, 'latin1'))
    // paths go through a file of arguments' bytes: pathspecs from standard input are not to be had in diff-tree
    const all = repository.gitBytes(['-c', 'core.quotePath=true', 'diff-tree', '-r', '-M', '-p', from, to]).toString('latin1')
    const sections = all.split(/^(?=diff --git )/m)
    const quote = (path: string) => (/[^ !#-[\]-~]/.test(path) ? cQuoted(path) : path)
    const side = (letter: string, path: string) => quote(`${letter}/${path}`)
    const header = `diff --git ${side('a', old)} ${side('b', now)}\n`
    const mine = sections.filter((section) => section.startsWith(header))
    expect(mine.length, `${bytes}`).toBe(status === 'T' ? 2 : 1)
    const left = a === '000000' ? '/dev/null' : `a/${text(old)}`
    const right = b === '000000' ? '/dev/null' : `b/${text(now)}`
    const diff = mine
      .map((section, part) => {
        const [was, is] = status === 'T' ? (part === 0 ? [left, '/dev/null'] : ['/dev/null', right]) : [left, right]
        if (/^Binary files .* differ\n$/m.test(section)) return `Binary files ${was} and ${is} differ\n`
        const start = section.search(/^@@ /m)
        if (start < 0) return ''
        const gone = /^--- \/dev\/null$/m.test(section.slice(0, start)) ? '/dev/null' : `a/${text(old)}`
        const come = /^\+\+\+ \/dev\/null$/m.test(section.slice(0, start)) ? '/dev/null' : `b/${text(now)}`
        return `--- ${gone}\n+++ ${come}\n${text(section.slice(start))}`
      })
      .join('')
    files.push({
      sort: old,
      status,
      old_path: text(old),
      new_path: text(now),
      ...encoded('encoded_old_path', old),
      ...encoded('encoded_new_path', now),
      a_mode: a === '000000' ? '0' : a,
      b_mode: b === '000000' ? '0' : b,
      new_file: status === 'A',
      renamed_file: status.startsWith('R'),
      deleted_file: status === 'D',
      diff,
    })
  }
  files.sort((x, y) => (x.sort < y.sort ? -1 : x.sort > y.sort ? 1 : 0))
  const renamed = files.filter(({ renamed_file }) => renamed_file).map(({ new_path, status }) => [new_path, Number(status.slice(1))])
  return {
    files: files.map(({ sort: _, status: __, ...file }) => file),
    similarity: Object.fromEntries(renamed),
    blobs: blobs as unknown as Diff['blobs'],
  }
}

function cQuoted(path: string) {
  const short: Record<string, string> = { '\n': '\\n', '\t': '\\t', '"': '\\"', '\\': '\\\\' }
  return `"${[...path].map((c) => short[c] ?? (/[ -~]/.test(c) ? c : `\\${c.charCodeAt(0).toString(8).padStart(3, '0')}`)).join('')}"`
}

const NAMES: (string | Buffer)[] = [
  'a',
  'b c',
  'd/e',
  'n\nl',
  'q"x',
  'back\\slash',
  'tab\t',
  'ü',
  '-x',
  '--',
  '*',
  ' ',
  Buffer.from([0x66, 0xff, 0x67]),
  'end x',
  'z/.gitattributes',
]

function randomHistory(seed: number): TestCommit[] {
  const { below, chance } = random(seed)
  const here = new Map<string, TestFile>()
  const key = (name: string | Buffer) => Buffer.from(name).toString('latin1')
  const content = (): TestFile => {
    const kind = below(9)
    if (kind === 0) return Buffer.from([0, 1, 2, below(256)])
    if (kind === 1) return { mode: '120000', content: `target${below(3)}` }
    if (kind === 2) return { mode: '160000', content: SUBMODULE }
    if (kind === 3) return ''
    if (kind === 4) return Buffer.from([0x61, 0xe9, 0x0a, below(100)])
    const lines = Array.from({ length: 12 }, (_, i) => `line ${i} ${chance(0.2) ? below(50) : ''}`).join(chance(0.2) ? '\r\n' : '\n')
    return chance(0.3) ? lines : { mode: chance(0.3) ? '100755' : '100644', content: `${lines}\ndiff --git a/x b/x\n` }
  }
  return Array.from({ length: 25 }, (_, n) => {
    const files: [string | Buffer, TestFile][] = []
    for (let i = 0; i < (n === 0 ? 10 : 1 + below(4)); i++) {
      const name = NAMES[below(NAMES.length)] as string | Buffer
      const had = here.get(key(name))
      const free = NAMES.find((other) => !here.has(key(other)))
      if (had && free && chance(0.4)) {
        files.push([name, null], [free, had])
        here.delete(key(name))
        here.set(key(free), had)
      } else if (had && chance(0.2)) {
        files.push([name, null])
        here.delete(key(name))
      } else {
        const file = content()
        files.push([name, file])
        here.set(key(name), file)
      }
    }
    return { files }
  })
}

describe('diff', () => {
  it.each(seeds(1, 3))(
    'C-52 to C-56 SEC-153 SEC-154 says what git says, for odd names and kinds of files (history %i)',
    { tags: ['long'] },
    async (seed) => {
      const repository = t.make()
      const oids = repository.commits(...randomHistory(seed))
      const pairs = oids.map((oid, i) => [oids[i - 1] ?? null, oid] as const)
      const answers = await Promise.all(pairs.map(([from, to]) => repository.reader.diff(from, to, ALL)))
      for (const [i, [from, to]] of pairs.entries()) expect(answers[i]).toEqual({ ...native(repository, from ?? EMPTY_TREE, to), truncated: false })
      const [first = '', last = ''] = [oids[2], oids.at(-1)]
      expect((await repository.reader.diff(first, last, ALL)).files).toEqual(native(repository, first, last).files)

      const stats = await repository.reader.stats(oids)
      for (const [i, [from, to]] of pairs.entries()) {
        const numbers = repository
          .git('diff-tree', '-r', '-M', '--numstat', from ?? EMPTY_TREE, to)
          .split('\n')
          .map((line) => line.split('\t'))
        const sum = (column: number) => numbers.reduce((all, fields) => all + (Number(fields[column]) || 0), 0)
        expect(stats[i]).toEqual({ additions: sum(0), deletions: sum(1) })
      }
    },
  )

  it('gives each case its shape (C-54)', async () => {
    const repository = t.make()
    const text = Array.from({ length: 20 }, (_, i) => `${i}\n`).join('')
    const [one = '', two = ''] = repository.commits(
      { files: { gone: 'x\n', old: text, mode: 'm\n', bin: Buffer.from([0, 1]) } },
      { files: { gone: null, old: null, new: text, mode: { mode: '100755', content: 'm\n' }, bin: Buffer.from([0, 2]), fresh: 'hello', empty: '' } },
    )
    const { files } = await repository.reader.diff(one, two, ALL)
    const plain = { new_file: false, renamed_file: false, deleted_file: false, a_mode: '100644', b_mode: '100644' }
    expect(files).toEqual([
      { ...plain, old_path: 'bin', new_path: 'bin', diff: 'Binary files a/bin and b/bin differ\n' },
      { ...plain, old_path: 'empty', new_path: 'empty', a_mode: '0', new_file: true, diff: '' },
      {
        ...plain,
        old_path: 'fresh',
        new_path: 'fresh',
        a_mode: '0',
        new_file: true,
        diff: '--- /dev/null\n+++ b/fresh\n@@ -0,0 +1 @@\n+hello\n\\ No newline at end of file\n',
      },
      { ...plain, old_path: 'gone', new_path: 'gone', b_mode: '0', deleted_file: true, diff: '--- a/gone\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n' },
      { ...plain, old_path: 'mode', new_path: 'mode', b_mode: '100755', diff: '' },
      { ...plain, old_path: 'old', new_path: 'new', renamed_file: true, diff: '' },
    ])
    expect((await repository.reader.diff(one, one, ALL)).files).toEqual([])
    expect((await repository.reader.diff('e'.repeat(40), one, ALL)).files).toEqual([])
  })

  it('leaves out what is beyond the limits, in all forms of a diff (C-52, C-57, SEC-146)', async () => {
    const repository = t.make()
    const files = Object.fromEntries(
      Array.from({ length: 150 }, (_, i) => [`f${String(i).padStart(3, '0')}`, `${i}\n`.repeat(i === 1 ? 60_000 : 40)]),
    )
    const [, base = '', , tip = ''] = repository.commits({}, {}, { files }, { files: { z: 'z\n' } })
    const commit = repository.git('rev-parse', `${tip}^`).trim()
    const limits = { files: 100, lines: 5_000, bytes: 512_000, fileBytes: 102_400 }
    for (const to of [commit, tip]) {
      const { files: some, truncated } = await repository.reader.diff(base, to, limits)
      expect(truncated).toBe(true)
      expect(some).toHaveLength(100)
      expect(some.map(({ new_path }) => new_path)).toEqual(Object.keys(files).slice(0, 100))
      expect(some[1]?.diff).toBe('')
      expect(some[99]?.diff).toContain('+99\n')
      const few = await repository.reader.diff(base, to, { ...limits, lines: 430 })
      expect(few.files).toHaveLength(11) // 43 lines each, but for the one that is too large to count
      expect(few.truncated).toBe(true)
    }
    const all = await repository.reader.diff(base, commit, { ...limits, files: 150, lines: 10_000 })
    expect([all.files.length, all.truncated]).toEqual([150, false])
  })

  it('does not read blobs above 10 MiB, and lives through a line of that length (SEC-146)', async () => {
    const repository = t.make()
    const [one = '', two = ''] = repository.commits(
      { files: { big: Buffer.alloc(11_000_000, 'x\n'), line: 'short\n' } },
      { files: { big: 'small\n', line: 'y'.repeat(10_000_000) } },
    )
    const { files } = await repository.reader.diff(one, two, { ...ALL, fileBytes: 102_400 })
    expect(files.map(({ diff }) => diff)).toEqual(['Binary files a/big and b/big differ\n', ''])
    expect(await repository.reader.stats([two])).toEqual([{ additions: 1, deletions: 1 }])
  })

  it('lets attributes in the repository neither run nor change anything (SEC-85)', async () => {
    const repository = t.make()
    const made = join(repository.root, 'made')
    repository.git('config', 'diff.evil.textconv', `touch ${made}; cat`)
    repository.git('config', 'diff.evil.command', `touch ${made}`)
    writeFileSync(join(repository.directory, 'info/attributes'), '* diff=evil\n')
    const [one = '', two = ''] = repository.commits({ files: { '.gitattributes': '* diff=evil -diff binary\n', x: 'a\n' } }, { files: { x: 'b\n' } })
    for (const limits of [ALL, { ...ALL, files: 9 }])
      expect((await repository.reader.diff(one, two, limits)).files[0]?.diff).toBe('--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n')
    expect(existsSync(made)).toBe(false)
  })
})

describe('a difference that takes git too long', () => {
  it('leaves the text of large files out and shows the rest, of one commit and of a range (C-52, C-57, SEC-143)', async () => {
    const repository = t.make()
    const resources = readResources(new ProcessPool({ ...POOL_LIMITS, deadline: 1_500 }))
    const reader = readerFor(resources, repository.directory)
    const { below } = random(7)
    // nothing in common but chance: git needs a minute to compare them
    const noise = () => Array.from({ length: 1_600_000 }, () => below(4_096).toString(36)).join('\n')
    const [first, second, third] = repository.commits(
      { files: { large: noise(), small: 'one\n' } },
      { files: { large: noise(), small: 'two\n' } },
      { files: { more: 'x' } },
    ) as [string, string, string]
    for (const to of [second, third]) {
      const { files, truncated } = await reader.diff(first, to, { files: 100, lines: 5_000, bytes: 512_000, fileBytes: 102_400 })
      expect(truncated).toBe(false)
      const texts = files.map(({ new_path, diff }) => [new_path, diff])
      expect(texts.slice(0, 2)).toEqual([
        ['large', ''],
        to === second ? ['small', expect.stringContaining('+two')] : ['more', expect.stringContaining('+x')],
      ])
    }
    expect(await reader.stats([second])).toEqual([{ additions: 1, deletions: 1 }])
    resources.batchProcesses.close()
    await Promise.all([resources.pool.close(), resources.searches.close()])
  })
})
