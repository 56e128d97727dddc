// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references to variables of CI are what is tested
import { describe, expect, it } from 'vitest'
import { valuesOf } from '../../../src/rules/ci/expand-variables.js'
import { evaluate, holds, parseExpression } from '../../../src/rules/ci/expression.js'
import { variables } from './support.js'

const values = valuesOf(variables({ NAME: 'feature/a', EMPTY: '', PATTERN: '/^FEAT/i', PLAIN: 'ture' }))
const of = (text: string) => {
  const expression = parseExpression(text)
  return expression ? evaluate(expression, values) : 'syntax'
}

describe('expressions (CI-20)', () => {
  it.each([
    ['$NAME', 'feature/a'],
    ['$NONE', null],
    ['$NAME == "feature/a"', true],
    ["$NAME == 'feature/a'", true],
    ['$NONE == null', true],
    ['$EMPTY == null', false],
    ['$EMPTY == ""', true],
    ['$NAME != $EMPTY', true],
    ['$NAME =~ /^feature\\//', true],
    ['$NAME=~/^FEATURE/', false],
    ['$NAME =~ /^FEATURE/i', true],
    ['$NAME =~ $PATTERN', true],
    ['$NAME =~ $PLAIN', true],
    ['$NAME =~ "ture"', true],
    ['$NAME =~ "/^ture/"', false],
    ['$NONE =~ /x/', false],
    ['$NONE !~ /x/', true],
    ['$NAME !~ /x/', true],
    ['$NAME =~ $NONE', false],
    ['$NAME =~ "("', false],
    // && and || yield an operand, for which an empty text is true
    ['$EMPTY && "x"', 'x'],
    ['$NONE && "x"', null],
    ['$NONE || "x"', 'x'],
    ['$EMPTY || "x"', ''],
    ['null || null', null],
    ['$NAME == "x" || $NAME == "feature/a" && $NONE', null],
    ['($NAME == "feature/a" || $NONE) && "yes"', 'yes'],
    ['("a" || "b") == "a"', true],
  ])('%s is %j', (text, value) => {
    expect(of(text)).toBe(value)
  })

  it.each([
    '',
    '$A =',
    '$A = 1',
    '$A ==',
    '== $A',
    '($A',
    '$A)',
    '$A $B',
    '${A} == "x"',
    '$A =~ /(/',
    '$A =~ /(?=x)/',
    '"a',
    'true',
    '$A && && $B',
    '$A == test/url',
  ])('%j has no valid syntax', (text) => {
    expect(parseExpression(text)).toBeNull()
  })

  it('a whole expression holds for anything but null, false and an empty text', () => {
    const whole = (text: string) => holds(parseExpression(text) ?? expect.unreachable(), values)
    expect(['$NAME', '$EMPTY', '$NONE', '$EMPTY || "x"', '$EMPTY && "x"'].map(whole)).toEqual([true, false, false, false, true])
  })

  it('at most 100 tokens are read', () => {
    expect(parseExpression(Array(50).fill('$A').join(' && '))).not.toBeNull()
    expect(parseExpression(Array(51).fill('$A').join(' && '))).toBeNull()
  })

  it('no pattern takes long (CI-21)', () => {
    const hostile = valuesOf(variables({ A: `${'a'.repeat(20_000)}!` }))
    expect(holds(parseExpression('$A =~ /(a+)+$/') ?? expect.unreachable(), hostile)).toBe(false)
    expect(parseExpression(`$A =~ /${'a'.repeat(1_001)}/`)).toBeNull()
  })
})
