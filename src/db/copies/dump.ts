import { createReadStream, createWriteStream } from 'node:fs'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { from as copyFrom, to as copyTo } from 'pg-copy-streams'
import { StartFault } from '../../lib/start-fault.js'
import { lastApplied, migrate } from '../migrate.js'
import { connectOnce } from '../servers.js'

/** The contents of a database dump. */
export interface DatabaseDump {
  /** Version of the schema: the timestamp of the newest migration. */
  schema: number
  tables: { name: string; columns: string[]; rows: number }[]
  /** The last value of each sequence. */
  sequences: { name: string; last: string }[]
}

const connect = (url: string) => connectOnce(url, 'roost copy')

/** Runs a query and returns its rows. */
export type Select = <Row>(text: string) => Promise<Row[]>

/**
 * Dumps a snapshot of all tables into files of a folder. `whileFrozen` runs at the moment of the snapshot, while no ref
 * update can begin or be recorded as done, so that refs read in it match the rows as after a kill (SEC-158, SEC-163).
 */
export async function dumpTables(url: string, folder: string, whileFrozen: (select: Select) => Promise<void>): Promise<DatabaseDump> {
  const gate = await connect(url)
  const reader = await connect(url)
  const select: Select = async <Row>(text: string) => (await reader.query(text)).rows as Row[]
  try {
    await gate.query('begin')
    await gate.query('lock table ref_intents in share mode')
    await reader.query('begin isolation level repeatable read read only')
    const tables = await select<{ name: string; columns: string[] }>(SELECT_TABLES)
    await whileFrozen(select)
    await gate.query('rollback')
    const tableDumps: (() => DatabaseDump['tables'][number])[] = []
    for (const { name, columns } of tables) {
      const rows = reader.query(copyTo(`copy ${name} (${columns.join(', ')}) to stdout`))
      await pipeline(rows, createWriteStream(join(folder, dumpFileName(name)), { flags: 'wx', mode: 0o600, flush: true }))
      tableDumps.push(() => ({ name, columns, rows: rows.rowCount }))
    }
    const sequences = await select<{ name: string; last: string }>(SELECT_SEQUENCES)
    // the row count arrives after the last byte; the query for sequences, answered later, guarantees that it is here
    return { schema: await lastApplied(reader), tables: tableDumps.map((dump) => dump()), sequences }
  } finally {
    await Promise.all([gate.end(), reader.end()])
  }
}

/**
 * Loads a dump into an empty database in one transaction, except the projects in `excludedProjects`. A database without
 * a schema is migrated to that of the dump, which may be older than this program; the caller migrates it further.
 */
export async function loadTables(
  url: string,
  folder: string,
  { schema, tables, sequences }: DatabaseDump,
  excludedProjects: number[],
): Promise<void> {
  await migrate(url, { until: schema })
  const client = await connect(url)
  try {
    const currentSchema = await lastApplied(client)
    if (currentSchema > schema) throw new StartFault('the database is not empty: its schema is newer than that of the backup')
    if (currentSchema < schema)
      throw new StartFault('the backup was made by a newer version of Roost, or by one before 0.2.0; this one cannot restore it')
    await client.query('begin')
    const { rows: users } = await client.query('select 1 from users limit 1')
    if (users.length > 0) throw new StartFault('the database is not empty')
    // Foreign keys form cycles: they are dropped for the import, and adding them again checks all rows.
    const { rows: foreignKeys } = await client.query<{ table: string; name: string; definition: string }>(SELECT_FOREIGN_KEYS)
    for (const { table, name } of foreignKeys) await client.query(`alter table ${table} drop constraint ${name}`)
    // the triggers would change list versions, which are loaded with the other rows
    for (const { name } of tables) await client.query(`alter table ${name} disable trigger user`)
    for (const { name, columns, rows } of tables) {
      await client.query(`delete from ${name}`)
      const copy = client.query(copyFrom(`copy ${name} (${columns.join(', ')}) from stdin`))
      await pipeline(createReadStream(join(folder, dumpFileName(name))), copy)
      if (copy.rowCount !== rows) throw new StartFault(`${name} has ${copy.rowCount} rows in the backup instead of ${rows}`)
    }
    for (const { name } of tables) await client.query(`alter table ${name} enable trigger user`)
    for (const { table, name, definition } of foreignKeys) await client.query(`alter table ${table} add constraint ${name} ${definition}`)
    await client.query('delete from projects where id = any($1::bigint[])', [excludedProjects])
    for (const { name, last } of sequences) await client.query('select setval($1::regclass, $2::bigint)', [name, last])
    await client.query('commit')
    await client.query('analyze')
  } finally {
    await client.end()
  }
}

/** The file name of a table in the folder of a dump. */
export const dumpFileName = (table: string) => `${table.replace(/"/g, '')}.copy`

const SELECT_TABLES = `select format('%I', c.relname) as name, array_agg(format('%I', a.attname) order by a.attnum) as columns
  from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
  where c.relnamespace = 'public'::regnamespace and c.relkind = 'r' and c.relpersistence = 'p' group by c.relname order by c.relname`
const SELECT_SEQUENCES = `select format('%I', sequencename) as name, last_value::text as last from pg_sequences
  where schemaname = 'public' and last_value is not null order by 1`
const SELECT_FOREIGN_KEYS = `select conrelid::regclass::text as table, format('%I', conname) as name, pg_get_constraintdef(oid) as definition
  from pg_constraint where contype = 'f' and connamespace = 'public'::regnamespace order by conname`
