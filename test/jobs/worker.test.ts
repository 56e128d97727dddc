import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { kinds } from '../../src/cli/kinds.js'
import { type Database, openDatabase } from '../../src/db/client.js'
import { enqueue, enqueueAll } from '../../src/jobs/enqueue.js'
import { type AnyJob, type Attempt, defaultRetries, defineJob } from '../../src/jobs/kinds.js'
import { createWorker, type FinishedAttempt, type Worker, type WorkerOptions } from '../../src/jobs/worker.js'
import { Unavailable } from '../../src/lib/unavailable.js'
import { createTestDatabase } from '../support/template-database.js'
import { lockingKinds } from './kinds.js'

const NEVER = 3_600_000
const quiet = { info: () => undefined, warn: () => undefined }

let test: { url: string; drop(): Promise<void> }
let db: Database
const opened: { stop(wait: number): Promise<void> }[] = []
beforeEach(async () => {
  test = await createTestDatabase()
  db = await openDatabase(test.url, { log: quiet })
})
afterEach(async () => {
  await Promise.all(opened.splice(0).map((worker) => worker.stop(0)))
  await db.close()
  await test.drop()
})

interface Probe extends Worker {
  ended: FinishedAttempt[]
}

/** A worker of this process; each may have its own database client, as another process would. */
function worker(kinds: AnyJob<unknown>[], options: Partial<WorkerOptions<unknown>> = {}): Probe {
  const ended: FinishedAttempt[] = []
  const made = createWorker({
    db,
    kinds,
    ctx: () => undefined,
    onEnd: (each) => void ended.push(each),
    onFault: (fault) => expect.fail(String(fault)),
    ...options,
  })
  opened.push(made)
  return Object.assign(made, { ended })
}

/** A kind that records what it ran, and fails or waits as its input says. */
function noting(options: Partial<AnyJob<unknown>> = {}, act: (name: string, attempt: Attempt) => unknown = () => undefined) {
  const ran: string[] = []
  const job = defineJob({
    kind: 'noting',
    input: z.object({ name: z.string() }),
    async run(_: unknown, { name }: { name: string }, attempt: Attempt) {
      ran.push(name)
      await act(name, attempt)
    },
    ...options,
  })
  return { job, ran }
}

/** A promise, and what settles it. */
function gate() {
  let open: () => void = () => undefined
  const passed = new Promise<void>((resolve) => {
    open = resolve
  })
  return { passed, open }
}

/** Kinds of which one may take long, and many may wait. */
const LONG_KINDS = [
  'import',
  'import of an archive',
  'push to a mirror',
  'pull from a mirror',
  'export',
  'mail: fetch',
  'project from a template',
  'move repository',
  'repository upkeep',
  'remove bots',
  'wiki upkeep',
  'repository checks',
  'orphan repositories',
  'unnamed LFS objects',
  'unreferenced LFS objects',
  'remove leftovers',
  'remove files',
  'archive logs',
  'remove artifacts',
  'remove package files',
  'remove unused layers',
  'remove tags of images',
  'remove former repositories',
  'due deletions',
  'finish the removal of a user',
  'old archives',
  'old exports',
  'old sessions',
  'record wikis',
]

/** The kinds of the service: those of `waiting` wait for `open`, the others note that they ran. */
function stubsOf(waiting: string[]) {
  const { passed, open } = gate()
  const ran: string[] = []
  const begun: string[] = []
  const stubs = kinds.map((kind) => {
    const isWaiting = waiting.includes(kind.kind)
    const run = async () => {
      ;(isWaiting ? begun : ran).push(kind.kind)
      if (isWaiting) await passed
    }
    const stub: AnyJob<unknown> = { ...kind, input: z.object({}), run }
    delete stub.every
    return stub
  })
  return { stubs, ran, begun, open }
}

const rows = async (text = 'select kind, attempts, worker, last_error, failed_at from jobs order by id') => (await db.write.execute(text)).rows

