import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { canMerge, draftMerge } from '../../src/git/merge/merge.js'
import { aBareRepository, type TestCommit, type TestFile, type TestRepository } from '../support/git.js'
import { git, nativeReader, PERSON } from './reader.js'
import { workshop } from './support.js'

const { pool, folder } = workshop()

type Files = Record<string, TestFile>

const lines = (word: string, count = 30) => Array.from({ length: count }, (_, i) => `${word} line ${i} of many\n`)
const text = (word: string, changes: Record<number, string> = {}, count = 30) =>
  lines(word, count)
    .map((line, i) => changes[i] ?? line)
    .join('')
const latin = (at: number, word: string) => Buffer.from(text('caf\xe9', { [at]: `${word} \xfc\xf6\n` }), 'latin1')
const binary = (byte: number, size = 3_000) => Buffer.concat([Buffer.from([0, 1, 2, byte]), Buffer.alloc(size, byte)])
const file = (mode: '100644' | '100755' | '120000' | '160000', content: string | Buffer): TestFile => ({ mode, content })
const module = (digit: string) => file('160000', digit.repeat(40))
const crlf = (changes: Record<number, string> = {}) => text('c', changes).replaceAll('\n', '\r\n')
const cr = (changes: Record<number, string> = {}) => text('c', changes).replaceAll('\n', '\r')

