import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Failure } from '../../src/failures.js'
import { JsonReader } from '../../src/http/body/json.js'
import { type ParameterBag, parseForm, parseFormBody, valuesOf } from '../../src/http/form.js'
import { rounds } from '../support/rounds.js'

/** As JSON shows it, so that objects without a prototype compare. */
const plain = (bag: ParameterBag) => JSON.parse(JSON.stringify(bag)) as unknown

/** What a reader makes of a body that comes in pieces of so many bytes. */
function readIn(size: number, reader: JsonReader, body: string | Buffer): ParameterBag {
  const bytes = Buffer.from(body)
  for (let at = 0; at < bytes.length; at += size) reader.push(bytes.subarray(at, at + size))
  return reader.end()
}
const parseJson = (text: string | Buffer, size = 65_536) => readIn(size, new JsonReader(), text)

function refusal(work: () => unknown): unknown {
  try {
    work()
  } catch (error) {
    if (error instanceof Failure) return error.body
    throw error
  }
  return undefined
}

describe('parseForm', () => {
  it.each([
    ['a=1&b=2', { a: '1', b: '2' }],
    ['a=1&a=2', { a: '2' }],
    ['a', { a: null }],
    ['a=', { a: '' }],
    ['', {}],
    ['&&a=1&', { a: '1' }],
    ['a=b=c', { a: 'b=c' }],
    ['a=1+2%2B3', { a: '1 2+3' }],
    ['a[]=1&a[]=2', { a: ['1', '2'] }],
    ['a%5B%5D=1&a%5B%5D=2', { a: ['1', '2'] }],
    ['a[b]=c&a[d]=e', { a: { b: 'c', d: 'e' } }],
    ['a[b][c]=d', { a: { b: { c: 'd' } } }],
    ['actions[][action]=create&actions[][file_path]=x', { actions: [{ action: 'create', file_path: 'x' }] }],
    [
      'actions[][action]=create&actions[][action]=delete&actions[][file_path]=y',
      { actions: [{ action: 'create' }, { action: 'delete', file_path: 'y' }] },
    ],
    ['actions[0][action]=create&actions[1][action]=delete', { actions: { 0: { action: 'create' }, 1: { action: 'delete' } } }],
    ['[a]=1', { '[a]': '1' }],
    ['a[b=1', { 'a[b': '1' }],
    ['a[b]c=1', { 'a[b]c': '1' }],
    ['toString=2&hasOwnProperty=3', { toString: '2', hasOwnProperty: '3' }],
  ])('reads %s (W-3, G-52, G-53)', (text, expected) => {
    expect(plain(parseForm(text))).toEqual(expected)
  })

  it('of a scalar and a list of one name the last one wins, and a list has all values (SEC-54, W-3)', () => {
    expect(plain(parseForm('a=1&a[]=2'))).toEqual({ a: ['1', '2'] })
    expect(valuesOf(parseForm('a[]=2&a=1'), 'a')).toEqual(['2', '1'])
    expect(valuesOf(parseForm('a=1&a=2&a=3'), 'a')).toEqual(['1', '2', '3'])
    expect(plain(parseForm('a[]=2&a=1'))).toEqual({ a: '1' })
    expect(plain(parseForm('a[]=2&a[b]=1'))).toEqual({ a: { b: '1' } })
  })

  it.each(['a=%ff', 'a=%c0%af', '%ff=1', 'a=%zz', 'a=%'])('refuses %s (SEC-50)', (text) => {
    expect(refusal(() => parseForm(text))).toEqual({ error: 'a parameter is not valid UTF-8' })
  })

  it.each(['a=%00', 'a%00b=1', 'a[%00]=1', 'a=x\0'])('refuses a NUL in %j (SEC-49)', (text) => {
    expect(refusal(() => parseForm(text))).toEqual({ error: 'a parameter contains a NUL character' })
  })

  it('bounds depth, names and fields (SEC-71, SEC-75)', () => {
    const deep = (n: number) => `a${'[b]'.repeat(n)}=1`
    expect(refusal(() => parseForm(deep(31)))).toBeUndefined()
    expect(refusal(() => parseForm(deep(32)))).toEqual({ error: 'parameters are nested too deeply' })
    expect(refusal(() => parseForm(`${'a'.repeat(256)}=1`))).toBeUndefined()
    expect(refusal(() => parseForm(`${'a'.repeat(257)}=1`))).toEqual({ error: 'a parameter name is too long' })
    const fields = (n: number) => Array.from({ length: n }, (_, i) => `f${i}=1`).join('&')
    expect(refusal(() => parseForm(fields(1_000)))).toBeUndefined()
    expect(refusal(() => parseForm(fields(1_001)))).toEqual({ error: 'too many parameters' })
  })

  it.each(['__proto__=1', '__proto__[b]=1', 'a[__proto__][b]=1', 'a[constructor][prototype][b]=1', 'a[][__proto__][b]=1', 'prototype[b]=1'])(
    '%s touches no prototype (SEC-72)',
    (text) => {
      const bag = parseForm(text)
      expect(({} as Record<string, unknown>)['b']).toBeUndefined()
      expect(['b', 'toString', '__proto__'].filter((name) => name in bag)).toEqual([])
      expect(Object.getPrototypeOf(Object.getPrototypeOf(bag))).toBeNull()
      expect(JSON.stringify(bag)).not.toContain('"1"')
    },
  )

  it('throws nothing but a Failure, whatever the text (SEC-1)', { tags: ['long'] }, () => {
    const piece = fc.oneof(
      fc.constantFrom('[', ']', '[]', '&', '=', '%', '%5B', '%5D', '%00', '+', '__proto__', 'a', 'b', '%ff', '%F0%9F'),
      fc.string({ unit: 'binary' }),
    )
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 30 }), (pieces) => {
        refusal(() => parseForm(pieces.join('')))
        expect(Object.keys(Object.prototype)).toEqual([])
      }),
      { numRuns: rounds(200, 3_000) },
    )
  })

  it('decodes what was encoded', () => {
    const text = fc.string({ unit: 'grapheme' }).filter((value) => !value.includes('\0') && value.isWellFormed())
    const name = text.filter((value) => value !== '' && !value.includes('[') && !['__proto__', 'constructor', 'prototype'].includes(value))
    fc.assert(
      fc.property(fc.dictionary(name, text), (pairs) => {
        const encoded = Object.entries(pairs).map(([key, value]) => `${encodeURIComponent(key)}=${encodeURIComponent(value)}`)
        expect({ ...parseForm(encoded.join('&')) }).toEqual({ ...pairs })
      }),
    )
    fc.assert(
      fc.property(fc.array(text, { minLength: 1 }), (values) => {
        expect(parseForm(values.map((value) => `a[]=${encodeURIComponent(value)}`).join('&'))['a']).toEqual(values)
      }),
    )
  })
})

