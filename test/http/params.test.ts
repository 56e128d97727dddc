import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { Failure } from '../../src/failures.js'
import { JsonReader } from '../../src/http/body/json.js'
import { parseForm } from '../../src/http/form.js'
import {
  allOrNone,
  bool,
  clearableDate,
  commaList,
  date,
  datetime,
  float,
  idList,
  int,
  list,
  needsOneOf,
  oneOf,
  opt,
  orDefault,
  paging,
  parseDate,
  parseDatetime,
  parseInput,
  rowId,
  searchText,
  str,
} from '../../src/http/params.js'

/** What one parameter `p` becomes, or the text of its refusal. */
function read(scalar: z.ZodType, bag: object): unknown {
  try {
    return parseInput(z.object({ p: scalar }), { ...bag })['p']
  } catch (error) {
    if (error instanceof Failure) return (error.body as { error: string }).error
    throw error
  }
}
const form = (scalar: z.ZodType, text: string) => read(scalar, parseForm(text))
const json = (scalar: z.ZodType, text: string) => {
  const reader = new JsonReader()
  reader.push(Buffer.from(text))
  return read(scalar, reader.end())
}

describe('required and optional (G-44 to G-47, W-20)', () => {
  it('reports what is missing, and fixed words twice (G-45)', () => {
    expect(form(str(), '')).toBe('p is missing')
    expect(form(int(), '')).toBe('p is missing')
    expect(form(oneOf(['a', 'b']), '')).toBe('p is missing, p does not have a valid value')
    expect(form(opt(oneOf(['a', 'b'])), '')).toBeUndefined()
  })

  it('text that is present and empty is a value (G-46)', () => {
    expect(form(str(), 'p=')).toBe('')
    expect(form(str(), 'p')).toBe('p is missing')
    expect(json(str(), '{"p":null}')).toBe('p is missing')
  })

  it('empty is null for all but text; null takes the default; a fixed list knows no empty word (G-47)', () => {
    for (const scalar of [int(), bool(), date(), datetime()]) {
      expect(form(opt(scalar as ReturnType<typeof int>), 'p=')).toBeUndefined()
      expect(form(scalar, 'p=')).toBe('p is missing')
    }
    expect(form(orDefault(int(), 7), 'p=')).toBe(7)
    expect(form(orDefault(oneOf(['a']), 'a'), 'p')).toBe('a')
    expect(form(orDefault(oneOf(['a']), 'a'), 'p=')).toBe('p does not have a valid value')
  })

  it('collects all violations in the order of the declaration (G-44)', () => {
    const schema = allOrNone(
      needsOneOf(z.object({ a: str(), b: opt(str()), c: opt(str()), d: int(), e: opt(str()), f: opt(str()), g: oneOf(['x']) }), 'b', 'c'),
      'e',
      'f',
    )
    const refusal = (text: string) => {
      try {
        parseInput(schema, parseForm(text))
      } catch (error) {
        return ((error as Failure).body as { error: string }).error
      }
      return undefined
    }
    expect(refusal('d=x&f=1&g=y')).toBe(
      'a is missing, b, c are missing, at least one parameter must be provided, d is invalid, e, f provide all or none of parameters, g does not have a valid value',
    )
    expect(refusal('a=1&c=1&d=1&g=x')).toBeUndefined()
    expect(refusal('a=1&b=1&d=1&e=1&f=1&g=x')).toBeUndefined()
  })

  it('speaks of the declared parameters only (SEC-77)', () => {
    const wrong = Object.fromEntries(Array.from({ length: 10_000 }, (_, i) => [`x${i}`, { a: 1 }]))
    expect(read(int(), { ...wrong, p: 'x' })).toBe('p is invalid')
  })
})

describe('numbers that need not be whole (G-49, SEC-60)', () => {
  it.each([
    ['1', 1],
    ['-1.5', -1.5],
    ['+.5', 0.5],
    ['3.', 3],
    ['1e3', 1_000],
    ['2.5E-1', 0.25],
    ['1e-400', 0],
    ['', undefined],
  ])('takes %j', (text, value) => {
    expect(form(opt(float()), `p=${encodeURIComponent(text)}`)).toBe(value)
  })

  it('-0 is 0', () => {
    expect(Object.is(form(float(), 'p=-0'), 0)).toBe(true)
    expect(Object.is(json(float(), '{"p":-0}'), 0)).toBe(true)
  })

  it.each(['NaN', 'Infinity', '-Infinity', '1e400', '0x1', '1,5', '1.2.3', 'e5', '.', '+', ' 1', '1 ', '1_0', '१', '1'.repeat(500)])(
    'refuses %j',
    (text) => {
      expect(form(float(), `p=${encodeURIComponent(text)}`)).toBe('p is invalid')
    },
  )

  it('takes JSON numbers, and no other JSON', () => {
    expect([json(float(), '{"p":1.25}'), json(float(), '{"p":1e400}')]).toEqual([1.25, 'p is invalid'])
    for (const text of ['true', '[1]', '{"a":1}']) expect(json(float(), `{"p":${text}}`)).toBe('p is invalid')
  })
})

