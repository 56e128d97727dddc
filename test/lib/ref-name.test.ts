import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { checkRefName } from '../../src/lib/ref-name.js'
import { rounds } from '../support/rounds.js'
import { runSync } from '../support/run-sync.js'

function git(name: string): boolean {
  try {
    runSync('git', ['check-ref-format', name])
    return true
  } catch {
    return false
  }
}

describe('checkRefName', () => {
  it.each([
    'refs/heads/main',
    'main',
    '',
    '/',
    'a/',
    '/a',
    'a//b',
    'a/.b',
    'a/b.',
    'a/b.lock',
    'a/b.lock/c',
    'a/b..c',
    'a/@',
    'a/@{',
    'a/b\\c',
    'refs/heads/../../x',
    'refs/heads/-x',
    'refs/heads/ü',
    'refs/heads/\u{1f600}',
    'refs/heads/a\nb',
    'refs/heads/a b',
    'refs/heads/a\x7f',
    'refs/heads/__proto__',
    'refs/heads/.lock',
  ])('judges %j as git does', (name) => expect(checkRefName(name)).toBe(git(name)))

  it('judges any name as git does (SEC-83)', { tags: ['long'] }, () => {
    const piece = fc.constantFrom('a', 'b/', '/', '.', '..', '@', '{', '~', '^', ':', '?', '*', '[', '\\', ' ', '.lock', 'é', '\x01', '-')
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 8 }), (pieces) => {
        const name = `refs/${pieces.join('')}`
        expect(checkRefName(name)).toBe(git(name))
      }),
      { numRuns: rounds(50, 400) },
    )
  })

  it('refuses half a surrogate pair, which no encoding can carry', () => expect(checkRefName('refs/heads/\ud800')).toBe(false))
})