/** What was there, and what each side made of it. */
const SCENARIOS: Record<string, { base: Files; ours: Files; theirs: Files }> = {
  'edits far apart': { base: { a: text('a') }, ours: { a: text('a', { 2: 'ours\n' }) }, theirs: { a: text('a', { 25: 'theirs\n' }) } },
  'edits of one line': { base: { a: text('a') }, ours: { a: text('a', { 5: 'ours\n' }) }, theirs: { a: text('a', { 5: 'theirs\n' }) } },
  'edits of neighbouring lines': { base: { a: text('a') }, ours: { a: text('a', { 5: 'ours\n' }) }, theirs: { a: text('a', { 6: 'theirs\n' }) } },
  'the same edit': { base: { a: text('a') }, ours: { a: text('a', { 5: 'both\n' }) }, theirs: { a: text('a', { 5: 'both\n' }), b: 'b' } },
  'edits of two files': { base: { a: 'a\n', b: 'b\n' }, ours: { a: 'ours\n' }, theirs: { b: 'theirs\n' } },
  'rename and modify': { base: { a: text('a') }, ours: { a: null, b: text('a') }, theirs: { a: text('a', { 5: 'theirs\n' }) } },
  'rename with edit and modify': {
    base: { a: text('a') },
    ours: { a: null, b: text('a', { 2: 'ours\n' }) },
    theirs: { a: text('a', { 25: 'theirs\n' }) },
  },
  'rename and modify of one line': {
    base: { a: text('a') },
    ours: { a: null, b: text('a', { 2: 'ours\n' }) },
    theirs: { a: text('a', { 2: 'theirs\n' }) },
  },
  'rename and rename to two names': { base: { a: text('a') }, ours: { a: null, b: text('a') }, theirs: { a: null, c: text('a') } },
  'rename and rename to one name': { base: { a: text('a') }, ours: { a: null, b: text('a') }, theirs: { a: null, b: text('a') } },
  'two files renamed to one name': {
    base: { a: text('a'), b: text('b') },
    ours: { a: null, c: text('a') },
    theirs: { b: null, c: text('b') },
  },
  'rename and delete': { base: { a: text('a') }, ours: { a: null, b: text('a') }, theirs: { a: null, x: 'x' } },
  'rename and add of that name': { base: { a: text('a') }, ours: { a: null, b: text('a') }, theirs: { b: text('other') } },
  'directory rename and add': {
    base: { 'd/a': text('a'), 'd/b': text('b') },
    ours: { 'd/a': null, 'd/b': null, 'e/a': text('a'), 'e/b': text('b') },
    theirs: { 'd/new': text('new') },
  },
  'directory rename and modify': {
    base: { 'd/a': text('a'), 'd/b': text('b') },
    ours: { 'd/a': null, 'd/b': null, 'e/a': text('a'), 'e/b': text('b') },
    theirs: { 'd/a': text('a', { 5: 'theirs\n' }) },
  },
  'directory renamed to two names': {
    base: { 'd/a': text('a'), 'd/b': text('b') },
    ours: { 'd/a': null, 'd/b': null, 'e/a': text('a'), 'e/b': text('b') },
    theirs: { 'd/a': null, 'd/b': null, 'f/a': text('a'), 'f/b': text('b') },
  },
  'binary on both sides': { base: { a: binary(7) }, ours: { a: binary(8) }, theirs: { a: binary(9) } },
  'binary on one side': { base: { a: binary(7), b: 'b' }, ours: { a: binary(8) }, theirs: { b: 'c' } },
  'binary alike on both sides': { base: { a: binary(7) }, ours: { a: binary(8) }, theirs: { a: binary(8), b: 'b' } },
  'text made binary and edited': { base: { a: text('a') }, ours: { a: binary(8) }, theirs: { a: text('a', { 3: 'theirs\n' }) } },
  'modify and delete': { base: { a: text('a') }, ours: { a: text('a', { 5: 'ours\n' }) }, theirs: { a: null, b: 'b' } },
  'delete and delete': { base: { a: text('a'), b: 'b' }, ours: { a: null }, theirs: { a: null, c: 'c' } },
  'mode and content': { base: { a: text('a') }, ours: { a: file('100755', text('a')) }, theirs: { a: text('a', { 5: 'theirs\n' }) } },
  'mode on both sides': { base: { a: text('a') }, ours: { a: file('100755', text('a')) }, theirs: { a: file('100755', text('a', { 2: 'x\n' })) } },
  'submodule on one side': { base: { m: module('a'), b: 'b' }, ours: { m: module('b') }, theirs: { b: 'c' } },
  'submodule on both sides': { base: { m: module('a') }, ours: { m: module('b') }, theirs: { m: module('c') } },
  'submodule and file': { base: { m: module('a') }, ours: { m: module('b') }, theirs: { m: 'a file now\n' } },
  'link on one side': { base: { l: file('120000', 'a'), b: 'b' }, ours: { l: file('120000', 'c') }, theirs: { b: 'c' } },
  'link on both sides': { base: { l: file('120000', 'a') }, ours: { l: file('120000', 'b') }, theirs: { l: file('120000', 'c') } },
  'link and file': { base: { l: file('120000', 'a'), b: 'b' }, ours: { l: 'a file now\n' }, theirs: { l: file('120000', 'b') } },
  'Latin-1': {
    base: { a: latin(0, 'x') },
    ours: { a: latin(2, 'ours') },
    theirs: { a: Buffer.concat([latin(0, 'x'), Buffer.from('\xe4\n', 'latin1')]) },
  },
  'Latin-1 of one line': { base: { a: latin(5, 'x') }, ours: { a: latin(5, 'ours') }, theirs: { a: latin(5, 'theirs') } },
  CRLF: { base: { a: crlf() }, ours: { a: crlf({ 2: 'ours\n' }) }, theirs: { a: crlf({ 25: 'theirs\n' }) } },
  'CRLF against LF': { base: { a: crlf() }, ours: { a: text('c') }, theirs: { a: crlf({ 25: 'theirs\n' }) } },
  'lone CR': { base: { a: cr() }, ours: { a: cr({ 2: 'ours\n' }) }, theirs: { a: cr({ 25: 'theirs\n' }) } },
  'lone CR on one side': { base: { a: cr(), b: 'b' }, ours: { a: cr({ 2: 'ours\n' }) }, theirs: { b: 'c' } },
  'files made empty': { base: { a: 'a\n', b: 'b\n' }, ours: { a: '' }, theirs: { b: '' } },
  'emptied and edited': { base: { a: text('a') }, ours: { a: '' }, theirs: { a: text('a', { 5: 'theirs\n' }) } },
  'an empty file on both sides': { base: { b: 'b' }, ours: { a: '' }, theirs: { a: '' } },
  'add and add alike': { base: { b: 'b' }, ours: { a: text('a') }, theirs: { a: text('a'), c: 'c' } },
  'add and add otherwise': { base: { b: 'b' }, ours: { a: text('a') }, theirs: { a: text('other') } },
  'add and add nearly alike': { base: { b: 'b' }, ours: { a: text('a') }, theirs: { a: text('a', { 5: 'theirs\n' }) } },
  'a file and a directory of one name': { base: { b: 'b' }, ours: { a: 'a\n' }, theirs: { 'a/b': 'b\n' } },
  'a file made a directory and edited': { base: { a: text('a') }, ours: { a: null, 'a/b': 'b\n' }, theirs: { a: text('a', { 5: 'theirs\n' }) } },
  'a file made a directory': { base: { a: text('a'), b: 'b' }, ours: { a: null, 'a/b': 'b\n' }, theirs: { b: 'c' } },
  'no newline at the end': { base: { a: 'one\ntwo\nthree' }, ours: { a: 'ours\ntwo\nthree' }, theirs: { a: 'one\ntwo\nthree\n' } },
  'odd names': {
    base: { 'ü b': text('a'), '-x': 'x' },
    ours: { 'ü b': text('a', { 2: 'ours\n' }), 'a\nb': 'x' },
    theirs: { 'ü b': text('a', { 25: 't\n' }), '"q"': 'x' },
  },
  'everything deleted on one side': { base: { a: 'a' }, ours: { a: null }, theirs: {} },
}

