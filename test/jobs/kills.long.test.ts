// @module-tag long
import { type ChildProcess, fork } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type pg from 'pg'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type Database, openDatabase } from '../../src/db/client.js'
import { enqueue, enqueueAll } from '../../src/jobs/enqueue.js'
import { createWorker } from '../../src/jobs/worker.js'
import { rounds } from '../support/rounds.js'
import { createTestDatabase } from '../support/template-database.js'
import { lockingKinds } from './kinds.js'

const program = fileURLToPath(new URL('./process.ts', import.meta.url))

let test: { url: string; drop(): Promise<void> }
let db: Database
let client: pg.Client
let kinds: Awaited<ReturnType<typeof lockingKinds>>['kinds']
const children = new Set<ChildProcess>()
beforeEach(async () => {
  test = await createTestDatabase()
  db = await openDatabase(test.url, { log: { info: () => undefined, warn: () => undefined } })
  ;({ client, kinds } = await lockingKinds(test.url))
})
afterEach(async () => {
  for (const child of children) child.kill('SIGKILL')
  await client.end()
  await db.close()
  await test.drop()
})

const child = () => {
  const started = fork(program, [test.url], { execArgv: ['--import', 'tsx'], stdio: ['ignore', 'ignore', 'inherit', 'ipc'] })
  children.add(started)
  return {
    kill() {
      const gone = new Promise((resolve) => started.once('exit', resolve))
      started.kill('SIGKILL')
      return gone
    },
  }
}
const locking = () => kinds[0] as (typeof kinds)[0]
const rows = async () => (await db.write.execute('select id from jobs')).rows
const names = async (table: string) => (await client.query(`select name from ${table} order by name`)).rows.map(({ name }) => name as string)

describe('processes that are killed', () => {
  it('take over what a killed one ran within 15 seconds (SEC-185)', { timeout: 300_000 }, async () => {
    for (let round = 0; round < rounds(1, 2); round++) {
      const killed = child()
      await enqueue(db, locking(), { name: `job ${round}`, takes: 60_000 })
      await expect.poll(() => names('runs'), { timeout: 20_000 }).toContain(`job ${round}`)
      await killed.kill()
      await db.write.execute(`update jobs set payload = payload || '{"takes": 0}'`)
      const heir = createWorker({ db, kinds, ctx: () => undefined, onEnd: () => undefined, onFault: (fault) => expect.fail(String(fault)) })
      await heir.start()
      await expect.poll(() => names('finished'), { timeout: 15_000, interval: 100 }).toContain(`job ${round}`)
      await heir.stop(1_000)
    }
    expect(await rows()).toEqual([])
  })

  it('lose no job and run none twice at once, while they are killed (SEC-185)', { timeout: 300_000 }, async () => {
    const all: string[] = []
    let alive = [child(), child()]
    for (let round = 0; round < rounds(1, 3); round++) {
      const made = Array.from({ length: 20 }, (_, i) => `${round} ${i}`)
      all.push(...made)
      await enqueueAll(
        db,
        locking(),
        made.map((name, i) => ({ input: { name, takes: i * 3 }, lane: `lane ${i % 4}` })),
      )
      await expect.poll(async () => (await names('runs')).some((name) => made.includes(name)), { timeout: 20_000 }).toBe(true)
      await sleep(Math.random() * 60)
      await alive.shift()?.kill()
      alive = [...alive, child()]
    }
    await expect.poll(() => rows(), { timeout: 120_000, interval: 200 }).toEqual([])
    expect([...new Set(await names('finished'))]).toEqual(all.sort())
    expect((await client.query('select name from runs where doubled')).rows).toEqual([])
    const runs = await names('runs')
    // only what was cut short has run more than once
    expect(runs.length - all.length).toBeLessThanOrEqual(rounds(1, 3) * 4)
  })
})