describe('enqueue', () => {
  it('is part of its transaction: rolled back with it, and run at once after the commit (SEC-185)', async () => {
    const { job, ran } = noting()
    await worker([job], { poll: NEVER }).start()
    const rolledBack = db.transaction(async (tx) => {
      await enqueue(tx, job, { name: 'a' })
      throw new Error('rolled back')
    })
    await expect(rolledBack).rejects.toThrow('rolled back')
    await db.transaction(async (tx) => {
      await enqueue(tx, job, { name: 'b' })
      await sleep(50)
      expect(ran).toEqual([])
    })
    await expect.poll(() => ran).toEqual(['b'])
    await enqueue(db, job, { name: 'c' })
    await expect.poll(() => ran).toEqual(['b', 'c'])
    await expect.poll(() => rows()).toEqual([])
  })

  it('keeps any text: NUL and halves of surrogate pairs do not fail the change', async () => {
    const { job, ran } = noting()
    const one = worker([job])
    await enqueue(db, job, { name: 'a\0b\ud800' })
    await one.drain()
    expect(ran).toEqual(['ab\ufffd'])
  })

  it('by a trigger wakes this process after the commit, also of a batch and of a single statement', async () => {
    const transactions: string[] = []
    const report = defineJob({
      kind: 'hooks: dispatch',
      input: z.object({ transaction: z.string() }),
      run: async (_: unknown, { transaction }) => void transactions.push(transaction),
    })
    const probe = worker([report], { poll: NEVER })
    await probe.start()
    const change = `insert into hook_changes (source, operation) values ('issues', 'INSERT')`
    await db.transaction(async (tx) => {
      await tx.execute(change)
      await tx.execute('savepoint a')
      await tx.execute('rollback to savepoint a')
      await probe.drain()
      expect(transactions).toHaveLength(0)
    })
    await expect.poll(() => transactions.length).toBe(1)
    await db.batch(({ client }) => [client.query(change)])
    await expect.poll(() => transactions.length).toBe(2)
    await db.write.execute(change)
    await expect.poll(() => transactions.length).toBe(3)
  })

  it('is found by another process within a poll', async () => {
    const { job, ran } = noting()
    const other = await openDatabase(test.url, { log: quiet })
    await worker([job], { db: other, poll: 20 }).start()
    await enqueue(db, job, { name: 'a' })
    await expect.poll(() => ran).toEqual(['a'])
    await opened.pop()?.stop(1_000)
    await other.close()
  })

  it('waits until it is due', async () => {
    const { job, ran } = noting()
    await worker([job], { poll: 20 }).start()
    await enqueueAll(db, job, [
      { input: { name: 'later' }, delay: 400 },
      { input: { name: 'last' }, runAt: new Date(Date.now() + 1_200) },
      { input: { name: 'never' }, runAt: new Date(Date.now() + NEVER) },
      { input: { name: 'now' } },
    ])
    await expect.poll(() => ran, { timeout: 10_000 }).toEqual(['now', 'later', 'last'])
  })
})

describe('jobs of one key', () => {
  it('that wait are run once, with the newest input', async () => {
    const { job, ran } = noting()
    const one = worker([job])
    for (let i = 0; i < 10; i++) await enqueue(db, job, { name: `a${i}` }, { key: 'a' })
    await enqueue(db, job, { name: 'b' }, { key: 'b' })
    await enqueue(db, job, { name: 'none' })
    await one.drain()
    expect(ran.sort()).toEqual(['a9', 'b', 'none'])
    expect(await rows()).toEqual([])
  })

  it('run again for jobs enqueued during a run, and never twice at once', async () => {
    const { passed, open } = gate()
    let running = 0
    let most = 0
    const { job, ran } = noting({}, async (name) => {
      most = Math.max(most, ++running)
      if (name === 'first') await passed
      running--
    })
    await worker([job], { poll: 20 }).start()
    await enqueue(db, job, { name: 'first' }, { key: 'a' })
    await expect.poll(() => ran).toEqual(['first'])
    for (const name of ['second', 'third']) await enqueue(db, job, { name }, { key: 'a' })
    await sleep(100)
    expect(ran).toEqual(['first'])
    open()
    await expect.poll(() => ran).toEqual(['first', 'third'])
    expect(most).toBe(1)
  })

  it('run again for a transaction that was not committed when one was taken (SEC-185)', async () => {
    const { job, ran } = noting()
    await worker([job], { poll: 20 }).start()
    await db.transaction(async (tx) => {
      await enqueue(tx, job, { name: 'slow' }, { key: 'a' })
      await enqueue(db, job, { name: 'quick' }, { key: 'a' })
      await expect.poll(() => ran).toEqual(['quick'])
    })
    await expect.poll(() => ran).toEqual(['quick', 'slow'])
  })
})

