// @module-tag long
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'drizzle-orm'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Answer, call, startService } from '../../bench/kill.mjs'
import { build } from '../../scripts/build.mjs'
import { type Database, openDatabase } from '../../src/db/client.js'
import { databaseUrlFault, parseServers } from '../../src/db/server-urls.js'
import { isUnavailable } from '../../src/lib/unavailable.js'
import { type PostgresPair, startPostgresPair } from '../support/servers/postgres-pair.js'

const quiet = { info: () => undefined, warn: () => undefined }

describe('a URL with several hosts', () => {
  it('names each of them, with the port, the user and the options of all', () => {
    expect(parseServers('postgresql://u:p@a:1,b/name?application_name=x')).toEqual({
      urls: ['postgresql://u:p@a:1/name?application_name=x', 'postgresql://u:p@b/name?application_name=x'],
      writable: true,
    })
    expect(parseServers('postgres://a/name')).toEqual({ urls: ['postgres://a/name'], writable: false })
    expect(parseServers('postgres://a/name?target_session_attrs=primary')).toEqual({ urls: ['postgres://a/name'], writable: true })
    expect(parseServers('postgres://a,b/name?target_session_attrs=any').writable).toBe(false)
    expect(parseServers('postgresql://[::1]:5,[::2]/name').urls).toEqual(['postgresql://[::1]:5/name', 'postgresql://[::2]/name'])
  })

  it('is refused with the reason where it cannot be used', () => {
    expect(databaseUrlFault('http://a/name')).toBe('is not a postgres URL')
    expect(databaseUrlFault('postgres://a:b,c/name')).toBe('is not a postgres URL')
    expect(databaseUrlFault('postgres://a,,b/name')).toBe('has an empty host')
    expect(databaseUrlFault(`postgres://${'a,'.repeat(16)}a/name`)).toBe('names more than 16 hosts')
    expect(databaseUrlFault('postgres://a,b/name?target_session_attrs=standby')).toMatch(/^has target_session_attrs=standby/)
  })
})

describe('a fail-over to a streaming replica', () => {
  let pair: PostgresPair
  beforeAll(async () => {
    await build()
    pair = await startPostgresPair()
  }, 120_000)
  afterAll(() => pair.close())

  it('a commit that is on the primary only, because its wait for the replica was ended, counts as failed', async () => {
    const db = await openDatabase(pair.url, { log: quiet, poolSize: 2 })
    const replicated = async (by: string) => {
      await pair.primary.query(`alter system set synchronous_standby_names = '${by}'`)
      await pair.primary.query('select pg_reload_conf()')
    }
    try {
      await db.write.execute(sql`create table half (n int)`)
      await replicated('unknown')
      const insert = () =>
        db.write.execute(sql`insert into half values (1)`).then(
          () => 'written',
          (error: unknown) => (isUnavailable(error) ? 'unavailable' : String(error)),
        )
      const ended = () =>
        pair.primary.query(`select pg_cancel_backend(pid) from pg_stat_activity where wait_event = 'SyncRep' and query like 'insert%'`)
      let outcome: string | undefined
      let late: Promise<void> | undefined
      const endedWhileWaiting = async () => {
        late ??= insert().then((result) => {
          outcome = result
          // Processes of Postgres read the new setting one after the other: the replica may still have answered for it.
          if (result === 'written') late = undefined
        })
        return (await ended()).length
      }
      await expect.poll(endedWhileWaiting, { timeout: 30_000 }).toBe(1)
      await late
      expect(outcome).toBe('unavailable')
    } finally {
      await replicated('standby')
      await db.close()
    }
  })

  it('needs no restart, loses no acknowledged write, and is 503 meanwhile (SEC-189)', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'failover-'))
    chmodSync(folder, 0o711)
    const service = await startService(join(folder, 'data'), { DATABASE_URL: pair.url, LOG_LEVEL: 'fatal' })
    let direct: Database | undefined
    try {
      direct = await openDatabase(pair.url, { log: quiet, poolSize: 2 })
      const made = (await call(service.url, 'POST', '/projects', { name: 'p', initialize_with_readme: true })) as Answer
      expect(made.status).toBe(201)
      const { id } = made.body as { id: number }
      await direct.write.execute(sql`create table written (n int primary key)`)
      let over = false
      const titles: string[] = []
      const rows: number[] = []
      const faults: unknown[] = []
      const statuses = new Set<number | undefined>()
      const byApi = async (writer: number) => {
        for (let n = 0; !over; n++) {
          const title = `issue ${writer} ${n}`
          const answer = await call(service.url, 'POST', `/projects/${id}/issues`, { title })
          statuses.add(answer?.status)
          if (answer?.status === 201) titles.push(title)
        }
      }
      const { write, batch } = direct
      const insert = async (n: number) => {
        if (n % 2 === 0) await write.execute(sql`insert into written values (${n})`)
        else await batch(({ client }) => [client.query('insert into written values ($1)', [n])])
        rows.push(n)
      }
      const byConnection = async () => {
        for (let n = 0; !over; n++)
          await insert(n).catch((error: unknown) => {
            if (!isUnavailable(error)) faults.push(error)
          })
      }
      const load = Promise.all([byApi(1), byApi(2), byConnection()])
      await expect.poll(() => titles.length, { timeout: 20_000 }).toBeGreaterThan(20)

      await pair.primary.kill()
      await expect.poll(() => statuses.has(503), { timeout: 20_000 }).toBe(true)
      await pair.standby.query(`select pg_promote()`)
      const [before, rowsBefore] = [titles.length, rows.length]
      await expect.poll(() => titles.length > before + 20 && rows.length > rowsBefore + 20, { timeout: 30_000 }).toBe(true)
      over = true
      await load

      expect([...statuses].sort()).toEqual([201, 503])
      expect(faults).toEqual([])
      const kept = new Set((await pair.standby.query<{ title: string }>('select title from issues')).map(({ title }) => title))
      expect(titles.filter((title) => !kept.has(title))).toEqual([])
      const keptRows = new Set((await pair.standby.query<{ n: number }>('select n from written')).map(({ n }) => n))
      expect(rows.filter((n) => !keptRows.has(n))).toEqual([])
      const pushed = await call(service.url, 'POST', `/projects/${id}/repository/branches`, { branch: 'b', ref: 'main' })
      expect(pushed).toMatchObject({ status: 201 })
    } finally {
      await direct?.close()
      await service.end()
      rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
    }
  })

  it('a server that becomes read-only answers writes as unavailable, and is used again when it takes writes', async () => {
    const db = await openDatabase(pair.url, { log: quiet, poolSize: 2 })
    try {
      const writes = () => db.write.execute(sql`insert into written values (-1) on conflict do nothing`)
      await writes()
      await pair.standby.query('alter system set default_transaction_read_only = on')
      await pair.standby.query('select pg_reload_conf()')
      const fault = () =>
        writes().then(
          () => '',
          (error: unknown) => (isUnavailable(error) ? 'unavailable' : String(error)),
        )
      await expect.poll(fault, { timeout: 10_000 }).toBe('unavailable')
      await expect
        .poll(
          () =>
            db.ping().then(
              () => 'fine',
              (error: Error) => error.name,
            ),
          { timeout: 10_000 },
        )
        .toBe('Unavailable')
      await pair.standby.query('alter system reset default_transaction_read_only')
      await pair.standby.query('select pg_reload_conf()')
      await expect.poll(fault, { timeout: 10_000 }).toBe('')
      await db.ping()
    } finally {
      await db.close()
    }
  })
})
