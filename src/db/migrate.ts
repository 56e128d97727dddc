import { existsSync, readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { type MigrationMeta, readMigrationFiles } from 'drizzle-orm/migrator'
import type pg from 'pg'
import { StartFault } from '../lib/start-fault.js'
import { migrationsFolder } from './migrations-folder.js'
import { connectOnce } from './servers.js'

/** Key of the advisory lock; any number that all processes agree on. */
const LOCK_KEY = 7_166_578
const MIN_POSTGRES = 140_000
/** Milliseconds to wait for another process before `onWait` is called, and before migrating fails. */
const WAIT_NOTICE_MS = 2_000
const LOCK_TIMEOUT_MS = 60_000
/** How often it is checked whether services of an older version still run, in milliseconds. */
const OLDER_INTERVAL_MS = 250

export interface MigrateOptions {
  folder?: string
  /** Whether an unmigrated database may be migrated; if not, it is a StartFault. */
  create?: boolean
  /** Called when another process holds the lock, or services of an older version still run. */
  onWait?: (reason: string) => void
  /** Milliseconds to wait for the lock, and for services of an older version. */
  lockTimeout?: number
  /** No other service can use the database. */
  alone?: boolean
  /** Timestamp of the last migration to apply; all of them if it is left out. */
  until?: number
}

/** Timestamp of the newest migration that this program has. */
export function newestMigration(folder = migrationsFolder()): number {
  const { entries } = JSON.parse(readFileSync(`${folder}/meta/_journal.json`, 'utf8')) as { entries: { when: number }[] }
  return entries.at(-1)?.when ?? 0
}

/**
 * Migrates the schema, one process at a time, and not under services of an older version: it waits until they have
 * ended. A schema newer than this program is a StartFault and stays unchanged (SEC-161, SEC-320).
 */
export async function migrate(
  url: string,
  {
    folder = migrationsFolder(),
    create = true,
    onWait,
    lockTimeout = LOCK_TIMEOUT_MS,
    alone = false,
    until = Number.POSITIVE_INFINITY,
  }: MigrateOptions = {},
): Promise<void> {
  const migrations = existsSync(`${folder}/meta/_journal.json`) ? readMigrationFiles({ migrationsFolder: folder }) : []
  const client = await connectOnce(url, 'roost migrate')
  try {
    const { rows: versions } = await client.query(
      "select current_setting('server_version_num')::int as number, current_setting('server_version') as name",
    )
    if (versions[0].number < MIN_POSTGRES) throw new StartFault(`Postgres 14 or newer is needed, the database is ${versions[0].name}`)
    // one transaction, and a lock that ends with it: a pooler may give each transaction another connection
    await client.query('begin')
    await acquireLock(client, lockTimeout, onWait)
    const applied = await lastApplied(client)
    const known = migrations.at(-1)?.folderMillis ?? 0
    if (applied === 0 && !create) throw new StartFault('the database holds no Roost instance: has the service been started with it?')
    if (applied > 0 && applied < (migrations[0]?.folderMillis ?? 0))
      throw new StartFault('the database was made before the first release of Roost; this version cannot use it')
    if (applied > known) throw new StartFault('the database was made by a newer version of Roost; this one cannot use it')
    if (applied < known) {
      if (applied > 0 && !alone) await untilOlderServicesEnd(client, lockTimeout, onWait)
      await applyMigrations(
        client,
        migrations.filter(({ folderMillis }) => folderMillis > applied && folderMillis <= until),
      )
    }
    await client.query('commit')
  } catch (error) {
    if ((error as { code?: string }).code !== '42501') throw error
    throw new StartFault(`the database user lacks rights: ${(error as Error).message}: it must own the database`)
  } finally {
    await client.end().catch(() => undefined)
  }
}

async function acquireLock(client: pg.Client, lockTimeout: number, onWait: MigrateOptions['onWait']): Promise<void> {
  const waiting = setTimeout(() => onWait?.('another process that migrates the database'), Math.min(WAIT_NOTICE_MS, lockTimeout / 2))
  try {
    await client.query("select set_config('lock_timeout', $1, true)", [`${lockTimeout}ms`])
    await client.query('select pg_advisory_xact_lock($1)', [LOCK_KEY])
    await client.query("set local lock_timeout = '0'")
  } catch (error) {
    if ((error as { code?: string }).code !== '55P03') throw error
    throw new StartFault(`another process has been migrating the database for ${Math.round(lockTimeout / 1000)} seconds`)
  } finally {
    clearTimeout(waiting)
  }
}

/**
 * Waits for the services that have used the database with its present schema; those that start meanwhile wait for the
 * lock. Throws a StartFault if they do not end in time.
 */
async function untilOlderServicesEnd(client: pg.Client, timeout: number, onWait: MigrateOptions['onWait']): Promise<void> {
  const started = performance.now()
  for (let reported = false; ; await sleep(OLDER_INTERVAL_MS)) {
    const { rows } = await client.query('select count(*)::int as running from public.processes where alive_until > clock_timestamp()')
    const { running } = rows[0]
    if (running === 0) return
    const waited = performance.now() - started
    if (waited > timeout) throw new StartFault('services of an older version use the database: stop all of them, then start this one')
    if (!reported && waited > Math.min(WAIT_NOTICE_MS, timeout / 2)) onWait?.('services of an older version to stop')
    reported ||= waited > Math.min(WAIT_NOTICE_MS, timeout / 2)
  }
}

/** Runs migrations and records each in the table that drizzle-kit uses. */
async function applyMigrations(client: pg.Client, migrations: MigrationMeta[]): Promise<void> {
  await client.query('create schema if not exists drizzle')
  await client.query('create table if not exists drizzle.__drizzle_migrations (id serial primary key, hash text not null, created_at bigint)')
  for (const { sql, hash, folderMillis } of migrations) {
    for (const statement of sql) await client.query(statement)
    await client.query('insert into drizzle.__drizzle_migrations (hash, created_at) values ($1, $2)', [hash, folderMillis])
  }
}

/** Timestamp of the newest applied migration; 0 if there is none. */
export async function lastApplied(client: pg.Client): Promise<number> {
  const { rows: tables } = await client.query("select to_regclass('drizzle.__drizzle_migrations') as name")
  if (tables[0].name === null) return 0
  const { rows } = await client.query('select coalesce(max(created_at), 0)::text as last from drizzle.__drizzle_migrations')
  return Number(rows[0].last)
}
