import { sql } from 'drizzle-orm'
import pg from 'pg'
import type { Database, Transaction } from './client.js'

/** Tables in which each process records its own state; snapshots leave them as they are. */
const PROCESS_TABLES = ['processes', 'job_schedules']
/**
 * A restored table is vacuumed if it is larger than this many bytes and has grown by this factor, because restoring
 * leaves dead rows behind.
 */
const VACUUM_MIN_BYTES = 4 * 1024 ** 2
const VACUUM_GROWTH = 4

interface Table {
  name: string
  /** Writable columns. */
  columns: string[]
  /** Columns of the primary key; empty if there is none. */
  key: string[]
}

/** The tables and sequences of a database. */
export interface Catalog {
  tables: Map<string, Table>
  sequences: string[]
}

interface Snapshot {
  schema: string
  /** Sizes of the copies in bytes, by table. */
  tables: Map<string, number>
  sequences: Map<string, string>
}

const quoted = pg.escapeIdentifier

/** Reads the tables and sequences; they are the same for all databases of one version. */
export async function readCatalog(db: Database): Promise<Catalog> {
  const tables = await db.readRows(
    undefined,
    `select c.relname::text,
      array(select attname::text from pg_attribute a where attrelid = c.oid and attnum > 0 and not attisdropped and attgenerated = '' order by attnum),
      array(select attname::text from pg_index i join pg_attribute a on attrelid = c.oid and attnum = any(indkey) where indrelid = c.oid and indisprimary)
    from pg_class c where relkind = 'r' and relnamespace = 'public'::regnamespace and relname <> all($1) order by 1`,
    [PROCESS_TABLES],
  )
  const sequences = await db.readRows(
    undefined,
    `select relname::text from pg_class where relkind = 'S' and relnamespace = 'public'::regnamespace order by 1`,
    [],
  )
  return {
    tables: new Map(tables.map(([name, columns, key]) => [name as string, { name, columns, key } as Table])),
    sequences: sequences.map(([name]) => name as string),
  }
}

/**
 * Named snapshots of a database, each a copy of all rows in a schema of its own. Connections and prepared statements
 * stay valid, and restoring costs in proportion to what has changed (docs/adr/0024). Nothing else may write meanwhile.
 */
export class DatabaseSnapshots {
  readonly #snapshots = new Map<string, Snapshot>()
  #last = 0
  #vacuuming: Promise<void> | undefined

  constructor(
    private readonly db: Database,
    private readonly catalog: Catalog,
  ) {}

  /** Takes a snapshot of the current state, replacing one of the same name. */
  async take(name: string): Promise<void> {
    const schema = `snapshot_${++this.#last}`
    const sequences = await this.#sequences()
    const snapshot = await this.db.transaction(async (tx) => {
      const tables = await this.#withRows(tx)
      const copies = tables.map((table) => `create unlogged table ${schema}.${quoted(table)} as table public.${quoted(table)}`)
      await execute(tx, [`create schema ${schema}`, ...copies])
      return { schema, tables: await sizesIn(tx, schema), sequences }
    })
    await this.drop(name)
    this.#snapshots.set(name, snapshot)
  }

