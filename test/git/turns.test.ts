import { getPriority } from 'node:os'
import { afterAll, describe, expect, it } from 'vitest'
import { POOL_LIMITS, ProcessPool } from '../../src/git/processes.js'
import { inNameOf, TurnsOfHolders } from '../../src/lib/holder.js'
import { Unavailable } from '../../src/lib/unavailable.js'

describe('turns for git', () => {
  const pool = new ProcessPool({ ...POOL_LIMITS, running: 2, runningPerRepository: 2, runningPerHolder: 2, waiting: 8 })
  afterAll(() => pool.close())

  it('SEC-180: who has fewer turns is next, however many others came before', async () => {
    const order: string[] = []
    const turn = (holder: string) =>
      inNameOf(holder, () => pool.acquire(`/nowhere/${holder}`)).then((release) => {
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

  it('SEC-180: one holder fills half of the queue at most', async () => {
    const turn = (holder: string) => inNameOf(holder, () => pool.acquire(`/nowhere/${holder}`))
    const held = await Promise.all([turn('flood'), turn('flood')])
    const waiting = Array.from({ length: 4 }, () => turn('flood'))
    await expect(turn('flood')).rejects.toThrow(Unavailable)
    const other = turn('other')
    for (const release of held) release()
    for (const release of [other, ...waiting]) (await release)()
  })

  it('SEC-180: git stands back behind the service', async () => {
    const child = pool.start('/', ['cat-file', '--batch'])
    expect(getPriority(child.pid as number)).toBe(getPriority() + 5)
    child.kill()
  })
})

describe('turns of holders', () => {
  it('SEC-180: so many at once of each, in their order', async () => {
    const turns = new TurnsOfHolders(1, 1)
    const order: string[] = []
    let end = () => {}
    const long = turns.run('a', () => new Promise<void>((resolve) => (end = resolve)))
    const next = turns.run('a', async () => void order.push('a'))
    await expect(turns.run('a', async () => {})).rejects.toThrow(Unavailable)
    await turns.run('b', async () => void order.push('b'))
    end()
    await Promise.all([long, next])
    expect(order).toEqual(['b', 'a'])
  })
})
