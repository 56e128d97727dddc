import pg from 'pg'
import { TYPES } from './value-types.js'

type ParseValue = (text: string) => unknown

/** The interface that pg's client calls on query objects, such as those of pg-cursor and pg-query-stream. */
interface SubmittedQuery {
  name: string | undefined
  submit(connection: pg.Connection): Error | null
  handleRowDescription(message: { fields: { dataTypeID: number }[] }): void
  handleDataRow(message: { fields: (string | null)[] }): void
}

type Callback = (error: Error | null) => void

const Query = pg.Query as unknown as new (text: string, values: unknown[], done: Callback) => SubmittedQuery

/**
 * The prepared reads of one connection. Postgres describes the columns of each statement only once, not for every
 * execution: for a row of a hundred columns the description costs as much as everything else, on both sides.
 */
export class PreparedReads {
  /** Column parsers by statement name. */
  readonly columns = new Map<string, ParseValue[]>()
  /** The connection without its `describe` requests. */
  readonly undescribed: pg.Connection

  constructor(
    connection: pg.Connection,
    private readonly send: (query: pg.Submittable) => void,
  ) {
    this.undescribed = Object.create(connection, { describe: { value: () => undefined } })
  }

  /** Runs a read; rows are arrays. A read without a name is prepared and described each time. */
  rows(name: string | undefined, text: string, values: unknown[]): Promise<unknown[][]> {
    return new Promise((resolve, reject) => {
      const query: ReadQuery = new ReadQuery(this, name, text, values, (error) => (error ? reject(error) : resolve(query.parsedRows)))
      this.send(query as unknown as pg.Submittable)
    })
  }
}

class ReadQuery extends Query {
  readonly parsedRows: unknown[][] = []
  #columns: ParseValue[] | undefined

  constructor(
    private readonly reads: PreparedReads,
    name: string | undefined,
    text: string,
    values: unknown[],
    done: Callback,
  ) {
    super(text, values, done)
    this.name = name
    this.#columns = name === undefined ? undefined : reads.columns.get(name)
  }

  override submit(connection: pg.Connection) {
    return super.submit(this.#columns ? this.reads.undescribed : connection)
  }

  override handleRowDescription({ fields }: Parameters<SubmittedQuery['handleRowDescription']>[0]) {
    this.#columns = fields.map(({ dataTypeID }) => TYPES.getTypeParser(dataTypeID, 'text') as ParseValue)
    if (this.name !== undefined) this.reads.columns.set(this.name, this.#columns)
  }

  override handleDataRow({ fields }: Parameters<SubmittedQuery['handleDataRow']>[0]) {
    const columns = this.#columns as ParseValue[]
    this.parsedRows.push(fields.map((field, i) => (field === null ? null : (columns[i] as ParseValue)(field))))
  }
}
