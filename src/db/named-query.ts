import pg from 'pg'

/** What the library's query has inside; its types leave it out. */
interface Inside {
  name: string
  callback: (error: Error | null, result: pg.QueryResult) => void
  _result: Columns
  _accumulateRows: boolean
  prepare(connection: Connection): void
  handleRowDescription(message: object): void
}

interface Columns {
  fields: unknown[]
  _parsers: unknown[]
  _prebuiltEmptyResultObject: object | null
}

interface Connection {
  describe(portal: object): void
}

interface Described {
  /** Columns by the name of the statement that yields them. */
  columns: Map<string, Columns>
  /** The same connection, which asks for no description. */
  terse: Connection
}

const described = new WeakMap<Connection, Described>()

function describedOn(connection: Connection): Described {
  let known = described.get(connection)
  if (!known) {
    known = { columns: new Map(), terse: Object.create(connection, { describe: { value: () => {} } }) as Connection }
    described.set(connection, known)
  }
  return known
}

const Query = pg.Query as unknown as new (...config: unknown[]) => Inside

/** A query whose columns each connection describes once: Postgres refuses a prepared statement whose columns have changed, so its first description holds, and to read it again takes longer than to read a row. */
class NamedQuery extends Query {
  #columns: Map<string, Columns> | undefined

  override prepare(connection: Connection): void {
    const { columns, terse } = describedOn(connection)
    const known = columns.get(this.name)
    if (known) {
      Object.assign(this._result, known)
      this._accumulateRows = true
    } else this.#columns = columns
    super.prepare(known ? terse : connection)
  }

  override handleRowDescription(message: object): void {
    super.handleRowDescription(message)
    const { fields, _parsers, _prebuiltEmptyResultObject } = this._result
    this.#columns?.set(this.name, { fields, _parsers, _prebuiltEmptyResultObject })
  }
}

/** Sends a statement that has a name. */
export const sendNamed = (submit: (query: pg.Submittable) => unknown, statement: pg.QueryConfig, values?: unknown[]): Promise<pg.QueryResult> =>
  new Promise((resolve, reject) => {
    const done: Inside['callback'] = (error, result) => (error ? reject(error) : resolve(result))
    submit(new NamedQuery(statement, values, done) as unknown as pg.Submittable)
  })
