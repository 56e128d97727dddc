import { expect, it } from 'vitest'
import { anyMatches } from '../../../src/rules/ci/globs.js'

it.each([
  ['docs/**', 'docs/a', true],
  ['docs/**', 'docs/.h', true],
  ['docs/**', 'docs/a/b', false],
  ['docs/**/*', 'docs/a/b', true],
  ['docs/**/*', 'docs/a', true],
  ['**/*.rb', 'a.rb', true],
  ['**/*.rb', 'x/y/a.rb', true],
  ['*.rb', 'x/a.rb', false],
  ['**', 'a', true],
  ['**', 'a/b', false],
  ['docs/', 'docs/a', false],
  ['a**/b', 'ax/b', true],
  ['a**/b', 'a/x/b', false],
  ['[!a]', 'b', true],
  ['[^a]', 'a', false],
  ['{a,b}/c', 'b/c', true],
  ['+(a)', 'aa', false],
  ['#a', '#a', true],
  ['!a', 'b', false],
  ['?.md', 'a.md', true],
  ['.*', '.env', true],
])('%s matches %s: %s, as fnmatch of Ruby has it (CI-23)', (pattern, path, matches) => {
  expect(anyMatches([pattern], [path], 'changes')).toBe(matches)
})

it('beyond the limits of comparisons the answer is true (CI-24)', () => {
  const paths = Array.from({ length: 50_001 }, (_, n) => `p${n}`)
  expect(anyMatches(['x*'], paths, 'changes')).toBe(true)
  expect(anyMatches(['x*'], paths.slice(1), 'changes')).toBe(false)
  expect(anyMatches(['x*'], paths.slice(0, 10_001), 'exists')).toBe(true)
  // a path without wildcards is looked up
  expect(anyMatches(['x'], paths, 'exists')).toBe(false)
})