describe('scalars', () => {
  it.each(['true', 't', 'yes', 'y', 'on', '1', 'TRUE', 'Yes'])('%s is true (G-48, W-4)', (word) => {
    expect(form(bool(), `p=${word}`)).toBe(true)
  })
  it.each(['false', 'f', 'no', 'n', 'off', '0', 'OFF'])('%s is false (G-48, W-4)', (word) => {
    expect(form(bool(), `p=${word}`)).toBe(false)
  })
  it('JSON booleans and 0, 1; nothing else (G-48, SEC-58)', () => {
    for (const [text, value] of [
      ['true', true],
      ['false', false],
      ['1', true],
      ['0', false],
    ] as const)
      expect(json(bool(), `{"p":${text}}`)).toBe(value)
    for (const text of ['2', '"nope"', '[true]', '{}', '1.5', '-1']) expect(json(bool(), `{"p":${text}}`)).toBe('p is invalid')
  })

  it.each([
    ['1', 1],
    ['+1', 1],
    ['-5', -5],
    ['-0', 0],
    ['007', 7],
    ['2147483647', 2_147_483_647],
  ])('the integer %s (G-49, W-5)', (text, value) => {
    expect(form(int(), `p=${encodeURIComponent(text)}`)).toBe(value)
  })
  it.each(['1.5', '1abc', 'abc', '1e3', '0x1', ' 1', '१', 'NaN', 'Infinity', '1e400', '2147483648', '9'.repeat(40)])(
    '%s is no integer (G-49, SEC-60)',
    (text) => {
      expect(form(int(), `p=${encodeURIComponent(text)}`)).toBe('p is invalid')
    },
  )
  it('-0 is 0 in JSON too, and fractions are refused (SEC-60)', () => {
    expect(Object.is(json(int(), '{"p":-0}'), 0)).toBe(true)
    expect(json(int(), '{"p":1.5}')).toBe('p is invalid')
    expect(json(int(), '{"p":3}')).toBe(3)
  })
  it('an id out of range names no row; text is invalid (G-49, SEC-51)', () => {
    for (const text of ['0', '-1', '2147483648', '9223372036854775808', '9'.repeat(40)]) expect(form(rowId(), `p=${text}`)).toBe(0)
    for (const text of ['1.0', '1e3', '0x1', '1abc', '%D9%A1', '+1x']) expect(form(rowId(), `p=${text}`)).toBe('p is invalid')
    expect(form(rowId(), 'p=12')).toBe(12)
  })

  it('JSON numbers and booleans become text; lists and maps do not (G-51, SEC-54)', () => {
    expect(json(str(), '{"p":12}')).toBe('12')
    expect(json(str(), '{"p":true}')).toBe('true')
    for (const text of ['{"p":["a"]}', '{"p":{"a":1}}']) expect(json(str(), text)).toBe('p is invalid')
    expect(form(str(), 'p[]=x')).toBe('p is invalid')
    expect(form(oneOf(['a']), 'p[$ne]=a')).toBe('p does not have a valid value')
  })

  it('fixed words are matched exactly (SEC-55)', () => {
    for (const word of ['A', ' a', 'a ', 'toString', '__proto__'])
      expect(form(oneOf(['a', 'b']), `p=${word.replace(' ', '+')}`)).toBe('p does not have a valid value')
  })

  it('a search text ends at 255 characters (SEC-57)', () => {
    expect(form(searchText(), `p=${'a'.repeat(255)}`)).toHaveLength(255)
    expect(form(searchText(), `p=${'a'.repeat(256)}`)).toBe('p is too long (maximum is 255 characters)')
  })
})

