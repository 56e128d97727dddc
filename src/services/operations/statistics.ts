import { sql } from 'drizzle-orm'
import type { Context } from '../../context.js'

/** Rows from which on Postgres' own estimate is taken, which costs nothing. */
const ESTIMATED_FROM = 10_000

const TABLES = ['issues', 'merge_requests', 'notes', 'snippets', 'ssh_keys', 'milestones'] as const

/** How many there are of each kind on the instance; large tables are estimated (RX-2). */
export async function countInstance({ db }: Context): Promise<Record<string, number>> {
  const counts = TABLES.map((name) => {
    const rows = sql`(select reltuples from pg_class where oid = ${name}::regclass)`
    return sql`case when ${rows} >= ${ESTIMATED_FROM} then ${rows}::bigint else (select count(*) from ${sql.identifier(name)}) end as ${sql.identifier(name)}`
  })
  const result = await db.write.execute<Record<string, string>>(sql`select ${sql.join(counts, sql`, `)},
    (select count(*) from projects where forked_from_id is not null and marked_for_deletion_at is null) as forks,
    (select count(*) from projects where marked_for_deletion_at is null) as projects,
    (select count(*) from namespaces where kind = 'group' and marked_for_deletion_at is null) as groups,
    (select count(*) from users where kind = 'human') as users,
    (select count(*) from users where kind = 'human' and state = 'active') as active_users`)
  return Object.fromEntries(Object.entries(result.rows[0] ?? {}).map(([name, value]) => [name, Number(value)]))
}