  /** Restores all rows and sequences. */
  async restore(name: string): Promise<void> {
    const snapshot = this.#snapshots.get(name)
    if (!snapshot) throw new Error(`there is no snapshot called ${name}`)
    const now = await this.#sequences()
    const grown = await this.db.transaction(async (tx) => {
      const sizes = await this.#sizes(tx)
      const changed = [...this.catalog.tables.values()].filter((table) => snapshot.tables.has(table.name) || sizes.has(table.name))
      const moved = [...snapshot.sequences].filter(([sequence, value]) => now.get(sequence) !== value)
      await execute(tx, [
        // disables triggers and foreign keys, so that rows are restored unchanged and in any order
        'set local session_replication_role = replica',
        ...changed.flatMap((table) => restoreStatements(table, snapshot)),
        ...moved.map(([sequence, value]) => `select setval(${pg.escapeLiteral(`public.${quoted(sequence)}`)}, ${value})`),
      ])
      return changed.filter(({ name }) => (sizes.get(name) ?? 0) > Math.max(VACUUM_MIN_BYTES, VACUUM_GROWTH * (snapshot.tables.get(name) ?? 0)))
    })
    // in the background, beside later calls
    if (grown.length > 0)
      this.#vacuuming ??= this.#vacuum(grown).finally(() => {
        this.#vacuuming = undefined
      })
  }

  /** Must be called before the connections are closed. */
  async close(): Promise<void> {
    await this.#vacuuming
  }

  async #vacuum(tables: Table[]): Promise<void> {
    for (const { name } of tables) await this.db.write.execute(sql.raw(`vacuum public.${quoted(name)}`)).catch(() => undefined)
  }

  async drop(name: string): Promise<void> {
    const snapshot = this.#snapshots.get(name)
    if (!snapshot) return
    this.#snapshots.delete(name)
    await this.db.transaction((tx) => execute(tx, ['set local client_min_messages = error', `drop schema ${snapshot.schema} cascade`]))
  }

  /** Tables that have ever had a row, with their sizes in bytes. */
  async #sizes(tx: Transaction): Promise<Map<string, number>> {
    return new Map([...(await sizesIn(tx, 'public'))].filter(([name]) => this.catalog.tables.has(name)))
  }

  async #withRows(tx: Transaction): Promise<string[]> {
    const written = [...(await this.#sizes(tx)).keys()]
    if (written.length === 0) return []
    const queries = written.map((table) => `select ${pg.escapeLiteral(table)} as name where exists (select from public.${quoted(table)})`)
    const { rows } = await tx.execute<{ name: string }>(sql.raw(queries.join(' union all ')))
    return rows.map(({ name }) => name)
  }

  /** Sequences with their values as arguments of `setval`. */
  async #sequences(): Promise<Map<string, string>> {
    const queries = this.catalog.sequences.map(
      (name) => `select ${pg.escapeLiteral(name)}, last_value || ', ' || is_called from public.${quoted(name)}`,
    )
    const rows = queries.length === 0 ? [] : await this.db.readRows(undefined, queries.join(' union all '), [])
    return new Map(rows as [string, string][])
  }
}

/** The tables of a schema whose files are not empty, with their sizes in bytes. */
async function sizesIn(tx: Transaction, schema: string): Promise<Map<string, number>> {
  const { rows } = await tx.execute<{ name: string; size: string }>(sql`
    select relname as name, pg_relation_size(oid) as size from pg_class
    where relkind = 'r' and relnamespace = ${schema}::regnamespace and pg_relation_size(oid) > 0`)
  return new Map(rows.map(({ name, size }) => [name, Number(size)]))
}

/** The statements that restore a table by changing only the rows that differ. */
function restoreStatements({ name, columns, key }: Table, { schema, tables }: Snapshot): string[] {
  const table = `public.${quoted(name)}`
  if (!tables.has(name)) return [`delete from ${table}`]
  const names = columns.map(quoted).join(', ')
  const insert = `insert into ${table} (${names}) overriding system value select ${columns.map((column) => `s.${quoted(column)}`).join(', ')}`
  const same = key.map((column) => `s.${quoted(column)} = t.${quoted(column)}`).join(' and ')
  if (same === '') return [`delete from ${table}`, `${insert} from ${schema}.${quoted(name)} s`]
  return [
    `delete from ${table} t where not exists (select from ${schema}.${quoted(name)} s where ${same} and s *= t)`,
    `${insert} from ${schema}.${quoted(name)} s where not exists (select from ${table} t where ${same})`,
  ]
}

/** Sends statements without parameters in one round trip. */
const execute = (tx: Transaction, statements: string[]) => tx.execute(sql.raw(statements.join(';\n')))