describe('dates', () => {
  it.each([
    ['2018-02-06', '2018-02-06T00:00:00.000Z'],
    ['2018-2-6', '2018-02-06T00:00:00.000Z'],
    ['2018-02-06T12:43:39.271Z', '2018-02-06T12:43:39.271Z'],
    ['2018-02-06T12:43:39', '2018-02-06T12:43:39.000Z'],
    ['2018-02-06T12:43', '2018-02-06T12:43:00.000Z'],
    ['2018-02-06T12:43:39+03:00', '2018-02-06T09:43:39.000Z'],
    ['2018-02-06T12:43:39-0330', '2018-02-06T16:13:39.000Z'],
    ['20180206T124339Z', '2018-02-06T12:43:39.000Z'],
    ['2018-02-06 12:43:39', '2018-02-06T12:43:39.000Z'],
    ['0001-01-01', '0001-01-01T00:00:00.000Z'],
    ['2024-02-29', '2024-02-29T00:00:00.000Z'],
    ['2000-02-29', '2000-02-29T00:00:00.000Z'],
    ['20180101', '2018-01-01T00:00:00.000Z'],
    ['2018/1/2', '2018-01-02T00:00:00.000Z'],
    ['2018-01-01t00:00:00z', '2018-01-01T00:00:00.000Z'],
    ['2018-01-01 10:00:00 UTC', '2018-01-01T10:00:00.000Z'],
    ['2018-01-01 10:00:00 +0200', '2018-01-01T08:00:00.000Z'],
    // a plus that a query string has turned into a space
    ['2018-01-01T10:00:00 02:00', '2018-01-01T08:00:00.000Z'],
    ['2018-01-01T10:00:00.5 0200', '2018-01-01T08:00:00.500Z'],
    ['2018-01-01 10:00:00  0200', '2018-01-01T08:00:00.000Z'],
    ['2018-01-01 10:00', '2018-01-01T10:00:00.000Z'],
    ['2018-01-01T10:00+01:00[Europe/Paris]', '2018-01-01T09:00:00.000Z'],
    ['Mon Jan 01 00:00:00 UTC 2018', '2018-01-01T00:00:00.000Z'],
    ['Mon Jan 01 00:00:00 CEST 2018', '2017-12-31T22:00:00.000Z'],
    ['Mon Jan  1 01:02:03 2018', '2018-01-01T01:02:03.000Z'],
    ['Mon Jan 1 01:02:03 2018 -0300', '2018-01-01T04:02:03.000Z'],
    ['Mon Jan 01 2018 01:00:00 GMT+0100 (Central European Standard Time)', '2018-01-01T00:00:00.000Z'],
    ['Mon, 01 Jan 2018 00:00:00 +0000', '2018-01-01T00:00:00.000Z'],
    ['Mon, 1 Jan 2018 00:00 EST', '2018-01-01T05:00:00.000Z'],
    ['01 Jan 2018 00:00:00 GMT', '2018-01-01T00:00:00.000Z'],
    ['1 Jan 2018', '2018-01-01T00:00:00.000Z'],
    ['1-jan-2018', '2018-01-01T00:00:00.000Z'],
    ['1 January 2018', '2018-01-01T00:00:00.000Z'],
    ['Jan 1, 2018', '2018-01-01T00:00:00.000Z'],
    ['SEPTEMBER 30 2018', '2018-09-30T00:00:00.000Z'],
    ['Jan 1, 2018 12:30:15.25 UTC+1', '2018-01-01T11:30:15.250Z'],
    ['29 Feb 2024', '2024-02-29T00:00:00.000Z'],
  ])('%s is a moment (G-50)', (text, iso) => {
    expect(parseDatetime(text)?.toISOString()).toBe(iso)
  })

  it.each([
    '2024-02-30',
    '2023-02-29',
    '1900-02-29',
    '2018-13-01',
    '2018-00-10',
    '2018-01-00',
    '2018-01-01T24:01',
    '2018-01-01T12:60',
    '2018-01-01T12:00:60',
    'infinity',
    '-infinity',
    'now',
    'today',
    'epoch',
    '0000-01-01',
    '10000-01-01',
    '2018-01-01T00:00:00.0000000001',
    `2018-01-01T00:00:00.${'1'.repeat(40)}Z`,
    '2018-01-01T00:00:00 0300 UTC',
    '2018-01-01 03:00:00:00',
    '2018-01-01T00:00:00 24:00',
    '2018-01-01T00:00:00+24:00',
    '1517920000',
    '',
    ' 2018-01-01',
    '2018-01-01\n',
    '0001-01-01T00:00:00+01:00',
    '01/02/2018',
    '1/2/18',
    '2018-01/01',
    '2018',
    '2018-01',
    '1 Jan 18',
    '1 Jan',
    '30 Feb 2018',
    '1 Foo 2018',
    '1 Janu 2018',
    'Xyz, 1 Jan 2018',
    'Mon',
    'tomorrow',
    'Mon Jan 01 00:00:00 ABC 2018',
    'Mon Jan 01 00:00:00 CET+1 2018',
    'Mon Jan 01 25:00:00 UTC 2018',
    'Mon Jan 01 2018 UTC',
    'Jan 1, 2018 12:30:15 toString',
    '1 Jan 2018 constructor',
    `1 Jan 2018 ${' '.repeat(200)}00:00`,
  ])('%j is none (G-50, SEC-59)', (text) => {
    expect(parseDatetime(text)).toBeUndefined()
  })

  it('reads every moment that the service itself writes (G-81)', () => {
    fc.assert(
      fc.property(fc.date({ min: new Date('0001-01-02T00:00:00Z'), max: new Date('9999-12-30T00:00:00Z'), noInvalidDate: true }), (moment) => {
        expect(parseDatetime(moment.toISOString())).toEqual(moment)
        expect(parseDate(moment.toISOString().slice(0, 10))).toBe(moment.toISOString().slice(0, 10))
      }),
    )
  })

  it('a plus sign that became a space is read as one (G-50)', () => {
    for (const plus of ['+', '%20', '%2B']) expect(form(datetime(), `p=2018-02-06T12:43:39${plus}03:00`)).toEqual(new Date('2018-02-06T09:43:39Z'))
  })

  it('days (G-50, W-5)', () => {
    expect(form(date(), 'p=2000-1-1')).toBe('2000-01-01')
    expect(form(date(), 'p=2000-01-01T00:00:00Z')).toBe('2000-01-01')
    expect(form(date(), 'p=20000101')).toBe('2000-01-01')
    // the day as it is written, wherever the writer is
    for (const day of [date(), clearableDate()]) {
      expect(form(day, 'p=2000-01-02T23:30:00-05:00')).toBe('2000-01-02')
      expect(form(day, 'p=Sun Jan 02 00:00:00 CET 2000')).toBe('2000-01-02')
      expect(form(day, 'p=2 Jan 2000')).toBe('2000-01-02')
      expect(form(day, 'p=01/02/2000')).toBe('p is invalid')
    }
    expect(form(clearableDate(), 'p=')).toBeNull()
    expect(form(clearableDate(), 'p=2000-02-30')).toBe('p is invalid')
  })
})

