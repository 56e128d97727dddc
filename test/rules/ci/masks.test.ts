import { describe, expect, it } from 'vitest'
import { type HeldEnd, LogMasker } from '../../../src/rules/ci/masks.js'

/** A log that comes in these pieces, as it would be stored, with what is held back at its end. */
function logOf(values: string[], pieces: (string | Buffer)[]): { stored: string; held: number } {
  const masker = new LogMasker(values.map((value) => Buffer.from(value)))
  let held: HeldEnd | null = null
  const parts: Buffer[] = []
  for (const piece of pieces) {
    const masked = masker.mask(Buffer.from(piece), held)
    parts.push(masked.bytes)
    held = masked.held
  }
  return { stored: Buffer.concat(parts).toString(), held: held?.length ?? 0 }
}

/** A text with all of its values replaced at once, by another way. */
function expected(values: string[], text: string): string {
  const covered = new Set<number>()
  for (const value of values)
    for (let at = text.indexOf(value); at >= 0; at = text.indexOf(value, at + 1)) for (let i = 0; i < value.length; i++) covered.add(at + i)
  return [...text].map((char, at) => (covered.has(at) ? '#' : char)).join('')
}

describe('a masked log', () => {
  it.each([
    [['s3cret-value'], ['a s3cret-value b'], 'a [MASKED]**** b', 0],
    [['s3cret-value'], ['a s3cr', 'et-va', 'lue b'], 'a [MASKED]**** b', 0],
    [['s3cret-value'], ['a s3cr', 'ets b'], 'a s3crets b', 0],
    [['s3cret-value'], ['a s3cret-valu'], 'a ', 11],
    [['s3cret-value'], ['a s3cret-value'], 'a [MASKED]****', 0],
    [['abcdefgh', 'abcdefghijkl'], ['abcdefgh', 'ijkl.'], '[MASKED]****.', 0],
    [['abcdefgh', 'abcdefghijkl'], ['abcdefgh', 'ijk.'], '[MASKED]ijk.', 0],
    [['abcdefgh', 'efghijkl'], ['xabcdefgh', 'ij.'], 'x[MAS[MASij.', 0],
    [['abcdefgh', 'efghijkl'], ['xabcdefghij', 'kl.'], 'x[MAS[MASKED].', 0],
    [['abcdefgh', 'xxabcdefghyy'], ['xxabcdefgh.'], 'xx[MASKED].', 0],
    [[], ['a plain log'], 'a plain log', 0],
  ])('of %j in the pieces %j is %j (CI-240)', (values, pieces, stored, held) => {
    expect(logOf(values, pieces)).toEqual({ stored, held })
  })

  it('is the same however it is cut, and has its length (CI-240)', () => {
    const letters = 'ab'
    let seed = 7
    const random = (below: number) => {
      seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648
      return Math.floor((seed / 2_147_483_648) * below)
    }
    const word = (length: number) => Array.from({ length }, () => letters[random(2)]).join('')
    for (let round = 0; round < 300; round++) {
      const values = Array.from({ length: 1 + random(4) }, () => word(8 + random(4)))
      const text = `${word(random(200))}\n`
      const pieces = text.match(new RegExp(`[^]{1,${1 + random(12)}}`, 'g')) ?? []
      const { stored, held } = logOf(values, pieces)
      expect([stored.length, held]).toEqual([text.length, 0])
      const wanted = expected(values, text)
      for (const [at, char] of [...wanted].entries()) if (char === '#') expect('[MASKED]*').toContain(stored[at])
      // a value that begins earlier and is not there after all may have covered a little more
      expect([...stored].filter((char) => /[MASKED[\]*]/.test(char)).length).toBeGreaterThanOrEqual([...wanted].filter((c) => c === '#').length)
    }
  })
})
