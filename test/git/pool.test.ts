import { getPriority } from 'node:os'
import { afterAll, describe, expect, it } from 'vitest'
import { POOL_LIMITS, ProcessPool } from '../../src/git/process/pool.js'
import { kill } from '../../src/git/process/spawner.js'
import { FairQueue } from '../../src/lib/async/fair-queue.js'
import { runAsHolder } from '../../src/lib/async/holder.js'
import { Unavailable } from '../../src/lib/unavailable.js'

describe('slots in the process pool', () => {
  const pool = new ProcessPool({ ...POOL_LIMITS, running: 2, runningPerRepository: 2, runningPerHolder: 2, waiting: 8 })
  afterAll(() => pool.close())

  it('serves the user with fewer turns next, however many others wait (SEC-180)', async () => {
    const order: string[] = []
    const turn = (holder: string) =>
      runAsHolder(holder, () => pool.acquire(`/nowhere/${holder}`)).then((release) => {
        order.push(holder)
        return release
      })
    const first = await Promise.all([turn('flood'), turn('flood')])
    const waiting = ['flood', 'flood', 'flood', 'other', 'third'].map(turn)
    for (const release of first) release()
    const [, , , other, third] = waiting
    await Promise.all([other, third])
    expect(order.slice(2)).toEqual(['other', 'third'])
    for (const release of [other, third]) (await release)?.()
    for (const release of waiting.slice(0, 3)) (await release)()
  })

  it('one holder fills half of the queue at most (SEC-180)', async () => {
    const turn = (holder: string) => runAsHolder(holder, () => pool.acquire(`/nowhere/${holder}`))
    const held = await Promise.all([turn('flood'), turn('flood')])
    const waiting = Array.from({ length: 4 }, () => turn('flood'))
    await expect(turn('flood')).rejects.toThrow(Unavailable)
    const other = turn('other')
    for (const release of held) release()
    for (const release of [other, ...waiting]) (await release)()
  })

  it('git has a lower priority than the service (SEC-180)', async () => {
    const child = await pool.start('/', ['cat-file', '--batch'])
    expect(getPriority(child.pid)).toBe(getPriority() + 10)
    kill(child)
  })
})

describe('turns of holders', () => {
  it('so many at once of each, in their order (SEC-180)', async () => {
    const queue = new FairQueue({ running: 8, waiting: 8, wait: 5_000, refusals: { timeout: 'late', full: 'full' } })
    const turn = (key: string) => queue.acquire({ holder: { key, running: 1, waiting: 1 } })
    const order: string[] = []
    const first = await turn('a')
    const next = turn('a').then((release) => {
      order.push('a')
      release()
    })
    await expect(turn('a')).rejects.toThrow('full')
    const other = await turn('b')
    order.push('b')
    other()
    first()
    await next
    expect(order).toEqual(['b', 'a'])
  })

  it('who waits too long, or leaves, is refused and takes no turn (SEC-180)', async () => {
    const queue = new FairQueue({ running: 1, waiting: 8, wait: 20, refusals: { timeout: 'late', full: 'full' } })
    const turn = (key: string, signal?: AbortSignal) => queue.acquire({ holder: { key, running: 1, waiting: 4 } }, signal)
    const first = await turn('a')
    await expect(turn('b')).rejects.toThrow('late')
    const leaving = new AbortController()
    const left = turn('c', leaving.signal)
    leaving.abort(new Error('gone'))
    await expect(left).rejects.toThrow('gone')
    first()
    first()
    const last = await turn('d')
    await expect(turn('e')).rejects.toThrow('late')
    last()
  })
})
