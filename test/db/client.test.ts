import { sql } from 'drizzle-orm'
import { alias, integer, pgTable, text } from 'drizzle-orm/pg-core'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { type Database, openDatabase, type ReadDatabase, StartupParametersIgnored } from '../../src/db/client.js'
import { decoded } from '../../src/db/decoded.js'
import { databaseError } from '../../src/db/errors.js'
import { batchStatement, statement } from '../../src/db/statement.js'
import { Unavailable } from '../../src/lib/unavailable.js'
import { relayed, socketOf, startRelay } from '../support/relay.js'
import { createTestDatabase } from '../support/template-database.js'

const log = { warn: () => undefined, info: () => undefined }
const things = pgTable('things', { id: integer('id').primaryKey(), name: text('name').notNull() })
const rename = batchStatement('rename a thing', (db, _: null) =>
  db
    .update(things)
    .set({ name: sql`name || ${sql.placeholder('more')}` })
    .where(sql`id = ${sql.placeholder('id')}`)
    .returning(),
)
const find = batchStatement('find a thing', (db, _: null) =>
  db
    .select()
    .from(things)
    .where(sql`id = ${sql.placeholder('id')}`)
    .for('update'),
)
const insert = batchStatement('insert a thing', (db, _: null) => db.insert(things).values({ id: sql.placeholder('id'), name: 'new' }))
const failed = { code: '22012' }
const inverse = statement('inverse of a thing', (read, _: null) =>
  read
    .select({
      id: things.id,
      inverse: decoded(sql`/* inverse of */ case when id = 3 then null else (6 / (2 - id))::bigint end`, Number),
      name: things.name,
    })
    .from(things)
    .where(sql`${things.id} = ${sql.placeholder('id')}`),
)
const failureOf = (work: PromiseLike<unknown>) => Promise.resolve(work).then(() => undefined, databaseError)