describe('parseFormBody', () => {
  it('refuses bytes that were no UTF-8, not an escaped replacement character (SEC-50)', () => {
    expect(refusal(() => parseFormBody(Buffer.from('a=x\xff', 'latin1').toString()))).toEqual({ error: 'a parameter is not valid UTF-8' })
    expect(plain(parseFormBody('a=%EF%BF%BD&b=ü'))).toEqual({ a: '\ufffd', b: 'ü' })
  })
})

describe('JsonReader', () => {
  it.each(['', ' ', '\n\t', 'null', ' null\n'])('takes %j as no body (G-5)', (text) => {
    expect(plain(parseJson(text))).toEqual({})
  })

  it.each(['{', '[]', '"text"', '1', 'nul', 'nullnull', 'null null', 'null{}', '{}null', 'true', '{"a":1}x', "{'a':1}", 'NaN'])(
    'refuses %s (G-5, W-20)',
    (text) => {
      expect(refusal(() => parseJson(text))).toEqual({ error: 'message body does not match declared format' })
    },
  )

  it('refuses NUL and lone surrogates, in values and names (SEC-49, SEC-50)', () => {
    for (const text of ['{"a":"\\u0000"}', '{"\\u0000":1}', '{"a":{"b":["\\u0000"]}}'])
      expect(refusal(() => parseJson(text))).toEqual({ error: 'a parameter contains a NUL character' })
    for (const text of ['{"a":"\\ud800"}', '{"\\udc00":1}'])
      expect(refusal(() => parseJson(text))).toEqual({ error: 'a parameter is not valid Unicode' })
    expect(parseJson('{"a":"\\ud83d\\ude00"}')['a']).toBe('😀')
  })

  it('bounds depth, elements and names (SEC-71)', () => {
    const deep = (n: number) => `${'{"a":'.repeat(n)}1${'}'.repeat(n)}`
    expect(refusal(() => parseJson(deep(32)))).toBeUndefined()
    expect(refusal(() => parseJson(deep(33)))).toEqual({ error: 'parameters are nested too deeply' })
    expect(refusal(() => parseJson(`${'{"a":'.repeat(100_000)}1`))).toEqual({ error: 'parameters are nested too deeply' })
    const wide = (n: number) => JSON.stringify({ a: Array.from({ length: n }, () => 1) })
    expect(refusal(() => parseJson(wide(99_999)))).toBeUndefined()
    expect(refusal(() => parseJson(wide(100_000)))).toEqual({ error: 'too many parameters' })
    expect(refusal(() => parseJson(`{"${'a'.repeat(257)}":1}`))).toEqual({ error: 'a parameter name is too long' })
  })

  it('keeps odd names as names and drops those that are dangerous (SEC-72, SEC-73)', () => {
    const bag = parseJson('{"__proto__":{"b":1},"constructor":{"b":1},"toString":"x","a":{"__proto__":{"b":1},"hasOwnProperty":2}}')
    expect(plain(bag)).toEqual({ toString: 'x', a: { hasOwnProperty: 2 } })
    expect(({} as Record<string, unknown>)['b']).toBeUndefined()
  })

  it('ends at the limit, not at the end of the body (SEC-71)', () => {
    const first = (text: string) => refusal(() => new JsonReader().push(Buffer.from(text)))
    expect(first(`{"a":${'['.repeat(32)}`)).toEqual({ error: 'parameters are nested too deeply' })
    expect(first(`{"a":[${'{},'.repeat(100_000)}`)).toEqual({ error: 'too many parameters' })
    expect(first(`{"${'a'.repeat(257)}`)).toEqual({ error: 'a parameter name is too long' })
    expect(first(`{"a":${'1'.repeat(1_001)}`)).toEqual({ error: 'message body does not match declared format' })
    expect(first('['.repeat(1_000))).toEqual({ error: 'message body does not match declared format' })
  })

  it('reads in pieces of any size what JSON.parse reads, and refuses what it refuses (G-5)', { tags: ['long'] }, () => {
    const piece = fc.oneof(
      fc.constantFrom(
        '{',
        '}',
        '[',
        ']',
        ',',
        ':',
        '"',
        '"a":',
        '\\',
        '\\"',
        '\\\\',
        '\\u',
        '\\ud83d',
        '\\ude00',
        '\\n',
        '1',
        '-1.5e3',
        'true',
        'nul',
        'null',
        ' ',
        '\n',
        '\ufeff',
      ),
      fc.string({ unit: 'grapheme' }),
    )
    const texts = fc.oneof(
      fc.array(piece, { maxLength: 12 }).map((pieces) => `{"a":${pieces.join('')}}`),
      fc.array(piece, { maxLength: 12 }).map((pieces) => `{"a":"${pieces.join('')}"}`),
      fc.dictionary(fc.string({ unit: 'binary' }), fc.jsonValue({ maxDepth: 5, stringUnit: 'binary' })).map((value) => JSON.stringify(value)),
      fc.array(piece, { maxLength: 12 }).map((pieces) => pieces.join('')),
    )
    let read = 0
    fc.assert(
      fc.property(texts, fc.integer({ min: 1, max: 20 }), (text, size) => {
        if (!text.isWellFormed()) return
        const odd = /\\u0000|\\ud[89a-f]|__proto__|constructor|prototype/i.test(text)
        let value: unknown
        try {
          value = JSON.parse(text.replace(/^\ufeff/, ''))
        } catch {
          // not JSON
        }
        const failed = refusal(() => parseJson(text, size))
        if (value === null) expect(plain(parseJson(text, size))).toEqual({})
        else if (typeof value !== 'object' || Array.isArray(value)) {
          if (text.replace(/^\ufeff/, '').trim() !== '') expect(failed).toBeDefined()
        } else if (!odd) {
          expect(failed).toBeUndefined()
          expect(plain(parseJson(text, size))).toEqual(value)
          read++
        }
      }),
      { numRuns: rounds(500, 3_000) },
    )
    expect(read).toBeGreaterThan(rounds(100, 300))
  })

  it.each([1, 2, 3, 5, 7, 11, 64])('reads escapes and letters that end in the next piece of %i bytes', (size) => {
    for (const value of ['😀 \u00fc \\ " \u2028 é', '\\'.repeat(99), '"'.repeat(99), '\ud83d\ude00'.repeat(20)]) {
      const escaped = [...value].flatMap((sign) => sign.split('').map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)).join('')
      for (const text of [JSON.stringify({ a: value, b: [value] }), `{"a":"${escaped}","b":["x${escaped}"]}`]) {
        const bag = parseJson(text, size)
        expect([bag['a'], (bag['b'] as string[])[0]?.replace(/^x/, '')]).toEqual([value, value])
      }
    }
    expect(refusal(() => parseJson(`{"a":"${'x'.repeat(40)}\\ud83d"}`, size))).toEqual({ error: 'a parameter is not valid Unicode' })
    expect(refusal(() => parseJson(Buffer.from('{"a":"\xff"}', 'latin1'), size))).toBeDefined()
    expect(refusal(() => parseJson(Buffer.from('{"a":"x\xc3"}', 'latin1'), size))).toBeDefined()
  })

  it('throws nothing but a Failure, and gives back what JSON holds', () => {
    fc.assert(fc.property(fc.string({ unit: 'binary' }), (text) => void refusal(() => parseJson(text))))
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 5 })), (value) => {
        const text = JSON.stringify(value)
        const failed = refusal(() => parseJson(text))
        const odd = /\\u0000|\\ud[89a-f]|__proto__|constructor|prototype/i.test(text)
        if (!odd) expect(failed).toBeUndefined()
        if (!odd) expect(plain(parseJson(text))).toEqual(JSON.parse(text))
      }),
    )
  })
})
