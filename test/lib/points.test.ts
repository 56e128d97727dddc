import { describe, expect, it } from 'vitest'
import { lineOf, PointSender } from '../../src/lib/points.js'

describe('a point as a line', () => {
  it('escapes what separates, and has no line ends (SEC-274)', () => {
    const point = { name: 'a name', tags: { 'k=1': 'x, y=\\', empty: '', line: 'a\nb', n: 3 }, field: 'value', value: 0.5 }
    expect(lineOf(point, 1_700_000_000_000)).toBe('a\\ name,k\\=1=x\\,\\ y\\=/,line=a\\ b,n=3 value=0.5 1700000000000000000')
  })
})

describe('a sender of points', () => {
  it('keeps at most 10,000 and counts the others (SEC-274)', () => {
    const sender = new PointSender()
    const target = { host: '127.0.0.1', port: 9, packet: 1_000_000, sockets: 1, timeout: 1_000 }
    for (let n = 0; n < 10_005; n++) sender.add(target, { name: 'a', tags: {}, field: 'count', value: 1 })
    expect(sender.dropped).toBe(5)
    sender.close()
  })
})
