// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references to variables of CI are what is tested
import { describe, expect, it } from 'vitest'
import { expandEach, expandVariables } from '../../../src/rules/ci/expand-variables.js'
import { parsePeriod } from '../../../src/rules/ci/periods.js'
import { slug } from '../../../src/rules/ci/slug.js'
import { variables } from './support.js'

describe('variables in texts (CI-39)', () => {
  const values = [...variables({ A: 'a', B: '$A', LONG_1: 'x' }), { key: 'F', value: 'content', file: true }]

  it.each([
    ['$A-${A}-%A%', 'a-a-a'],
    ['$B', '$A'],
    ['$NONE ${NONE} %NONE%', '$NONE ${NONE} %NONE%'],
    ['$$A %%A%%', '$$A %%A%%'],
    ['$F', '$F'],
    ['$LONG_1.x', 'x.x'],
    ['100% of $', '100% of $'],
    ['${A', '${A'],
  ])('%s is %s', (text, expanded) => {
    expect(expandVariables(text, values)).toBe(expanded)
  })

  it('missing ones may become nothing', () => {
    expect(expandVariables('a$NONE', [], { missing: 'empty' })).toBe('a')
  })

  it('values are expanded by each other in any order, but not raw ones, nor in a circle', () => {
    const expanded = expandEach([...variables({ C: '$B!', B: '$A', A: '1', X: '$Y', Y: '$X' }), { key: 'R', value: '$A', raw: true }])
    expect(Object.fromEntries(expanded.map(({ key, value }) => [key, value]))).toEqual({ A: '1', B: '1', C: '1!', X: '$X', Y: '$X', R: '$A' })
  })

  it('a chain of many is followed as far as is usual', () => {
    const chain = variables(Object.fromEntries(Array.from({ length: 20_000 }, (_, n) => [`V${n}`, `$V${n + 1}`])))
    expect(expandEach(chain)).toHaveLength(20_000)
  })

  it('values that explode stay as they are (CI-40)', () => {
    const hostile = variables(
      Object.fromEntries(Array.from({ length: 40 }, (_, n) => [`V${n}`, n === 0 ? 'x'.repeat(100) : `$V${n - 1}`.repeat(10)])),
    )
    const total = expandEach(hostile).reduce((sum, { value }) => sum + value.length, 0)
    expect(total).toBeLessThan(1_000_000)
    const large = variables({ A: 'x'.repeat(100_000) })
    expect(expandVariables('$A$A$A$A', large)).toBe('$A$A$A$A')
  })
})

it.each([
  ['main', 'main'],
  ['Feature/ABC_1.2', 'feature-abc-1-2'],
  ['-a-', 'a'],
  ['ümlaut', 'mlaut'],
  [`${'a'.repeat(62)}/b`, 'a'.repeat(62)],
  ['///', ''],
])('the slug of %s is %s (CI-41)', (text, expected) => {
  expect(slug(text)).toBe(expected)
})

it.each([
  ['3h 30m', 12_600],
  ['1 week', 604_800],
  ['2 hours and 5 minutes', 7_500],
  ['1 day', 86_400],
  ['1 month', 2_592_000],
  ['90', 90],
  ['1.5 hours', 5_400],
  ['1 hour, 1 second', 3_601],
  ['', null],
  ['soon', null],
  ['7 elephants', null],
  ['never', null],
  ['-1 day', null],
])('%s are %s seconds (CI-13)', (text, seconds) => {
  expect(parsePeriod(text)).toBe(seconds)
})