describe('openDatabase', () => {
  let test: Awaited<ReturnType<typeof createTestDatabase>>
  let db: Database
  const statements: string[] = []

  beforeAll(async () => {
    test = await createTestDatabase()
    db = await openDatabase(test.url, { log, poolSize: 3, onQuery: (text) => statements.push(text), readTimeout: 400, waitTimeout: 300 })
    await db.write.execute(sql`create table things (id int primary key, name text not null)`)
    await db.write.insert(things).values([1, 2, 3].map((id) => ({ id, name: `thing ${id}` })))
  })
  afterAll(async () => {
    await db.close()
    await test.drop()
  })
  afterEach(async () => {
    await db.write.execute(sql`update things set name = 'thing ' || id`)
  })

  it('answers prepared and built statements on the read pipeline, many at once', async () => {
    const byId = db.read
      .select()
      .from(things)
      .where(sql`${things.id} = ${sql.placeholder('id')}`)
      .prepare('thing_by_id')
    const rows = await Promise.all(Array.from({ length: 50 }, (_, i) => byId.execute({ id: (i % 3) + 1 })))
    expect(rows[4]).toEqual([{ id: 2, name: 'thing 2' }])
    expect(await db.read.select({ name: things.name }).from(things).orderBy(things.id).limit(1)).toEqual([{ name: 'thing 1' }])
  })

  it('prepares a statement once, and bears that it fails or finds nothing', async () => {
    const single = await openDatabase(test.url, { log, poolSize: 1 })
    const answers = [[], failed, [{ id: 1, inverse: 6, name: 'thing 1' }], failed, [], [{ id: 3, inverse: null, name: 'thing 3' }]]
    const ids = [9, 2, 1, 2, 9, 3]
    const ask = (id: number) => inverse(single, null).execute({ id }).catch(databaseError)
    for (const [i, id] of ids.entries()) expect(await ask(id), `call ${i}`).toMatchObject(answers[i] as object)
    expect(await Promise.all([...ids, ...ids].map(ask))).toMatchObject([...answers, ...answers])
    const { rows } = await single.read.execute(sql`select name from pg_prepared_statements where statement like '%inverse of%'`)
    expect(rows).toHaveLength(1)
    await single.close()
  })

  it('gives the same rows prepared as built', async () => {
    const other = alias(things, 'other')
    const build = (read: ReadDatabase) =>
      read
        .select({ thing: things, other, length: decoded(sql`length(${things.name})::bigint`, Number), at: sql<string>`timestamptz '2020-01-01Z'` })
        .from(things)
        .leftJoin(other, sql`${other.id} = ${things.id} + ${sql.placeholder('step')}`)
        .orderBy(things.id)
    const prepared = await statement('neighbours', build)(db, null).execute({ step: 1 })
    const built = await build(db.read).prepare('').execute({ step: 1 })
    // a moment that no column decodes is text, here in ISO 8601
    expect(prepared).toEqual(built.map((row) => ({ ...row, at: row.at.replace(' ', 'T').replace('+00', 'Z') })))
    expect(prepared[2]).toEqual({ thing: { id: 3, name: 'thing 3' }, other: null, length: 7, at: expect.stringMatching(/^2020-01-01/) })
    await expect(statement('neighbours', build)(db, null).execute({})).rejects.toThrow('placeholder step')
  })

  it('announces every statement, transactions included', async () => {
    statements.length = 0
    await db.transaction((tx) => tx.select().from(things))
    expect(statements.map((each) => each.split(' ')[0])).toEqual(['begin', 'select', 'commit'])
  })

  it('refuses transactions and writes on the read pipeline', async () => {
    for (const text of ['begin', '  START TRANSACTION', 'set role unknown', 'rollback']) {
      expect(String(await failureOf(db.read.execute(sql.raw(text))))).toMatch(/read pipeline is shared/)
    }
    expect(await failureOf(db.read.execute(sql`delete from things`))).toMatchObject({ code: '25006' })
    expect('transaction' in db.read && db.read).toBeTruthy() // at run time it is there, its type is not
    expect(String(await failureOf((db.read as Database['write']).transaction(async () => undefined)))).toMatch(/read pipeline is shared/)
  })

  it('isolates a failing statement from its neighbours in the pipeline', async () => {
    const [bad, good] = await Promise.all([failureOf(db.read.execute(sql`select 1/0`)), db.read.execute(sql`select 2 as two`)])
    expect(bad).toMatchObject({ code: '22012' })
    expect(good.rows).toEqual([{ two: 2 }])
  })

  it('ends a statement that takes too long (SEC-144)', async () => {
    expect(await failureOf(db.read.execute(sql`select pg_sleep(5)`))).toBeInstanceOf(Unavailable)
    await db.ping()
  })

  it('refuses who waits too long for a connection (SEC-144)', async () => {
    let free: () => void = () => undefined
    const held = new Promise<void>((resolve) => {
      free = resolve
    })
    const holding = [1, 2, 3].map(() => db.transaction(() => held))
    expect(await failureOf(db.write.execute(sql`select 1`))).toBeInstanceOf(Unavailable)
    free()
    await Promise.all(holding)
    await db.write.execute(sql`select 1`)
  })

  it('repeats a transaction that Postgres found in conflict', async () => {
    let tries = 0
    // all three have read before one writes, so two of them must be in conflict
    let everyoneHasRead: () => void = () => undefined
    const allRead = new Promise<void>((resolve) => {
      everyoneHasRead = resolve
    })
    const rename = () =>
      db.transaction(
        async (tx) => {
          tries++
          const rows = await tx.select().from(things).where(sql`id = 1`)
          if (tries === 3) everyoneHasRead()
          await allRead
          await tx
            .update(things)
            .set({ name: `${rows[0]?.name}!` })
            .where(sql`id = 1`)
        },
        { isolationLevel: 'serializable' },
      )
    await Promise.all([rename(), rename(), rename()])
    expect(tries).toBeGreaterThan(3)
    expect(await db.read.select().from(things).where(sql`id = 1`)).toEqual([{ id: 1, name: 'thing 1!!!' }])
  })

  it('does not repeat what failed for its own reason, and rolls it back', async () => {
    let tries = 0
    const work = db.transaction(async (tx) => {
      tries++
      await tx.update(things).set({ name: 'lost' })
      await tx.insert(things).values({ id: 1, name: 'taken' })
    })
    expect(await failureOf(work)).toMatchObject({ code: '23505' })
    expect(tries).toBe(1)
    expect(await db.read.select().from(things).where(sql`id = 2`)).toEqual([{ id: 2, name: 'thing 2' }])
  })

  it('sends a batch as one transaction whose statements see each other', async () => {
    statements.length = 0
    const [before, [renamed], after] = await db.batch((on) => [
      find(on, null).execute({ id: 1 }),
      rename(on, null).execute({ id: 1, more: '!' }),
      find(on, null).execute({ id: 1 }),
    ])
    expect([before, renamed, after]).toEqual([[{ id: 1, name: 'thing 1' }], { id: 1, name: 'thing 1!' }, [{ id: 1, name: 'thing 1!' }]])
    expect(statements.map((each) => each.split(' ')[0])).toEqual(['begin', 'select', 'update', 'select', 'commit'])
  })

  it('sends a single statement as it is, and among others in a transaction', async () => {
    const single = () => db.single((on) => rename(on, null).execute({ id: 1, more: '' }))
    statements.length = 0
    expect(await single()).toEqual([{ id: 1, name: 'thing 1' }])
    expect(statements.map((each) => each.split(' ')[0])).toEqual(['update'])
    await Promise.all([single(), single()])
    expect(statements.map((each) => each.split(' ')[0])).toEqual(['update', 'update', 'begin;', 'update', 'commit', 'select'])
  })

  it('writes nothing of a batch with a failed statement, and gives the reason; other batches succeed', async () => {
    const batch = (id: number, taken: boolean) =>
      db.batch((on) => [rename(on, null).execute({ id, more: '?' }), ...(taken ? [insert(on, null).execute({ id: 1 })] : [])])
    const [good, bad, also] = await Promise.all([batch(1, false), failureOf(batch(2, true)), batch(3, false)])
    expect([good, bad, also]).toMatchObject([[[{ name: 'thing 1?' }]], { code: '23505' }, [[{ name: 'thing 3?' }]]])
    const names = (await db.read.select().from(things).orderBy(things.id)).map(({ name }) => name)
    expect(names).toEqual(['thing 1?', 'thing 2', 'thing 3?'])
  })

  it('repeats a batch whose statement was to be prepared by one before it that failed', async () => {
    const bad = failureOf(db.batch((on) => [insert(on, null).execute({ id: 1 }), rename(on, null).execute({ id: 2, more: '!' })]))
    const [[renamed]] = await db.batch((on) => [rename(on, null).execute({ id: 3, more: '!' })])
    expect(renamed).toEqual({ id: 3, name: 'thing 3!' })
    expect(await bad).toMatchObject({ code: '23505' })
  })

  it('writes nothing of a batch that could not be sent whole', async () => {
    const half = db.batch((on) => {
      rename(on, null)
        .execute({ id: 1, more: '?' })
        .catch(() => undefined)
      throw new Error('the second one was never made')
    })
    expect(String(await failureOf(half))).toMatch(/never made/)
    const [seen] = await db.batch((on) => [find(on, null).execute({ id: 1 })])
    expect(seen).toEqual([{ id: 1, name: 'thing 1' }])
  })

  it('loses no batch of many at once on one row', async () => {
    await Promise.all(
      Array.from({ length: 40 }, () => db.batch((on) => [find(on, null).execute({ id: 1 }), rename(on, null).execute({ id: 1, more: '+' })])),
    )
    expect(await db.read.select().from(things).where(sql`id = 1`)).toEqual([{ id: 1, name: `thing 1${'+'.repeat(40)}` }])
  })

  it('waits for the disk with a batch before it is answered, once for many', async () => {
    statements.length = 0
    await Promise.all(Array.from({ length: 20 }, () => db.batch((on) => [rename(on, null).execute({ id: 1, more: '' })])))
    const flushes = statements.filter((text) => text.includes('pg_logical_emit_message'))
    expect(flushes.length).toBeGreaterThan(0)
    expect(flushes.length).toBeLessThan(20)
    expect(statements.at(-1)).toContain('pg_logical_emit_message')
  })

  it('sends statements without names if configured', async () => {
    const plain = await openDatabase(test.url, { log, unnamedStatements: true, poolSize: 1 })
    const statement = plain.write.select().from(things).prepare('named')
    await statement.execute()
    const { rows } = await plain.write.execute(sql`select count(*)::int as named from pg_prepared_statements`)
    expect(rows).toEqual([{ named: 0 }])
    await plain.close()
  })
})