describe('a job that fails', () => {
  it('is tried again, then set aside with its error (SEC-186)', async () => {
    const { job, ran } = noting({ retries: (attempts) => (attempts < 3 ? 0 : null) }, () => Promise.reject(new TypeError('no good')))
    const one = worker([job], { poll: 20 })
    await one.start()
    await enqueue(db, job, { name: 'a' })
    const left = { kind: 'noting', attempts: 3, worker: null, last_error: 'TypeError: no good', failed_at: expect.anything() }
    await expect.poll(() => rows()).toEqual([left])
    expect(ran).toEqual(['a', 'a', 'a'])
    expect(one.ended.map(({ end, attempts }) => [end, attempts])).toEqual([
      ['retried', 1],
      ['retried', 2],
      ['failed', 3],
    ])
    await one.drain()
    expect(ran).toHaveLength(3)
  })

  it('that names a later time waits until then, without end, and drain runs it once', async () => {
    const { job, ran } = noting()
    const later = defineJob({
      kind: 'later',
      input: z.object({ name: z.string() }),
      run: async (_: unknown, { name }) => {
        ran.push(name)
        return new Date(Date.now() + (ran.length < 60 ? 0 : NEVER))
      },
    })
    await enqueue(db, later, { name: 'again' })
    const probe = worker([job, later], { poll: NEVER })
    await probe.drain()
    expect(ran).toHaveLength(1)
    await probe.start()
    await expect.poll(() => ran.length, { timeout: 10_000 }).toBe(60)
    await probe.stop(1_000)
    expect(await rows()).toMatchObject([{ kind: 'later', attempts: 0, worker: null, failed_at: null }])
    expect(new Set(probe.ended.map(({ end }) => end))).toEqual(new Set(['later']))
  })

  it('waits longer each time', () => {
    const waits = Array.from({ length: 12 }, (_, i) => defaultRetries(i + 1))
    expect(waits).toEqual([1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 600].map((seconds) => seconds * 1000).concat(null as never))
  })

  it('is not set aside while something is unavailable (SEC-186)', async () => {
    const { job } = noting({ retries: () => null }, () => Promise.reject(new Unavailable('no disk')))
    const one = worker([job])
    await enqueue(db, job, { name: 'a' })
    await db.write.execute('update jobs set attempts = 39')
    // more often than any job is attempted
    for (let i = 0; i < 3; i++) await one.drain()
    expect(await rows()).toEqual([{ kind: 'noting', attempts: 39, worker: null, last_error: 'Unavailable: no disk', failed_at: null }])
  })

  it('is set aside at once if its input cannot be read, or if each of many processes was killed by it', async () => {
    const { job, ran } = noting()
    const recorded: string[] = []
    const one = worker([{ ...job, failed: async (_, { name }) => recorded.push(name) }])
    await db.write.execute(`insert into jobs (kind, payload, attempts) values ('noting', '{"name": 5}', 0), ('noting', '{"name": "a"}', 40)`)
    await one.drain()
    expect([ran, recorded]).toEqual([[], ['a']])
    expect((await rows()).map(({ last_error, failed_at }) => [last_error, failed_at !== null])).toEqual([
      [expect.stringMatching(/^its input cannot be read: /), true],
      ['it was attempted too often: the process may have ended each time', true],
    ])
  })

  it('because its deadline is over gets that as its reason, and is tried again', async () => {
    const { job } = noting(
      { deadline: 20 },
      (_, { signal }) => new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
    )
    const one = worker([job])
    await enqueue(db, job, { name: 'a' })
    await one.drain()
    expect(await rows()).toMatchObject([{ attempts: 1, worker: null, last_error: 'Error: the deadline of the job is over', failed_at: null }])
  })
})

