import type { Socket } from 'node:net'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { PreparedReads } from '../../src/db/prepared-reads.js'
import { createTestDatabase } from '../support/template-database.js'

const VALUES = `select $1::int as number, $2::text as "a column with a rather long name", true as yes, null::text as nothing,
  '2026-01-02 03:04:05.678+00'::timestamptz as moment, array[1, 2] as list, '{"a": [1]}'::json as json`
const ROW = [1, 'x', true, null, '2026-01-02T03:04:05.678Z', [1, 2], { a: [1] }]

describe('PreparedReads', () => {
  let test: Awaited<ReturnType<typeof createTestDatabase>>
  let client: pg.Client
  let reads: PreparedReads

  beforeAll(async () => {
    test = await createTestDatabase()
    client = new pg.Client({ connectionString: test.url, pipeline: true })
    await client.connect()
    reads = new PreparedReads(client.connection, (query) => client.query(query))
  })
  afterAll(async () => {
    await client.end()
    await test.drop()
  })

  const bytesFor = async (work: () => Promise<unknown>) => {
    const socket = client.connection.stream as Socket
    const before = socket.bytesRead
    await work()
    return socket.bytesRead - before
  }

  it('reads values alike with and without a description, which Postgres gives once', async () => {
    const read = async () => expect(await reads.rows('values', VALUES, [1, 'x'])).toEqual([ROW])
    const first = await bytesFor(read)
    const second = await bytesFor(read)
    expect(first - second).toBeGreaterThan(100)
    expect(await bytesFor(read)).toBe(second)
  })

  it('reads alike when several are sent before the first is described, and without a name', async () => {
    const found = await Promise.all([1, 2, 3].map((n) => reads.rows('several', VALUES, [n, 'x'])))
    expect(found).toEqual([1, 2, 3].map((n) => [[n, ...ROW.slice(1)]]))
    for (let i = 0; i < 2; i++) expect(await reads.rows(undefined, 'select $1::int, 2::bigint', [1])).toEqual([[1, '2']])
  })

  it('a read that fails leaves the others as they are, and works again', async () => {
    const quotient = (by: number) => reads.rows('quotient', 'select 6 / $1::int', [by])
    const settled = await Promise.allSettled([quotient(2), quotient(0), quotient(3)])
    expect(settled.map((each) => (each.status === 'fulfilled' ? each.value : each.reason.code))).toEqual([[[3]], '22012', [[2]]])
    expect(await quotient(6)).toEqual([[1]])
  })

  it('a statement whose columns have changed fails, as Postgres says', async () => {
    await client.query('create table changing (a int); insert into changing values (1)')
    const read = () => reads.rows('changing', 'select * from changing', [])
    expect(await read()).toEqual([[1]])
    await client.query('alter table changing add b text')
    await expect(read()).rejects.toMatchObject({ code: '0A000' })
  })
})