describe('a pooler', () => {
  it('that ignores startup parameters is noticed, unless statements are sent without names', async () => {
    const test = await createTestDatabase()
    const relay = await startRelay(socketOf(test.url), withoutStartupParameters)
    const url = relayed(test.url, relay.port)
    expect(await failureOf(openDatabase(url, { log }))).toBeInstanceOf(StartupParametersIgnored)
    const db = await openDatabase(url, { log, unnamedStatements: true })
    expect((await db.read.execute(sql`select 1 as one`)).rows).toEqual([{ one: 1 }])
    await db.close()
    await relay.cut()
    await test.drop()
  })
})

describe('the loss of the database', () => {
  let test: Awaited<ReturnType<typeof createTestDatabase>>
  let relay: Awaited<ReturnType<typeof startRelay>>
  beforeAll(async () => {
    test = await createTestDatabase()
    relay = await startRelay(socketOf(test.url))
  })
  afterAll(async () => {
    await relay.cut()
    await test.drop()
  })

  it('is Unavailable while it lasts and over with the return', async () => {
    const db = await openDatabase(relayed(test.url, relay.port), { log })
    await db.write.execute(sql`create table things (id int primary key, name text not null)`)
    await db.batch((on) => [rename(on, null).execute({ id: 1, more: '' })])
    const running = failureOf(db.write.execute(sql`select pg_sleep(3)`))
    const reading = failureOf(db.read.execute(sql`select pg_sleep(3)`))
    await relay.cut()
    expect(await running).toBeInstanceOf(Unavailable)
    expect(await reading).toBeInstanceOf(Unavailable)
    expect(await failureOf(db.read.execute(sql`select 1`))).toBeInstanceOf(Unavailable)
    expect(await failureOf(db.write.execute(sql`select 1`))).toBeInstanceOf(Unavailable)
    expect(await failureOf(db.transaction(async () => undefined))).toBeInstanceOf(Unavailable)
    expect(await failureOf(db.batch((on) => [insert(on, null).execute({ id: 9 })]))).toBeInstanceOf(Unavailable)
    expect(await failureOf(db.ping())).toBeInstanceOf(Unavailable)

    await relay.listen()
    await db.ping()
    await db.transaction((tx) => tx.insert(things).values({ id: 1, name: 'once' }))

    // A connection that dies idle is replaced without anybody seeing it.
    await db.write.execute(sql`select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid() and datname = current_database()`)
    await new Promise((resolve) => setTimeout(resolve, 100))
    await db.batch((on) => [insert(on, null).execute({ id: 2 })])
    expect((await db.read.execute(sql`select count(*)::int as rows from things`)).rows).toEqual([{ rows: 2 }])
    await db.close()
  })

  it('is over when a database that had stopped answers again: no connection is missing, and all are closed (SEC-234)', async () => {
    const db = await openDatabase(relayed(test.url, relay.port), { log, poolSize: 3, readTimeout: 100, writeTimeout: 100, waitTimeout: 500 })
    const statement = sql`select 1`
    const all = () =>
      Promise.allSettled([
        db.read.execute(statement),
        db.readRows('one', 'select 1', [], 'once'),
        db.write.execute(statement),
        db.transaction((tx) => tx.execute(statement)),
        db.batch((on) => [on.client.query('select 1')]),
        db.queueBatch((on) => [on.client.query('select 1')], { durable: true }),
      ])
    await all()
    relay.freeze(true)
    for (const { status } of await all()) expect(status).toBe('rejected')
    relay.freeze(false)
    await expect.poll(async () => (await all()).every(({ status }) => status === 'fulfilled'), { timeout: 20_000 }).toBe(true)
    expect(db.poolStats()).toMatchObject({ busy: 0, waiting: 0 })
    await db.close()
  })

  it('does not take the time in which this process is busy for a database that does not answer (SEC-317)', async () => {
    const opening = openDatabase(test.url, { log, poolSize: 1 })
    const busyUntil = performance.now() + 2_500
    setImmediate(() => {
      while (performance.now() < busyUntil);
    })
    const db = await opening
    await db.close()
  })

  it('refuses to open a database that is not there', async () => {
    expect(await failureOf(openDatabase('postgresql://roost@127.0.0.1:1/none', { log }))).toBeInstanceOf(Unavailable)
  })
})

/** A startup message with user and database alone. */
function withoutStartupParameters(startup: Buffer): Buffer {
  const words = startup.subarray(8, -2).toString().split('\0')
  const kept = words.filter((_, i) => ['user', 'database'].includes(words[i - (i % 2)] as string))
  const body = Buffer.from(`${kept.join('\0')}\0\0`)
  const head = Buffer.alloc(8)
  head.writeInt32BE(8 + body.length)
  startup.copy(head, 4, 4, 8)
  return Buffer.concat([head, body])
}
