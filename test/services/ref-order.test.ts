import { expect, it } from 'vitest'
import { Slices } from '../../src/lib/async/slices.js'
import { orderByTime } from '../../src/services/repository/ref-order.js'

it('orders 100,000 by time in short pieces, and equals by name (WB-375)', async () => {
  const items = Array.from({ length: 100_000 }, (_, i) => i)
  const times = items.map((i) => (i % 7 === 0 ? -5 : 1_700_000_000 + ((i * 7_919) % 300)))
  const slices = new Slices()
  for (const order of ['asc', 'desc'] as const) {
    const sign = order === 'asc' ? 1 : -1
    const known = (i: number) => Math.max(times[i] as number, 0)
    const expected = [...items].sort((a, b) => sign * (known(a) - known(b)) || a - b)
    expect(await orderByTime(slices, items, times, order)).toEqual(expected)
  }
  expect(await orderByTime(slices, [], [], 'asc')).toEqual([])
})
