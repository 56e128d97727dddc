import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { LocalTasks } from '../../src/jobs/local-tasks.js'
import { Unavailable } from '../../src/lib/unavailable.js'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const sleep = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds))
/** Lets time pass. */
const pass = (milliseconds: number) => vi.advanceTimersByTimeAsync(milliseconds)

function queue() {
  const faults: unknown[] = []
  return { jobs: new LocalTasks({ onFault: (fault) => void faults.push(fault) }), faults }
}

describe('coalesce', () => {
  it('joins requests of a short time, never runs twice at once, and keeps the gap', async () => {
    const { jobs } = queue()
    const begin = Date.now()
    const starts: number[] = []
    let running = 0
    let most = 0
    let seen = 0
    let truth = 0
    const work = async () => {
      starts.push(Date.now() - begin)
      most = Math.max(most, ++running)
      seen = truth
      await sleep(20)
      running--
    }
    for (let i = 0; i < 250; i++) {
      truth++
      jobs.coalesce('a', 150, 'a', work)
      await pass(2)
    }
    await pass(1_000)
    expect([seen, most]).toEqual([truth, 1])
    expect(starts).toEqual([0, 150, 300, 450, 600])
  })

  it('keeps keys apart', async () => {
    const { jobs } = queue()
    const ran: string[] = []
    for (const key of ['a', 'b', 'a', 'c']) jobs.coalesce(key, 60_000, key, async () => void ran.push(key))
    await pass(0)
    expect(ran).toEqual(['a', 'b', 'c'])
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
    const drained = jobs.drain()
    await pass(100)
    await drained
    expect(ran.at(-1)).toBe(3)
    expect(ran.length).toBeLessThanOrEqual(3)
    await jobs.drain()
  })

  it('a failure is logged and does not keep the task from running again', async () => {
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
    await pass(10_000)
    expect(runs).toBe(3)
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
