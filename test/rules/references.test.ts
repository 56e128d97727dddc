import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Slices } from '../../src/lib/async/slices.js'
import { closingReferences, codeSpans, type Reference, referencesIn, tasksIn, withoutTicks } from '../../src/rules/references.js'
import { rounds } from '../support/rounds.js'

const BASE = 'https://code.example.com'
const OID = 'a'.repeat(20) + '0'.repeat(20)

/** As short as `issue:null:1`. */
const short = (reference: Reference) => {
  const { kind } = reference
  if (kind === 'user' || kind === 'external') return `${kind} ${reference.name}`
  const what = 'number' in reference ? reference.number : 'oid' in reference ? reference.oid : reference.name
  return `${kind} ${reference.project === null ? '' : `${reference.project} `}${what}`
}
const slices = new Slices()
const found = async (text: string) => (await referencesIn(slices, text, BASE)).map(short)
const closed = async (text: string) => (await closingReferences(slices, text, BASE)).map((each) => short(each).replace('issue ', ''))

describe('referencesIn', () => {
  it.each<[string, string[]]>([
    ['#1', ['issue 1']],
    ['see #12, !3 and $4.', ['issue 12', 'merge_request 3', 'snippet 4']],
    ['(#1)', ['issue 1']],
    ['proj#3 group/sub/proj!4', ['issue proj 3', 'merge_request group/sub/proj 4']],
    ['@ada', ['user ada']],
    ['@ada, @grace. @group/sub: hi', ['user ada', 'user grace', 'user group/sub']],
    ['~bug ~"two words" ~a:b.', ['label bug', 'label two words', 'label a:b']],
    ['~größe', ['label größe']],
    ['%v1.0. %"Version 1"', ['milestone v1.0', 'milestone Version 1']],
    [`${OID} x/y@${OID}`, [`commit ${OID}`, `commit x/y ${OID}`]],
    [`${BASE}/g/p/issues/7`, ['issue g/p 7']],
    [`${BASE}/g/s/p/-/merge_requests/8#note_1.`, ['merge_request g/s/p 8']],
    [`(${BASE}/g/p/issues/7)`, ['issue g/p 7']],
    ['a #1\n\n```\n#2\n```\n#3', ['issue 1', 'issue 3']],
    ['~~~ruby\n#2\n``` \n~~~~\n#3', ['issue 3']],
    ['```\n#1', []],
    ['`#1` #2 ``a ` #3`` #4', ['issue 2', 'issue 4']],
    ['` #1', ['issue 1']],
    ['`a\n\nb` #1', ['issue 1']],
    ['\\#1 \\@ada', []],
    ['~"a `b" c` #1', ['issue 1']],
  ])('%j names %j (IS-23)', async (text, names) => {
    expect(await found(text)).toEqual(names)
  })

  it.each([
    '#',
    '#0',
    '#1a',
    '#1_',
    'é#1',
    '&#39;',
    '#99999999999',
    '#2147483648',
    'mail@example.com',
    'a/#1',
    '/a#1',
    '@',
    '@-x',
    '~',
    '~~',
    '~ x',
    '~""',
    '~"no\nend"',
    '%',
    '100% sure',
    'https://elsewhere.example.com/g/p/issues/7#1',
    `${BASE}/g/p/issues/0`,
    `${BASE}/p/issues/1`,
    `${BASE}/g/p/issues/x`,
    `${BASE}.evil.example/g/p/issues/1`,
    `${OID}0`,
    OID.slice(1),
    OID.toUpperCase(),
    `x${OID}`,
  ])('%j names nothing (IS-23)', async (text) => {
    expect(await found(text)).toEqual([])
  })

  it('finds the position of each (IS-23)', async () => {
    const text = 'see group/p#3 and @ada'
    expect((await referencesIn(slices, text)).map(({ start, end }) => text.slice(start, end))).toEqual(['group/p#3', '@ada'])
  })

  it('reads any text, and the spans are in order and of the text (SEC-67)', { tags: ['long'] }, async () => {
    const part = fc.constantFrom(
      '#1',
      '!2',
      '@a',
      '~b',
      '~"',
      '"',
      '%c',
      '`',
      '```',
      '\n',
      '\n\n',
      ' ',
      'g/p',
      '/',
      '\\',
      `${BASE}/g/p/issues/1`,
      OID,
      'Closes ',
      ', ',
      ' and ',
      '- [x] ',
      '😀',
      '\ud800',
      '~~~',
    )
    await fc.assert(
      fc.asyncProperty(fc.array(fc.oneof(part, fc.string()), { maxLength: 40 }), async (parts) => {
        const text = parts.join('')
        let last = 0
        for (const { start, end } of await referencesIn(slices, text, BASE)) {
          expect(start).toBeGreaterThanOrEqual(last)
          expect(end).toBeGreaterThan(start)
          last = end
        }
        expect(last).toBeLessThanOrEqual(text.length)
        const code = await codeSpans(slices, text)
        for (const { start, end } of await referencesIn(slices, text, BASE))
          expect(code.some((span) => span.start < end && start < span.end)).toBe(false)
        const known = new Set((await referencesIn(slices, text, BASE)).map(({ start }) => start))
        for (const { start } of await closingReferences(slices, text, BASE)) expect(known.has(start)).toBe(true)
        const { count, completed } = await tasksIn(slices, text)
        expect(completed).toBeLessThanOrEqual(count)
        expect(await tasksIn(slices, await withoutTicks(slices, text))).toEqual({ count, completed: 0 })
      }),
      { numRuns: rounds(100, 2_000) },
    )
  })

  it('a megabyte is read in slices, between which others have their turn (SEC-145)', async () => {
    for (const piece of ['@a ', '~a', '#1, ', '- [ ] x\n']) {
      const text = `Closes #1 ${piece.repeat(1_000_000 / piece.length)}`
      for (const read of [referencesIn, closingReferences]) {
        let turns = 0
        let done = false
        const reading = read(slices, text, BASE).then(() => {
          done = true
        })
        while (!done) {
          await new Promise((resolve) => setImmediate(resolve))
          turns++
        }
        await reading
        expect(turns).toBeGreaterThan(1)
      }
    }
  })

  const length = rounds(250_000, 500_000)
  it(`${length} characters of hostile text take steps in proportion to their number (SEC-67)`, { tags: ['long'] }, async () => {
    const hostile = [
      '#',
      '`',
      '` ',
      '``` ',
      'a/',
      'a#',
      '@',
      '~"',
      '~"a',
      '~a',
      'Closes ',
      'Closes #1, ',
      'Closes issue ',
      '\\',
      'https://',
      `${BASE}/`,
      '- [',
      '   ',
      ' and',
      '> ',
      '1',
    ]
    for (const piece of hostile) {
      const text = piece.repeat(length / piece.length)
      await referencesIn(slices, text, BASE)
      await closingReferences(slices, `${text} Closes #1 ${text}`, BASE)
      await tasksIn(slices, text)
    }
    // runs of backticks of all lengths, none of which has a partner
    expect(await codeSpans(slices, Array.from({ length: 1_400 }, (_, i) => '`'.repeat(i + 1)).join(' '))).toEqual([])
  })
})

