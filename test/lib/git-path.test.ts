import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, describe, expect, it } from 'vitest'
import { checkPath, namesGitDirectory, normalisePath } from '../../src/lib/git-path.js'
import { rounds } from '../support/rounds.js'

const folder = mkdtempSync(join(tmpdir(), 'roost-test-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

describe('normalisePath', () => {
  it.each([
    ['/a/b', 'a/b'],
    ['//a', 'a'],
    ['./a/./b', 'a/b'],
    ['a/x/../b', 'a/b'],
    ['a/../../b', '../b'],
    ['..', '..'],
    ['a/..', ''],
    ['a//b', 'a//b'],
    ['a/', 'a/'],
  ])('%s becomes %s (C-38)', (given, wanted) => expect(normalisePath(given)).toBe(wanted))

  it('what passes the check is left as it is by a second pass (C-38)', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom('a', '.', '..', '', 'b c', '.git', 'é')), (parts) => {
        const path = normalisePath(parts.join('/'))
        if (checkPath(path) === null) expect(normalisePath(path)).toBe(path)
      }),
    )
  })
})

describe('checkPath', () => {
  it.each([
    'a',
    'a/b.txt',
    '.gitignore',
    '.gitmodules',
    '.github/x',
    'git',
    'a..b',
    '...',
    'a\\b..',
    '..a\\b',
    '-x',
    '*',
    ':(top)x',
    'é/ü',
    '.git2',
    'x.git',
    '__proto__',
    ' a ',
  ])('takes %j', (path) => expect(checkPath(path)).toBeNull())
  it.each(['', ' ', '\t'])('%j is blank (C-27)', (path) => expect(checkPath(path)).toBe('blank'))
  it.each(['..', '../a', 'a/../..', '..\\x', 'a/..\\x', 'a\\..\\..\\x', 'x\\..', '.. ', '.. \\x'])('%j leads out (C-26)', (path) =>
    expect(checkPath(path)).toBe('traversal'),
  )
  it.each([
    '/a',
    'a/',
    'a//b',
    'a\nb',
    'a\rb',
    'a\0b',
    'a\x7fb',
    'x'.repeat(256),
    'é'.repeat(128),
    `${'a/'.repeat(128)}a`,
    'abcd/'.repeat(820),
    '\ud800',
  ])('refuses %j (SEC-92)', (path) => expect(checkPath(path)).toBe('invalid'))
  it.each([
    '.git',
    '.GIT',
    '.git.',
    '.git ',
    '.git . .',
    'git~1',
    'GIT~1',
    '.git::$INDEX_ALLOCATION',
    '.g\u200cit',
    '\ufeff.git',
    '.git\\x',
    'a\\.git',
    'git~1.',
  ])('refuses %j as any part (SEC-93)', (name) => {
    expect(checkPath(name)).toBe('invalid')
    expect(checkPath(`a/${name}/b`)).toBe('invalid')
  })

  it('refuses whatever git fsck refuses, and nothing more among spellings of .git (SEC-93)', { tags: ['long'], timeout: 30_000 }, () => {
    execFileSync('git', ['init', '-q', folder])
    const piece = fc.constantFrom(
      '.',
      'g',
      'G',
      'i',
      'I',
      't',
      'T',
      '~',
      '1',
      ' ',
      '\u200c',
      '\u206f',
      '\u202e',
      '\ufeff',
      '.git',
      'git~1',
      '\\',
      ':',
      'x',
    )
    const names = fc.sample(
      fc.tuple(fc.constantFrom('', '.git', 'git~1', '.g\u200cit'), fc.array(piece, { maxLength: 4 })).map(([start, parts]) => start + parts.join('')),
      { numRuns: rounds(400, 5_000), seed: 7 },
    )
    const blob = 'e69de29bb2d1d6434b8b29ae775ad8c2e48c5391'
    execFileSync('git', ['hash-object', '-w', '--stdin'], { cwd: folder, input: '' })
    const unique = [...new Set(names)].filter((name) => !['', '.', '..'].includes(name))
    const trees = unique.map((name) => `100644 blob ${blob}\t${name}\0`).join('\0')
    const objects = execFileSync('git', ['mktree', '-z', '--batch'], { cwd: folder, input: trees, encoding: 'utf8' }).trim().split('\n')
    let report = ''
    try {
      execFileSync('git', ['fsck', '--strict', '--no-dangling', ...objects], { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] })
    } catch (error) {
      report = String((error as { stderr: Buffer }).stderr)
    }
    const refused = new Set([...report.matchAll(/tree ([0-9a-f]{40}): hasDotgit/g)].map((match) => match[1]))
    expect(refused.size).toBeGreaterThan(20)
    unique.forEach((name, i) => {
      expect([name, namesGitDirectory(name)]).toEqual([name, refused.has(objects[i])])
    })
  })
})
