import pg from 'pg'

/** The migrated, empty template of the copies. Nothing connects to it, so that it can be copied at any time. */
const TEMPLATE = 'roost_template'

/** Creates the template from the current state of a database, and drops the templates of Postgres. */
export async function createTemplate(url: string): Promise<void> {
  const { pathname } = new URL(url)
  const administration = new URL(url)
  administration.pathname = '/template1'
  await execute(administration.href, [
    `create database ${TEMPLATE} template ${pg.escapeIdentifier(pathname.slice(1))} strategy file_copy`,
    `alter database template0 is_template false`,
    `alter database template1 is_template false`,
  ])
  await execute(url, ['drop database template0', 'drop database template1'])
}

/** Creates databases on one server as copies of its template. */
export class DatabaseCopies {
  #last = 0

  constructor(private readonly url: string) {}

  /** Creates a database and returns its URL. */
  async create(): Promise<string> {
    const name = `copy_${++this.#last}`
    await execute(this.url, [`create database ${name} template ${TEMPLATE} strategy file_copy`])
    const url = new URL(this.url)
    url.pathname = `/${name}`
    return url.href
  }

  /** Drops a database and closes its connections. */
  async drop(url: string): Promise<void> {
    await execute(this.url, [`drop database if exists ${pg.escapeIdentifier(new URL(url).pathname.slice(1))} with (force)`])
  }
}

async function execute(url: string, statements: string[]): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    for (const statement of statements) await client.query(statement)
  } finally {
    await client.end()
  }
}
