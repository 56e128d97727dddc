import { describe, expect, it } from 'vitest'
import {
  bytesOfPath,
  decodePath,
  encodePath,
  hasBytes,
  pathOfBytes,
  pathOfRouter,
  urlForRouter,
  urlOfRouter,
} from '../../../src/lib/text/byte-path.js'
import { random } from '../../support/reader.js'

const latin1 = (text: string) => Buffer.from(text, 'latin1')

describe('paths that are bytes (WB-237)', () => {
  it('are kept whole as text, in URLs, and through the router', () => {
    const { below } = random(7)
    const pieces = [...'a/ %é€😀\u{10ff80}\u{10ffff}\ufffd']
      .map((each) => Buffer.from(each))
      .concat([latin1('\xff'), latin1('\xe2\x82'), latin1('\xf4\x8f'), latin1('\xed\xb2\x80'), latin1('\x80')])
    for (let i = 0; i < 2_000; i++) {
      const bytes = Buffer.concat(Array.from({ length: 1 + below(6) }, () => pieces[below(pieces.length)] as Buffer))
      const path = pathOfBytes(bytes)
      expect(bytesOfPath(path)).toEqual(bytes)
      const url = `/p/-/blob/main/${path.split('/').map(encodePath).join('/')}`
      expect(decodePath(url)).toBe(`/p/-/blob/main/${path}`)
      const routed = urlForRouter(`${url}?a=%ff`)
      const at = Buffer.from('/p/-/blob/main/')
      expect(bytesOfPath(pathOfRouter(decodeURIComponent(routed.split('?')[0] ?? '')))).toEqual(Buffer.concat([at, bytes]))
      expect(decodePath(urlOfRouter(routed).split('?')[0] ?? '')).toBe(`/p/-/blob/main/${path}`)
      if (!hasBytes(path)) expect(path).toBe(bytes.toString())
    }
    expect([decodePath('%zz'), decodePath('%e'), urlForRouter('/%zz'), urlForRouter('/a%C3%A9')]).toEqual([null, null, '/%zz', '/a%C3%A9'])
  })
})