describe('the order', () => {
  it('is by priority, then by age (SEC-186)', async () => {
    const { job, ran } = noting()
    await enqueueAll(db, job, [
      { input: { name: 'low' }, priority: 'low' },
      { input: { name: 'old' } },
      { input: { name: 'new' } },
      { input: { name: 'high' }, priority: 'high' },
    ])
    await worker([job], { slots: { work: 1, network: 0 } }).drain()
    expect(ran).toEqual(['high', 'old', 'new', 'low'])
  })

  it('keeps slots free of low priority (SEC-186)', async () => {
    const { passed, open } = gate()
    const { job, ran } = noting({}, (name) => (name === 'merge' ? undefined : passed))
    await worker([job], { slots: { work: 4, network: 0 }, poll: 20 }).start()
    await enqueueAll(
      db,
      job,
      Array.from({ length: 10 }, (_, i) => ({ input: { name: `${i}` }, priority: 'low' as const })),
    )
    await expect.poll(() => ran.length).toBe(2)
    await sleep(100)
    expect(ran).toHaveLength(2)
    await enqueue(db, job, { name: 'merge' })
    await expect.poll(() => ran).toContain('merge')
    open()
    await expect.poll(() => ran.length).toBe(11)
  })

  it('what people wait for does not wait for imports, exports and upkeep, however many of them wait (SEC-400)', async () => {
    const { stubs, ran, begun, open } = stubsOf(LONG_KINDS)
    const [long, prompt] = [true, false].map((isLong) => stubs.filter(({ kind }) => LONG_KINDS.includes(kind) === isLong))
    expect(long).toHaveLength(LONG_KINDS.length)
    const probe = worker(stubs, { poll: 20 })
    for (const job of long as AnyJob<unknown>[])
      await enqueueAll(
        db,
        job,
        Array.from({ length: 20 }, () => ({ input: {} })),
      )
    await probe.start()
    await expect.poll(() => begun.length, { timeout: 10_000 }).toBeGreaterThan(4)
    for (const job of prompt as AnyJob<unknown>[]) await enqueue(db, job, {})
    await expect.poll(() => ran.toSorted(), { timeout: 10_000 }).toEqual(prompt?.map(({ kind }) => kind).toSorted())
    open()
    await probe.stop(10_000)
  })

  it('merges and rebases do not wait for checks of many merge requests (SEC-400)', async () => {
    const { stubs, ran, begun, open } = stubsOf(['merge status'])
    const named = (name: string) => stubs.find(({ kind }) => kind === name) as AnyJob<unknown>
    const probe = worker(stubs, { poll: 20 })
    await enqueueAll(
      db,
      named('merge status'),
      Array.from({ length: 20 }, (_, i) => ({ input: {}, key: `${i}` })),
    )
    await probe.start()
    await expect.poll(() => begun.length, { timeout: 10_000 }).toBeGreaterThan(1)
    for (const name of ['rebase', 'deferred merges', 'after a merge']) await enqueue(db, named(name), {})
    await expect.poll(() => ran.toSorted(), { timeout: 10_000 }).toEqual(['after a merge', 'deferred merges', 'rebase'])
    open()
    await probe.stop(10_000)
  })

  it('low jobs that have waited long are run in turn, however many others come (SEC-186)', async () => {
    const { job, ran } = noting()
    const at = (seconds: number) => new Date(Date.now() - seconds * 1_000)
    await enqueueAll(db, job, [
      { input: { name: 'low, waiting' }, priority: 'low', runAt: at(150) },
      { input: { name: 'low, new' }, priority: 'low', runAt: at(30) },
      { input: { name: 'normal, waiting' }, runAt: at(90) },
      { input: { name: 'normal, new' }, runAt: at(40) },
      ...Array.from({ length: 5 }, (_, i) => ({ input: { name: `high ${i}` }, priority: 'high' as const, runAt: at(10 - i) })),
    ])
    await worker([job], { slots: { work: 1, network: 0 } }).drain()
    expect(ran).toEqual(['low, waiting', 'normal, waiting', 'high 0', 'high 1', 'high 2', 'high 3', 'high 4', 'normal, new', 'low, new'])
  })

  it('throttled kinds have their share of the slots, others all of theirs (AS-62)', async () => {
    const { passed, open } = gate()
    const slow = noting({ kind: 'slow' }, () => passed)
    const other = noting({ kind: 'other' }, () => passed)
    const calling = noting({ kind: 'calling', slots: 'network' }, () => passed)
    let factor = 0.5
    const options = { slots: { work: 4, network: 10 }, poll: 20, throttling: async () => ({ kinds: ['slow', 'calling', 'no such kind'], factor }) }
    await worker([slow.job, other.job, calling.job], options).start()
    for (const { job } of [slow, other, calling])
      await enqueueAll(
        db,
        job,
        Array.from({ length: 12 }, (_, i) => ({ input: { name: `${i}` } })),
      )
    const amounts = () => [slow, other, calling].map(({ ran }) => ran.length)
    await expect.poll(amounts).toEqual([2, 4, 5])
    factor = 0.01
    open()
    await expect.poll(amounts, { timeout: 10_000 }).toEqual([12, 12, 12])
  })

  it('gives kinds that wait for the network their own slots', async () => {
    const { passed, open } = gate()
    const { job, ran } = noting({}, () => passed)
    const calling = noting({ kind: 'calling', slots: 'network' })
    await worker([job, calling.job], { slots: { work: 1, network: 1 } }).start()
    await enqueueAll(db, job, [{ input: { name: 'a' } }, { input: { name: 'b' } }])
    await enqueue(db, calling.job, { name: 'call' })
    await expect.poll(() => [calling.ran, ran]).toEqual([['call'], ['a']])
    open()
  })
})

