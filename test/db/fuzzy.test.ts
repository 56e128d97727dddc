import { describe, expect, it } from 'vitest'
import { fuzzy } from '../../src/db/fuzzy.js'
import { testApp } from '../support/app.js'
import { aGroup, anAdmin, type TestUser } from '../support/factories.js'

const t = testApp()

describe('a fuzzy search text', () => {
  it('is trimmed, its white space folded, and blank is no filter (G-76)', () => {
    expect(fuzzy('  \t\n ')).toEqual({ shape: 'all', values: {} })
    expect(fuzzy(undefined).shape).toBe('all')
    expect(fuzzy('  alpha \n\t beta ').values).toEqual({ word0: '%alpha%', word1: '%beta%' })
  })

  it('takes a quoted part for one word, and every word counts, however short (G-77)', () => {
    expect(fuzzy('"two words" of a').values).toEqual({ word0: '%two words%', word1: '%of%', word2: '%a%' })
    for (const word of ['日本', 'C#', 'su']) expect(fuzzy(word)).toEqual({ shape: 1, values: { word0: `%${word}%` } })
  })

  it('becomes equality when all words are single letters (G-78)', () => {
    expect(fuzzy('a  日')).toEqual({ shape: 'whole', values: { word0: 'a 日' } })
  })

  it('or the letters, where that is asked for (G-78)', () => {
    expect(fuzzy('a  日', 'part')).toEqual({ shape: 2, values: { word0: '%a%', word1: '%日%' } })
    expect(fuzzy('""', 'part')).toEqual({ shape: 'whole', values: { word0: '""' } })
  })

  it('knows no wildcards (G-79)', () => {
    expect(fuzzy('50%_\\x').values).toEqual({ word0: '%50\\%\\_\\\\x%' })
  })

  it('is bounded, whatever its length', () => {
    const { shape } = fuzzy(Array.from({ length: 5_000 }, (_, i) => `word${i}`).join(' '))
    expect(shape).toBe(32)
  })
})

describe('a fuzzy search over rows', () => {
  const found = async (admin: TestUser, search: string) => {
    const { body } = await t.api('get', `/groups?search=${encodeURIComponent(search)}`, admin).expect(200)
    return (body as { path: string }[]).map(({ path }) => path).sort()
  }

  it('G-76..G-80 matches words in any order within one field, without case', async () => {
    const admin = await anAdmin(t.ctx)
    const groups: [string, string][] = [
      ['Alpha Beta', 'first'],
      ['Beta', 'alpha-two'],
      ['xy', 'third'],
      ['a xy b', 'fourth'],
      ['Hundred_percent', 'fifth'],
      ['HundredXpercent', 'sixth'],
    ]
    for (const [name, path] of groups) await aGroup(t.ctx, { creator: admin, name, path })
    expect(await found(admin, 'beta ALPHA')).toEqual(['first']) // G-80: not one word in the name and one in the path
    expect(await found(admin, 'alpha')).toEqual(['alpha-two', 'first'])
    expect(await found(admin, '"alpha beta"')).toEqual(['first'])
    expect(await found(admin, '"beta alpha"')).toEqual([])
    expect(await found(admin, 'XY')).toEqual(['fourth', 'third'])
    expect(await found(admin, 'lph zz')).toEqual([])
    expect(await found(admin, 'y')).toEqual(['fourth', 'third'])
    expect(await found(admin, 'hundred_per')).toEqual(['fifth'])
    expect(await found(admin, 'hundred%')).toEqual([])
    expect(await found(admin, '   ')).toHaveLength(6)
  })
})