/** What native git makes of it in a work tree: the tree, or why there is none. */
async function nativeMerge(bare: TestRepository, ours: string, theirs: string): Promise<string> {
  const tree = join(await folder(), 'tree')
  git(bare.directory, ['clone', '-q', '--shared', '--no-checkout', bare.directory, tree])
  git(tree, ['checkout', '-q', '--detach', ours])
  try {
    git(tree, ['-c', 'user.name=x', '-c', 'user.email=x', 'merge', '-q', '--no-ff', '--no-commit', theirs])
  } catch {
    return 'conflict'
  }
  return git(tree, ['write-tree']).trim()
}

/** Their best common ancestor, where there is one and no other. */
function baseOf(directory: string, ours: string, theirs: string): string | null {
  try {
    const bases = git(directory, ['merge-base', '--all', ours, theirs]).trim().split('\n')
    return bases.length === 1 ? (bases[0] as string) : null
  } catch {
    return null
  }
}

async function compare(bare: TestRepository, ours: string, theirs: string) {
  const context = { directory: bare.directory, pool, readObject: nativeReader(bare.directory) }
  const base = baseOf(bare.directory, ours, theirs)
  const expected = await nativeMerge(bare, ours, theirs)
  const objects = () => readdirSync(join(bare.directory, 'objects'), { recursive: true }).sort()
  const before = objects()
  expect(await canMerge(context, ours, theirs, base)).toBe(expected !== 'conflict')
  expect(objects()).toEqual(before)
  const result = await draftMerge(
    context,
    { into: ours, from: theirs, squash: null, merge: { author: PERSON, committer: PERSON, message: 'a merge\n' } },
    base,
  )
  expect('commit' in result ? git(bare.directory, ['rev-parse', `${result.commit}^{tree}`]).trim() : 'conflict').toBe(expected)
  if (!('commit' in result)) return 'conflict'
  expect(git(bare.directory, ['log', '-1', '--format=%P', result.commit]).trim()).toBe(`${ours} ${theirs}`)
  bare.git('update-ref', 'refs/heads/merged', result.commit)
  expect(bare.git('fsck', '--strict', '--full', '--no-dangling').replace(/^notice.*\n/gm, '')).toBe('')
  return 'clean'
}

