import pg from 'pg'

/** The migrated and empty database that others are copies of. Nobody connects to it. */
const TEMPLATE = 'roost_template'

/** Makes the template of what a database is now, and drops the templates that come with Postgres. */
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

/** Databases of one server that begin as copies of its template. */
export class DatabaseCopies {
  #last = 0

  constructor(private readonly url: string) {}

  /** A new one, by its URL. */
  async create(): Promise<string> {
    const name = `copy_${++this.#last}`
    await execute(this.url, [`create database ${name} template ${TEMPLATE} strategy file_copy`])
    const url = new URL(this.url)
    url.pathname = `/${name}`
    return url.href
  }

  /** Drops one, and ends whatever is connected to it. */
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
