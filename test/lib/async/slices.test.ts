import { setImmediate } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { Slices } from '../../../src/lib/async/slices.js'

it('leaves the event loop to others after each tick, for longer after long pieces (SEC-145, WB-370)', async () => {
  const slices = new Slices()
  let turns = 0
  let running = true
  const others = (async () => {
    for (; running; turns++) await setImmediate()
  })()
  const busy = (ms: number) => () => {
    for (const end = performance.now() + ms; performance.now() < end; );
    return turns
  }
  const short = await Promise.all(Array.from({ length: 3 }, () => slices.run(busy(1.2))))
  const long = await Promise.all(Array.from({ length: 3 }, () => slices.run(busy(5))))
  running = false
  await others
  const between = (list: number[]) => list.slice(1).map((n, i) => n - (list[i] as number))
  // a tick each, and many ticks within a pause of milliseconds
  expect(Math.min(...between(short))).toBeGreaterThan(0)
  expect(Math.min(...between(long))).toBeGreaterThan(10)
})