async function withCommits(commits: TestCommit[], check: (bare: TestRepository, oids: string[]) => Promise<void>) {
  const bare = aBareRepository()
  try {
    await check(bare, bare.commits(...commits))
  } finally {
    bare.remove()
  }
}

describe("merges are git's own (MR-64, SEC-103)", () => {
  const ended: Record<string, string> = {}

  it.each(Object.entries(SCENARIOS))('%s', async (name, { base, ours, theirs }) => {
    await withCommits([{ files: base }, { files: ours }, { branch: 'topic', parents: [0], files: theirs }], async (bare, oids) => {
      ended[name] = await compare(bare, oids[1] as string, oids[2] as string)
    })
  })

  it('is shown for both ends, many times', () => {
    expect(Object.values(ended).filter((end) => end === 'clean').length).toBeGreaterThanOrEqual(15)
    expect(Object.values(ended).filter((end) => end === 'conflict').length).toBeGreaterThanOrEqual(15)
  })

  it('criss-cross histories, with and without a conflict', async () => {
    const start = { a: text('a'), b: text('b') }
    for (const clash of [false, true])
      await withCommits(
        [
          { files: start },
          { files: { a: text('a', { 2: 'ours\n' }) } },
          { branch: 'topic', parents: [0], files: { b: text('b', { 2: 'theirs\n' }) } },
          { parents: [1, 2], files: { b: text('b', { 2: 'theirs\n' }) } },
          { branch: 'topic', parents: [2, 1], files: { a: text('a', { 2: 'ours\n' }) } },
          { parents: [3], files: { a: text('a', { 2: 'ours\n', 20: 'ours again\n' }) } },
          {
            branch: 'topic',
            parents: [4],
            files: clash ? { a: text('a', { 2: 'ours\n', 20: 'theirs\n' }) } : { b: text('b', { 2: 'theirs\n', 20: 'x\n' }) },
          },
        ],
        async (bare, oids) => {
          expect(await compare(bare, oids[5] as string, oids[6] as string)).toBe(clash ? 'conflict' : 'clean')
        },
      )
  })

  it('a branch that is only ahead, and one that is merged into already on the way', async () => {
    await withCommits(
      [
        { files: { a: 'a' } },
        { branch: 'topic', parents: [0], files: { b: 'b' } },
        { parents: [0, 1], files: { b: 'b' } },
        { branch: 'topic', parents: [1], files: { c: 'c' } },
      ],
      async (bare, oids) => {
        expect(await compare(bare, oids[0] as string, oids[1] as string)).toBe('clean')
        expect(await compare(bare, oids[2] as string, oids[3] as string)).toBe('clean')
      },
    )
  })

  it('histories with nothing in common', async () => {
    await withCommits([{ files: { a: 'a' } }, { branch: 'alone', parents: [], files: { b: 'b' } }], async (bare, oids) => {
      expect(await compare(bare, oids[0] as string, oids[1] as string)).toBe('conflict')
    })
  })

  it('a file beyond what may be held in memory is a conflict, not a fault (SEC-147)', async () => {
    const big = (word: string, end: string) =>
      Buffer.concat([Buffer.from(`${word}\n`), Buffer.alloc(3_000_000, `${'x'.repeat(99)}\n`), Buffer.from(end)])
    await withCommits(
      [
        { files: { big: big('a', 'b') } },
        { files: { big: big('ours', 'b') } },
        { branch: 'topic', parents: [0], files: { big: big('a', 'theirs') } },
      ],
      async ({ directory }, oids) => {
        const context = { directory, pool, readObject: nativeReader(directory) }
        const [base, ours, theirs] = oids as [string, string, string]
        expect(await canMerge(context, ours, theirs, base, 2_000_000)).toBe(false)
        expect(await canMerge(context, ours, theirs, base, 20_000_000)).toBe(true)
      },
    )
  })
})