describe('a lane', () => {
  it.each([1, 2])('runs %i at a time, and holds up no other (SEC-186)', async (perLane) => {
    const { passed, open } = gate()
    const { job, ran } = noting({ perLane }, (name) => (name.startsWith('slow') ? passed : undefined))
    await enqueueAll(
      db,
      job,
      Array.from({ length: 100 }, (_, i) => ({ input: { name: `slow${i}` }, lane: 'slow' })),
    )
    await enqueueAll(
      db,
      job,
      Array.from({ length: 20 }, (_, i) => ({ input: { name: `${i}` }, lane: `lane ${i % 3}` })),
    )
    await worker([job], { poll: NEVER }).start()
    await expect.poll(() => ran.filter((name) => !name.startsWith('slow')).length, { timeout: 10_000 }).toBe(20)
    expect(ran.filter((name) => name.startsWith('slow'))).toHaveLength(perLane)
    open()
    await expect.poll(() => ran.length, { timeout: 20_000 }).toBe(120)
  })
})

describe('schedules', () => {
  it('are run by one of several processes each time, the first time at once', async () => {
    const { job, ran } = noting({ kind: 'hourly', input: z.object({}).transform(() => ({ name: 'hour' })), every: NEVER })
    for (let i = 0; i < 3; i++) await worker([job], { poll: 20 }).start()
    await expect.poll(() => ran).toEqual(['hour'])
    await sleep(100)
    expect(ran).toEqual(['hour'])
    await db.write.execute('update job_schedules set next_at = now()')
    await expect.poll(() => ran).toEqual(['hour', 'hour'])
  })
})

describe('several processes', () => {
  let client: pg.Client
  let kinds: Awaited<ReturnType<typeof lockingKinds>>['kinds']
  beforeEach(async () => {
    ;({ client, kinds } = await lockingKinds(test.url))
  })
  afterEach(() => client.end())

  const names = async (table: string) => (await client.query(`select name from ${table} order by name`)).rows.map(({ name }) => name as string)

  it('takes what a killed one ran at once where no other process can be alive', async () => {
    await db.write.execute(`insert into jobs (kind, payload, worker, run_at, attempts)
      values ('locking', '{"name": "a", "takes": 0}', 'killed', now() + interval '1 hour', 1)`)
    const heir = worker(kinds)
    await heir.start()
    await heir.drain()
    expect(await names('finished')).toEqual([])
    await heir.stop(0)
    await worker(kinds).start({ exclusive: true })
    await expect.poll(() => names('finished')).toEqual(['a'])
  })
})

