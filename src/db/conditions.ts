import { and, type Column, eq, isNull, type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { mergeRequests } from './schema/index.js'

/** Open merge requests; changes of branches affect only these (MR-75). */
export const isOpen = and(eq(mergeRequests.state, 'opened'), isNull(mergeRequests.deleted_at)) as SQL

/** Whether a column with the ids of several people has this one, or one of these: by its index, which has no empty rows. */
export const hasPerson = (column: SQLWrapper, id: SQLWrapper): SQL => sql`(${column} <> '{}' and ${column} @> array[${id}]::bigint[])`
export const hasOneOf = (column: SQLWrapper, ids: SQLWrapper): SQL => sql`(${column} <> '{}' and ${column} && ${ids})`

/**
 * Whether the column is one of the ids in a placeholder. The subquery hides the length of the array from Postgres,
 * which would otherwise plan each call with few ids anew, at a higher cost than running it.
 */
export const inIds = (column: Column, placeholder = 'ids'): SQL =>
  sql`${column} = any(array(select unnest(${sql.placeholder(placeholder)}::bigint[])))`
