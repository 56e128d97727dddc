import { randomBytes } from 'node:crypto'
import pg from 'pg'
import { inject } from 'vitest'

/** Creates a migrated database by copying the template. `drop` also closes remaining connections. */
export async function createTestDatabase({ statements = [] as string[] } = {}): Promise<{ url: string; drop(): Promise<void> }> {
  const server = inject('databaseUrl')
  const name = `test_${randomBytes(6).toString('hex')}`
  await administer(server, `create database ${name} template template_roost strategy file_copy`)
  const url = new URL(server)
  url.pathname = `/${name}`
  for (const statement of statements) await administer(url.href, statement)
  return { url: url.href, drop: () => administer(server, `drop database if exists ${name} with (force)`) }
}

async function administer(url: string, statement: string) {
  const client = new pg.Client(url)
  await client.connect()
  try {
    await client.query(statement)
  } finally {
    await client.end()
  }
}
