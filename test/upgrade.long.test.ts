// @module-tag long
import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest'
import { call, type Service, startService } from '../bench/kill.mjs'
import { build } from '../scripts/build.mjs'
import { migrate, newestMigration } from '../src/db/migrate.js'
import { isRunning } from '../src/lib/is-running.js'
import { createTestDatabase } from './support/template-database.js'

const LATER = Date.UTC(2200, 0)
const folder = mkdtempSync(join(tmpdir(), 'upgrade-'))
chmodSync(folder, 0o711)
/** The migrations of a newer version: one more. */
const newer = join(folder, 'migrations')
let database: Awaited<ReturnType<typeof createTestDatabase>>
let services: Service[]

beforeAll(async () => {
  await build()
  const { entries } = JSON.parse(readFileSync('migrations/meta/_journal.json', 'utf8'))
  const present = [
    { ...entries.at(-1), tag: 'present' },
    { ...entries.at(-1), when: LATER, tag: 'next' },
  ]
  await mkdir(join(newer, 'meta'), { recursive: true })
  await writeFile(
    join(newer, 'meta/_journal.json'),
    JSON.stringify({ version: '7', dialect: 'postgresql', entries: [{ ...present[0], when: entries[0].when }, ...present] }),
  )
  for (const tag of ['present', 'next'])
    await writeFile(join(newer, `${tag}.sql`), tag === 'next' ? 'create table next_version (id int)' : 'select 1')
})
beforeEach(async () => {
  database = await createTestDatabase()
  services = []
})
afterEach(async () => {
  for (const service of services) await service.end()
  await database.drop()
})
afterAll(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }))

const start = async (workers: number) => {
  const environment = {
    DATABASE_URL: database.url,
    ROOST_SECRET_KEY: 'upgrade-secret-key-0123456789-0123456789',
    ROOST_WORKERS: String(workers),
    LOG_LEVEL: 'info',
  }
  const service = await startService(join(folder, 'data'), environment)
  services.push(service)
  return service
}

async function ask(text: string): Promise<pg.QueryResult> {
  const client = new pg.Client(database.url)
  await client.connect()
  return client.query(text).finally(() => client.end())
}

it.each([1, 2])('a newer version migrates when all services of the older one have ended, with %i workers (SEC-320)', async (workers) => {
  const [first, second] = [await start(workers), await start(workers)] as const
  let isMigrated = false
  let hasWaited = () => {}
  const waiting = new Promise<void>((resolve) => {
    hasWaited = resolve
  })
  const migrating = migrate(database.url, { folder: newer, onWait: hasWaited }).then(() => {
    isMigrated = true
  })
  await waiting
  expect(await first.end('SIGTERM')).toBe(0)
  expect((await call(second.url, 'POST', '/projects', { path: 'one' }))?.status).toBe(201)
  expect(isMigrated).toBe(false)
  expect(await second.end('SIGTERM')).toBe(0)
  await migrating
  await expect(start(workers)).rejects.toThrow('the database was made by a newer version of Roost; this one cannot use it')
})

it.each([1, 2])('a service that the schema has passed ends in order, with %i workers (SEC-320)', async (workers) => {
  const service = await start(workers)
  await ask(`insert into drizzle.__drizzle_migrations (hash, created_at) values ('next', ${newestMigration() + 1})`)
  await expect.poll(() => isRunning(service.pid), { timeout: 60_000 }).toBe(false)
  expect(await service.end('SIGTERM')).toBe(0)
  expect(service.log()).toContain('the database was migrated by a newer version of Roost')
  expect((await ask('select count(*)::int as left from processes')).rows).toEqual([{ left: 0 }])
})
