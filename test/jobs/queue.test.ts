import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { createJobs } from '../../src/jobs/queue.js'
import { Unavailable } from '../../src/lib/unavailable.js'

function queue() {
  const faults: unknown[] = []
  return { jobs: createJobs({ onFault: (fault) => void faults.push(fault) }), faults }
}

describe('coalesce', () => {
  it('joins what is asked for in a short time, never runs twice at once, and keeps the gap', async () => {
    const { jobs } = queue()
    const starts: number[] = []
    let running = 0
    let most = 0
    let seen = 0
    let truth = 0
    const work = async () => {
      starts.push(performance.now())
      most = Math.max(most, ++running)
      seen = truth
      await sleep(20)
      running--
    }
    for (const until = performance.now() + 500; performance.now() < until; await sleep(2)) {
      truth++
      jobs.coalesce('a', 150, 'a', work)
    }
    await expect.poll(() => seen, { timeout: 5_000 }).toBe(truth)
    expect(most).toBe(1)
    expect(starts.length).toBeLessThanOrEqual(5)
    for (const [i, start] of starts.entries()) if (i > 0) expect(start - (starts[i - 1] as number)).toBeGreaterThanOrEqual(148)
  })

  it('keeps keys apart', async () => {
    const { jobs } = queue()
    const ran: string[] = []
    for (const key of ['a', 'b', 'a', 'c']) jobs.coalesce(key, 60_000, key, async () => void ran.push(key))
    await expect.poll(() => ran).toEqual(['a', 'b', 'c'])
  })

  it('drain does at once what waits for its gap, and waits for it', async () => {
    const { jobs } = queue()
    const ran: number[] = []
    const ask = (n: number) =>
      jobs.coalesce('a', 60_000, 'a', async () => {
        await sleep(5)
        ran.push(n)
        // asked for by the work itself, while draining
        if (n === 2) ask(3)
      })
    ask(0)
    ask(1)
    ask(2)
    const start = performance.now()
    await jobs.drain()
    expect(ran.at(-1)).toBe(3)
    expect(ran.length).toBeLessThanOrEqual(3)
    expect(performance.now() - start).toBeLessThan(5_000)
    await jobs.drain()
  })

  it('a failure is told and keeps nothing from running again', async () => {
    const { jobs, faults } = queue()
    let runs = 0
    jobs.coalesce('a', 10, 'a', async () => {
      runs++
      throw new Error('no')
    })
    await jobs.drain()
    jobs.coalesce('a', 10, 'a', async () => void runs++)
    await jobs.drain()
    expect(runs).toBe(2)
    expect(faults).toMatchObject([{ message: 'no' }])
  })
})

describe('work that cannot be done now', () => {
  it.each(['add', 'coalesce'] as const)('is tried again until it is done, without a report (%s)', async (how) => {
    const { jobs, faults } = queue()
    let runs = 0
    let running = 0
    let most = 0
    const work = async () => {
      most = Math.max(most, ++running)
      await sleep(1)
      running--
      if (++runs < 3) throw new Unavailable('not now')
    }
    if (how === 'add') jobs.add('a', work)
    else jobs.coalesce('a', 1, 'a', work)
    await expect.poll(() => runs, { timeout: 10_000 }).toBe(3)
    await jobs.drain()
    expect([runs, most, faults]).toEqual([3, 1, []])
  })

  it.each(['add', 'coalesce'] as const)('is reported when everything is to end (%s)', async (how) => {
    const { jobs, faults } = queue()
    const work = async () => {
      throw new Unavailable('not now')
    }
    if (how === 'add') jobs.add('a', work)
    else jobs.coalesce('a', 60_000, 'a', work)
    await jobs.drain()
    expect(faults).toMatchObject([{ message: 'not now' }])
  })
})
