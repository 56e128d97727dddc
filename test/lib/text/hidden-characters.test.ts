import { describe, expect, it } from 'vitest'
import { hasHidden, partsOfLine } from '../../../src/lib/text/hidden-characters.js'

const codesIn = (line: string, isFirst = false) => partsOfLine(line, isFirst).flatMap((part) => (typeof part === 'string' ? [] : [part.code]))

describe('hidden characters (WB-395)', () => {
  it.each([
    ...[...'\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f\u061c'],
    ...[...'\u200b\u00ad\u2060\u3164\u115f\u034f\ufeff\u2028\u2029\u180e\u0000\u0008\u001b\u007f\u0085\u206a\ufffa'],
    ...['\u{e0001}', '\u{e0041}', '\u{e0100}', '\ufe0f', '\u200c', '\u200d', '\r'],
  ])('%j is marked in a program, in its place', (char) => {
    const line = `if (a${char}b) return`
    expect(partsOfLine(line)).toEqual(['if (a', { char, code: expect.stringMatching(/^U\+[0-9A-F]{4,6}$/), name: expect.any(String) }, 'b) return'])
    expect(hasHidden(line)).toBe(true)
    expect(codesIn(`é${char}`)).toHaveLength(char === '\r' ? 0 : 1)
  })

  it.each([
    ['a tab and the end of a line', '\ta\t\r'],
    ['emoji of several', '👩‍👩‍👧 🏳️‍🌈 🧑🏽‍⚕️ ❤️ 1️⃣ ℹ️ 👨🏿‍💻'],
    ['a flag of a region', '\u{1f3f4}\u{e0067}\u{e0062}\u{e0073}\u{e0063}\u{e0074}\u{e007f}'],
    ['Persian', 'می‌خواهم'],
    ['Hindi', 'क्‍ष'],
    ['a variant of an ideograph', '葛\u{e0100}'],
    ['Hebrew and Arabic', 'שלום مرحبا'],
  ])('%s is not', (_, line) => {
    expect(codesIn(line)).toEqual([])
    expect(hasHidden(line)).toBe(false)
  })

  it('the mark of the encoding begins the first line of a file only', () => {
    expect([codesIn('\ufeffa', true), codesIn('\ufeffa'), codesIn('a\ufeff', true)]).toEqual([[], ['U+FEFF'], ['U+FEFF']])
  })

  it('a line of very many is cut short in marks, and hides nothing', () => {
    const parts = partsOfLine('\u200b'.repeat(100_000))
    expect(parts.filter((part) => typeof part === 'object')).toHaveLength(1_000)
    expect(parts.at(-1)).toBe('\ufffd'.repeat(99_000))
  })
})