describe('lists', () => {
  it('one scalar is a list of one; ids also come as 1,2 (G-52)', () => {
    expect(form(list(str()), 'p=a')).toEqual(['a'])
    expect(form(list(str()), 'p[]=a&p[]=b')).toEqual(['a', 'b'])
    expect(form(list(str()), 'p[0]=a&p[1]=b')).toEqual(['a', 'b'])
    expect(json(list(str()), '{"p":["a",1]}')).toEqual(['a', '1'])
    expect(form(idList(), 'p=1,2, 3')).toEqual([1, 2, 3])
    expect(form(idList(), 'p[]=1&p[]=2')).toEqual([1, 2])
    expect(form(idList(), 'p[]=1&p[]=x')).toBe('p is invalid')
  })

  it('at most 100 entries (SEC-54)', () => {
    const many = (n: number) => Array.from({ length: n }, (_, i) => `p[]=${i + 1}`).join('&')
    expect(form(idList(), many(100))).toHaveLength(100)
    expect(form(idList(), many(101))).toBe('p is invalid')
  })

  it('comma lists are trimmed, without empty items, or come as lists (G-54, W-3)', () => {
    expect(form(commaList(), 'p=a, b,,c ')).toEqual(['a', 'b', 'c'])
    expect(form(commaList(), 'p[]=a&p[]=b')).toEqual(['a', 'b'])
    expect(json(commaList(), '{"p":["a","b"]}')).toEqual(['a', 'b'])
    expect(form(commaList(), 'p=')).toEqual([])
  })
})

describe('paging (G-55, G-56, W-38, SEC-53)', () => {
  const page = (text: string) => {
    try {
      return parseInput(z.object(paging), parseForm(text))
    } catch (error) {
      return ((error as Failure).body as { error: string }).error
    }
  }
  it.each([
    ['', { page: 1, per_page: 20 }],
    ['page=3&per_page=7', { page: 3, per_page: 7 }],
    ['per_page=100', { page: 1, per_page: 100 }],
    ['per_page=101', { page: 1, per_page: 100 }],
    ['per_page=-1', { page: 1, per_page: 20 }],
    ['page=0', { page: 1, per_page: 20 }],
    ['page=-3', { page: 1, per_page: 20 }],
    ['page=&per_page=', { page: 1, per_page: 20 }],
    ['per_page=0', 'per_page has a value not allowed'],
    ['page=x&per_page=1.5', 'page is invalid, per_page is invalid'],
    ['page=1e3', 'page is invalid'],
  ])('%s', (text, expected) => {
    expect(page(text)).toEqual(expected)
  })
})
