import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { humanDuration, parseDuration } from '../../src/rules/duration.js'

describe('parseDuration', () => {
  it.each([
    ['3h', 10_800],
    ['3h 30m', 12_600],
    ['3h30m', 12_600],
    ['1W 2D 3H30M', 144_000 + 57_600 + 12_600],
    ['1d', 28_800],
    ['1w', 144_000],
    ['1mo', 576_000],
    ['1 month', 576_000],
    ['2 y', 63_115_200],
    ['1.5h', 5_400],
    ['1.15m', 69],
    ['1.9s', 1],
    ['0.5m 0.5m', 60],
    ['3', 10_800],
    ['3 4h', 25_200],
    ['1h 1h 1h', 10_800],
    ['30m 1h', 5_400],
    ['day', 28_800],
    ['minute 30sec', 90],
    ['1h, 2 mins and 3 seconds', 3_723],
    ['1 hr plus 1 min with 1 sec', 3_661],
    ['1:02:03', 3_723],
    ['90:05', 5_405],
    ['  2 days  ', 57_600],
    ['-1h 30m', -5_400],
    ['- 2h', -7_200],
    ['2147483647s', 2_147_483_647],
  ])('%s is %i seconds (TT-11, TT-12, TT-13)', (text, seconds) => {
    expect(parseDuration(text)).toBe(seconds)
  })

  it.each([
    '',
    ' ',
    '0',
    '0h',
    '0.5s',
    '-',
    'x',
    'one hour',
    '1x',
    '1h x',
    '1h m',
    'h m',
    '1..5h',
    '1.h',
    '.5h',
    '1h -30m',
    '--1h',
    '+1h',
    '1:60',
    '1:60:00',
    '1:2',
    '1:00:00:00',
    '9999999999y',
    '2147483648s',
    '2147483647s 1s',
    '1e3h',
    '٣h',
    'constructor',
    '1 toString',
    '1;2',
    `1h${' '.repeat(300)}1m`,
  ])('%j is none (TT-4, TT-11, SEC-61)', (text) => {
    expect(parseDuration(text)).toBe(null)
  })
})

describe('humanDuration', () => {
  it.each([
    [0, null],
    [1_800, '30m'],
    [3 * 144_000 + 3_600, '3w 1h'],
    [79 * 28_800, '3mo 3w 4d'],
    [1, '1s'],
    [576_000 * 30, '30mo'],
  ])('%i is %s (TT-14)', (seconds, text) => {
    expect(humanDuration(seconds)).toBe(text)
  })

  it('printed durations are parsed to the same value, and printed the same again (TT-12, TT-14)', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 2_147_483_647 }), (seconds) => {
        const text = humanDuration(seconds) as string
        expect(parseDuration(text)).toBe(seconds)
        expect(humanDuration(parseDuration(text) as number)).toBe(text)
      }),
    )
  })

  it('reads any text without a fault, and never beyond 32 bits (SEC-61, SEC-67)', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.stringMatching(/^[-0-9.:a-z, ]{0,40}$/)), (text) => {
        const seconds = parseDuration(text)
        expect(seconds === null || (Number.isSafeInteger(seconds) && Math.abs(seconds) <= 2_147_483_647 && seconds !== 0)).toBe(true)
      }),
    )
  })
})
