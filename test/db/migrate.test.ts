import { readFileSync } from 'node:fs'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { migrate } from '../../src/db/migrate.js'
import { StartFault } from '../../src/lib/start-fault.js'
import { createTestDatabase } from '../support/template-database.js'

/** After every migration of the program itself, whose rows the template already has. */
const LATER = Date.UTC(2200, 0)
const OWN = JSON.parse(readFileSync('migrations/meta/_journal.json', 'utf8')).entries[0].when as number

describe('migrate', () => {
  let test: Awaited<ReturnType<typeof createTestDatabase>>
  let folder: string

  beforeEach(async () => {
    test = await createTestDatabase()
    folder = await mkdtemp(join(tmpdir(), 'migrations-'))
  })
  afterEach(async () => {
    await test.drop()
    await rm(folder, { recursive: true, force: true })
  })

  /** Migrations that follow the program's own, which is `first`. */
  async function write(later: string[], first = 'select 1') {
    await mkdir(join(folder, 'meta'), { recursive: true })
    const migrations = [first, ...later]
    const entries = migrations.map((_, idx) => ({ idx, version: '7', when: idx === 0 ? OWN : LATER + idx, tag: `000${idx}`, breakpoints: true }))
    await writeFile(join(folder, 'meta/_journal.json'), JSON.stringify({ version: '7', dialect: 'postgresql', entries }))
    for (const [idx, text] of migrations.entries()) await writeFile(join(folder, `000${idx}.sql`), text)
  }
  async function ask(text: string) {
    const client = new pg.Client(test.url)
    await client.connect()
    try {
      return (await client.query(text)).rows
    } finally {
      await client.end()
    }
  }

  it('applies each migration once when three processes start at the same time', async () => {
    await write(['create table first_one (id int)', 'insert into first_one values (1)'])
    await Promise.all([migrate(test.url, { folder }), migrate(test.url, { folder }), migrate(test.url, { folder })])
    await migrate(test.url, { folder })
    expect(await ask('select * from first_one')).toEqual([{ id: 1 }])
  })

  it('keeps no lock of a session, which a pooler would leave to the next client, and gives up waiting for another process', async () => {
    await write(['create table first_one (id int)'])
    const other = new pg.Client(test.url)
    await other.connect()
    await other.query('begin')
    await other.query('select pg_advisory_xact_lock(7166578)')
    const notices: string[] = []
    await expect(migrate(test.url, { folder, lockTimeout: 300, onWait: () => notices.push('waits') })).rejects.toThrow(
      new StartFault('another process has been migrating the database for 0 seconds'),
    )
    expect(notices).toEqual(['waits'])
    await other.query('rollback')
    await migrate(test.url, { folder })
    expect(
      await ask(
        "select count(*)::int as held from pg_locks where locktype = 'advisory' and database = (select oid from pg_database where datname = current_database())",
      ),
    ).toEqual([{ held: 0 }])
    await other.end()
  })

  it('creates nothing in a database that no service has used, unless `create` is set', async () => {
    await ask('drop schema public cascade; create schema public; drop schema drizzle cascade')
    await write(['create table first_one (id int)'])
    await expect(migrate(test.url, { folder, create: false })).rejects.toThrow(/holds no Roost instance/)
    expect(await ask("select to_regclass('first_one') as name")).toEqual([{ name: null }])
  })

  it('says in one line that the user of the database lacks rights', async () => {
    await write(['create table first_one (id int)'])
    const name = new URL(test.url).pathname.slice(1)
    await ask(`drop role if exists limited_${name}`)
    await ask(`create role limited_${name} login password 'secret'`)
    const limited = new URL(test.url)
    limited.username = `limited_${name}`
    limited.password = 'secret'
    await expect(migrate(limited.href, { folder })).rejects.toThrow(
      /^the database user lacks rights: permission denied [^\n]+: it must own the database$/,
    )
    await ask(`drop role limited_${name}`)
  })

  it('leaves nothing of a batch that fails', async () => {
    await write(['create table first_one (id int)', 'select nonsense'])
    await expect(migrate(test.url, { folder })).rejects.toThrow()
    expect(await ask("select to_regclass('first_one') as name")).toEqual([{ name: null }])
  })

  it('refuses a database newer than the program (SEC-161)', async () => {
    await write(['create table first_one (id int)', 'create table second_one (id int)'])
    await migrate(test.url, { folder })
    await write(['create table first_one (id int)'])
    await expect(migrate(test.url, { folder })).rejects.toThrow(
      new StartFault('the database was made by a newer version of Roost; this one cannot use it'),
    )
  })

  it('waits for services of an older version, and for no other ones; those that stay are refused with one line (SEC-320)', async () => {
    const join = (id: string, seconds: number) => ask(`insert into processes (id, alive_until) values ('${id}', now() + interval '${seconds} s')`)
    const made = async () => (await ask("select to_regclass('first_one') is not null as made"))[0].made
    await write(['create table first_one (id int)'])
    await join('killed', -1)
    await join('running', 3_600)
    await expect(migrate(test.url, { folder, lockTimeout: 300 })).rejects.toThrow(
      new StartFault('services of an older version use the database: stop all of them, then start this one'),
    )
    expect(await made()).toBe(false)
    const reasons: string[] = []
    let ended: Promise<unknown> | undefined
    const onWait = (reason: string) => {
      reasons.push(reason)
      ended = ask("delete from processes where id = 'running'")
    }
    await migrate(test.url, { folder, lockTimeout: 3_000, onWait })
    await ended
    expect([await made(), reasons]).toEqual([true, ['services of an older version to stop']])
    // another process of the same version
    await join('running', 3_600)
    await migrate(test.url, { folder, lockTimeout: 300 })
  })

  it('does not wait where no other service can use the database (SEC-320)', async () => {
    await write(['create table first_one (id int)'])
    await ask("insert into processes (id, alive_until) values ('killed', now() + interval '10 s')")
    await migrate(test.url, { folder, lockTimeout: 300, alone: true })
  })

  it('refuses a database made before the first migration of the program', async () => {
    await ask('update drizzle.__drizzle_migrations set created_at = 1')
    await write([], 'create table first_one (id int)')
    await expect(migrate(test.url, { folder })).rejects.toThrow(/^the database was made before the first release of Roost/)
    expect(await ask("select to_regclass('first_one') as name")).toEqual([{ name: null }])
  })

  it('says in one line that nothing answers', async () => {
    await expect(migrate('postgresql://roost@127.0.0.1:1/none', { folder })).rejects.toThrow(/^cannot reach the database: [^\n]+$/)
  })
})
