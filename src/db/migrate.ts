import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { readMigrationFiles } from 'drizzle-orm/migrator'
import { drizzle } from 'drizzle-orm/node-postgres'
import { migrate as runMigrations } from 'drizzle-orm/node-postgres/migrator'
import pg from 'pg'
import { StartFault } from '../lib/start-fault.js'

/** Any number, the same in every process of the service. */
const LOCK = 7_166_578
const OLDEST_POSTGRES = 140_000

/** Where the migrations lie: beside `dist` for the built program, beside `src` for the tests. */
function migrationsFolder(): string {
  const candidates = ['../migrations', '../../migrations'].map((path) => fileURLToPath(new URL(path, import.meta.url)))
  return candidates.find((path) => existsSync(`${path}/meta/_journal.json`)) ?? (candidates[0] as string)
}

/** Brings the schema up to date, one process at a time; a schema newer than this program is a StartFault and nothing is touched (SEC-161). */
export async function migrate(url: string, folder = migrationsFolder()): Promise<void> {
  const migrations = existsSync(`${folder}/meta/_journal.json`) ? readMigrationFiles({ migrationsFolder: folder }) : []
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5_000, application_name: 'roost migrate' })
  client.on('error', () => undefined)
  try {
    await client.connect().catch((error: Error) => {
      throw new StartFault(`cannot reach the database: ${error.message || 'no answer'}`)
    })
    const { rows: versions } = await client.query(
      "select current_setting('server_version_num')::int as number, current_setting('server_version') as name",
    )
    if (versions[0].number < OLDEST_POSTGRES) throw new StartFault(`Postgres 14 or newer is needed, the database is ${versions[0].name}`)
    // A session lock ends with the connection, so a process killed here holds nobody up.
    await client.query('select pg_advisory_lock($1)', [LOCK])
    const applied = await lastApplied(client)
    const known = migrations.at(-1)?.folderMillis ?? 0
    if (applied > known) throw new StartFault('the database was made by a newer version of Roost; this one cannot use it')
    if (applied < known) await runMigrations(drizzle({ client }), { migrationsFolder: folder })
  } finally {
    await client.end().catch(() => undefined)
  }
}

/** When the newest migration that was run was made; 0: none was. */
export async function lastApplied(client: pg.Client): Promise<number> {
  const { rows: tables } = await client.query("select to_regclass('drizzle.__drizzle_migrations') as name")
  if (tables[0].name === null) return 0
  const { rows } = await client.query('select coalesce(max(created_at), 0)::text as last from drizzle.__drizzle_migrations')
  return Number(rows[0].last)
}
