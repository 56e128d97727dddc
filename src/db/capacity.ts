import { connectOnce } from './servers.js'

/** The number of connections that the user of this URL may have open at once. */
export async function maxConnections(url: string): Promise<number> {
  const client = await connectOnce(url, 'roost')
  try {
    const { rows } = await client.query(SELECT_ALLOWED)
    return rows[0].allowed
  } finally {
    await client.end().catch(() => undefined)
  }
}

/**
 * Some connections are reserved for superusers, and the role or the database may have a limit of its own (-1: none).
 */
const SELECT_ALLOWED = `select least(
    current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
      - coalesce(current_setting('reserved_connections', true)::int, 0),
    (select nullif(rolconnlimit, -1) from pg_roles where rolname = current_user),
    (select nullif(datconnlimit, -1) from pg_database where datname = current_database())
  ) as allowed`