describe('closingReferences', () => {
  const words = 'close closes closed closing fix fixes fixed fixing resolve resolves resolved resolving implement implements implemented implementing'
  it.each(words.split(' '))('%s (MR-83, IS-22)', async (word) => {
    expect(await closed(`${word} #1`)).toEqual(['1'])
    expect(await closed(`${word[0]?.toUpperCase()}${word.slice(1)}: #1`)).toEqual(['1'])
    expect(await closed(`${word.toUpperCase()} #1`)).toEqual([])
    expect(await closed(`${word}#1`)).toEqual([])
    expect(await closed(`x${word} #1`)).toEqual([])
  })

  it.each<[string, string[]]>([
    ['Closes #1, #2 and group/p#3', ['1', '2', 'group/p 3']],
    ['Closes #1, #2, and #3', ['1', '2', '3']],
    ['Fixes issue #4 and issues #5', ['4', '5']],
    ['Fixes: issues  p#4', ['p 4']],
    ['Fixes\n#4', ['4']],
    [`Resolves ${BASE}/g/p/issues/7, #8`, ['g/p 7', '8']],
    ['Closes #1. Fixes #2; #3', ['1', '2']],
    ['Closes #1 #2', ['1']],
    ['Closes #1,#2', ['1', '2']],
    ['Closes something #1', []],
    ['Closes !1', []],
    ['Closes', []],
    ['`Closes #1`', []],
    ['Closes `#1`', []],
    ['```\nCloses #1\n```\nCloses #2', ['2']],
    ['Closes closes #1', ['1']],
    ['Closes #1 and fixes #2', ['1', '2']],
  ])('%j closes %j (MR-83, IS-22)', async (text, issues) => {
    expect(await closed(text)).toEqual(issues)
  })
})

describe('tasksIn', () => {
  it('section 15: counts boxes of lists, not of code', async () => {
    expect(await tasksIn(slices, '- [ ] a\n* [x] b\n1. [X] c\n  - [ ] d\n> - [x] e\n- [y] f\n-[ ] g\n- []\n```\n- [x] no\n```\ntext - [x]')).toEqual({
      count: 5,
      completed: 3,
    })
    expect(await tasksIn(slices, '')).toEqual({ count: 0, completed: 0 })
  })
})
