import { type Column, type SQL, sql } from 'drizzle-orm'

/**
 * Whether the column is one of the ids in a placeholder. The subquery hides the length of the array from Postgres,
 * which would otherwise plan each call with few ids anew, at a higher cost than running it.
 */
export const inIds = (column: Column, placeholder = 'ids'): SQL =>
  sql`${column} = any(array(select unnest(${sql.placeholder(placeholder)}::bigint[])))`