describe('a worker', () => {
  it('renews the leases of what runs, so that no other worker takes it', async () => {
    const { passed, open } = gate()
    const { job, ran } = noting({}, () => passed)
    for (let i = 0; i < 2; i++) await worker([job], { lease: 400, poll: 20 }).start()
    await enqueue(db, job, { name: 'a' })
    await sleep(1_500)
    expect(ran).toEqual(['a'])
    open()
    await expect.poll(() => rows()).toEqual([])
    expect(ran).toEqual(['a'])
  })

  it('aborts a run whose lease is lost, and leaves the job to its new holder', async () => {
    const { job } = noting({}, (_, { signal }) => new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))))
    const one = worker([job], { lease: 2_000, poll: 20 })
    await one.start()
    await enqueue(db, job, { name: 'a' })
    await expect.poll(async () => (await rows())[0]?.['worker']).toEqual(expect.any(String))
    await db.write.execute(`update jobs set worker = 'another', run_at = now() + interval '1 hour'`)
    await expect.poll(() => one.ended).toMatchObject([{ fault: new Error('the lease of the job is lost') }])
    await sleep(50)
    expect(await rows()).toMatchObject([{ worker: 'another', last_error: null }])
  })

  it('finishes running jobs when it stops, and releases the others at once, as if they had not begun', async () => {
    const { passed, open } = gate()
    const { job, ran } = noting({}, async (name, { signal }) => {
      if (name === 'quick') return passed
      if (name !== 'long' || ran.filter((each) => each === name).length > 1) return undefined
      return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
    })
    const one = worker([job], { poll: NEVER })
    await one.start()
    await enqueueAll(db, job, [{ input: { name: 'quick' } }, { input: { name: 'long' } }])
    await expect.poll(() => ran.length).toBe(2)
    const stopped = one.stop(200)
    await enqueue(db, job, { name: 'late' })
    open()
    await stopped
    expect(await rows()).toEqual([
      { kind: 'noting', attempts: 0, worker: null, last_error: null, failed_at: null },
      { kind: 'noting', attempts: 0, worker: null, last_error: null, failed_at: null },
    ])
    expect(ran.toSorted()).toEqual(['long', 'quick'])
    await worker([job]).drain()
    expect(ran.toSorted()).toEqual(['late', 'long', 'long', 'quick'])
  })

  it('reports the end of a job that continues after it was stopped', async () => {
    const { passed, open } = gate()
    const { job, ran } = noting({}, () => passed)
    const one = worker([job], { poll: NEVER })
    await one.start()
    await enqueue(db, job, { name: 'deaf' })
    await expect.poll(() => ran).toEqual(['deaf'])
    await one.stop(0)
    let over = false
    const ended = one.untilEnded().then(() => {
      over = true
    })
    await sleep(50)
    expect(over).toBe(false)
    open()
    await ended
  })

  it('begins nothing that it takes while it stops, and leaves it to others', async () => {
    const { job, ran } = noting()
    const one = worker([job], { poll: NEVER })
    await one.start()
    const waits = async () => (await rows(`select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`)).length
    const other = await openDatabase(test.url, { log: quiet })
    const { passed, open } = gate()
    const held = other.write.transaction(async (tx) => {
      await tx.execute('lock table jobs in exclusive mode')
      await enqueue(tx, job, { name: 'a' })
      await passed
    })
    await expect.poll(async () => (await rows(`select 1 from pg_locks where mode = 'ExclusiveLock' and relation = 'jobs'::regclass`)).length).toBe(1)
    const drained = one.drain()
    await expect.poll(waits).toBe(1)
    const stopped = one.stop(1_000)
    open()
    await Promise.all([held, drained, stopped])
    expect(await rows()).toEqual([{ kind: 'noting', attempts: 0, worker: null, last_error: null, failed_at: null }])
    expect(ran).toEqual([])
    await other.close()
  })

  it('leaves kinds that it does not know to others', async () => {
    const { job } = noting({ kind: 'of a newer version' })
    const { job: known } = noting()
    await enqueue(db, job, { name: 'a' })
    await worker([known]).drain()
    expect(await rows()).toMatchObject([{ kind: 'of a newer version', attempts: 0, worker: null }])
  })

  it('asks the database once a poll while there is nothing to do, and takes no lock', async () => {
    const asked: string[] = []
    const counted = await openDatabase(test.url, { log: quiet, onQuery: (text) => void asked.push(text) })
    const { job } = noting()
    const one = worker([job], { db: counted, poll: 20 })
    await one.start()
    await expect.poll(() => asked.filter((text) => text.includes('exists')).length).toBeGreaterThan(10)
    expect(asked.filter((text) => text.includes('pg_advisory')).length).toBeLessThan(4)
    await opened.pop()?.stop(0)
    await counted.close()
  })
})
