import { describe, expect, it } from 'vitest'
import { branchNameFault } from '../../src/rules/refs/branch-name.js'
import { matchesPattern, type ProtectedBranch, type ProtectedTag, Protections } from '../../src/services/repository/protection.js'

const branch = (name: string, push_level: number, merge_level = 40, allow_force_push = false) =>
  ({ name, push_level, merge_level, allow_force_push }) as ProtectedBranch
const tag = (name: string, create_level: number) => ({ name, create_level }) as ProtectedTag

describe('matchesPattern (BR-16, G-71)', () => {
  it.each([
    ['main', 'main', true],
    ['main', 'Main', false],
    ['main', 'main2', false],
    ['*', '', true],
    ['*', 'a/b/c', true],
    ['release/*', 'release/1.0/fix', true],
    ['release/*', 'release/', true],
    ['release/*', 'release', false],
    ['*-stable', '1/2-stable', true],
    ['*-stable', '-stable-', false],
    ['a*b*c', 'a--b--c', true],
    ['a*b*c', 'acb', false],
    ['a*bb*b', 'abbb', true],
    ['a*bb*bb', 'abbb', false],
    ['ab*ba', 'aba', false],
    ['a**b', 'ab', true],
    ['a.c', 'abc', false],
    ['[ab]', 'a', false],
    ['a?', 'ab', false],
    ['__proto__', '__proto__', true],
  ])('%j against %j: %s', (pattern, name, expected) => expect(matchesPattern(pattern, name)).toBe(expected))

  // by trying all ways to match, this would not end
  it('does not backtrack', () => expect(matchesPattern(`${'*a'.repeat(100)}*b`, 'a'.repeat(20_000))).toBe(false))
})

describe('Protections (BR-16, BR-19, G-71)', () => {
  it('asks for a developer where nothing matches', () => {
    const none = new Protections([branch('other', 0, 0)], [tag('v*', 0)])
    expect([none.isProtected('main'), none.pushLevel('main'), none.mergeLevel('main')]).toEqual([false, 30, 30])
    expect([none.isTagProtected('1.0'), none.createTagLevel('1.0')]).toEqual([false, 30])
  })

  it.each([
    [[0], 0],
    [[40], 40],
    [[30], 30],
    [[0, 40], 40],
    [[40, 30], 30],
    [[0, 30, 40], 30],
    [[0, 0], 0],
  ])('of the levels %j the most permissive one counts: %i, and 0 allows no one', (levels, expected) => {
    const all = new Protections(
      levels.map((level, i) => branch(`${'*'.repeat(i + 1)}`, level, level)),
      levels.map((level, i) => tag(`${'*'.repeat(i + 1)}`, level)),
    )
    expect([all.pushLevel('x'), all.mergeLevel('x'), all.createTagLevel('x')]).toEqual([expected, expected, expected])
  })

  it.each([
    [[false], false],
    [[true], true],
    [[false, true], true],
  ])('force pushes are allowed when one of the matching entries allows them: %j', (allowed, expected) => {
    const all = new Protections(
      allowed.map((allow, i) => branch('*'.repeat(i + 1), 40, 40, allow)),
      [],
    )
    expect(all.allowsForcePush('x')).toBe(expected)
  })
})

describe('branchNameFault (BR-15, SEC-83)', () => {
  it.each(['main', 'a/b', 'v1.2.txt', 'ü', '__proto__', 'constructor', 'null', '0', '1e3', 'a@b', 'a-', 'abc123', 'f'.repeat(39), 'x'.repeat(244)])(
    'takes %s',
    (name) => expect(branchNameFault(name)).toBeNull(),
  )

  it.each([
    '',
    '-a',
    '-',
    'HEAD',
    '@',
    'refs/heads/a',
    'refs/x',
    'f'.repeat(40),
    '0'.repeat(64),
    'x'.repeat(245),
    'ü'.repeat(123),
    'a..b',
    'a b',
    'a~1',
    'a^',
    'a:b',
    'a?',
    'a*',
    'a[b',
    'a\\b',
    'a.',
    'a.lock',
    '.a',
    'a/.b',
    '/a',
    'a/',
    'a//b',
    'a@{b',
    'a\x7fb',
    'a\nb',
    'a\tb',
  ])('refuses %j', (name) => expect(branchNameFault(name)).not.toBeNull())
})
