import { type SQL, sql } from 'drizzle-orm'
import { projectLevel } from '../../access/roles.js'
import type { Transaction } from '../../db/client.js'
import { users } from '../../db/schema/index.js'

/** A number, or a placeholder for one in a prepared statement. */
export type NumberOrSql = number | SQL

/** The columns of a project that decide who sees it; `feature` is the access level of the feature in question. */
export type ProjectAccess = Record<'id' | 'namespace_id' | 'visibility' | 'feature', NumberOrSql>

/** The same as placeholders of a prepared statement. */
export const PROJECT_PARAMETERS: ProjectAccess = {
  id: sql`${sql.placeholder('project')}`,
  namespace_id: sql`${sql.placeholder('namespace')}`,
  visibility: sql`${sql.placeholder('visibility')}`,
  feature: sql`${sql.placeholder('feature')}`,
}

/** Author and assignee of an issuable as placeholders of a prepared statement. */
export const ISSUABLE_PARAMETERS = { author_id: sql`${sql.placeholder('author')}::bigint`, assignee_id: sql`${sql.placeholder('assignee')}::bigint` }

/**
 * A query of the ids of users who match the condition `candidates` (on `users` as `u`), are active, see the project,
 * have access to its feature, and pass `admits`. `level` is the user's access level on the project, and `open` whether
 * its visibility alone gives them access.
 */
export function selectReaders(
  { id, namespace_id, visibility, feature }: ProjectAccess,
  admits: (user: { level: SQL; open: SQL }) => SQL,
  candidates: SQL,
): SQL {
  const found = projectLevel({ id: sql`${id}::bigint`, namespace_id: sql`${namespace_id}::bigint` }, sql`u.id`)
  const level = sql`r.level`
  const open = sql`(${visibility}::integer >= case when u.external then 20 else 10 end)`
  return sql`select u.id from ${users} u
    cross join lateral (select case when u.admin then 50 else ${found} end as level) r
    where ${candidates} and u.state = 'active' and u.kind = 'human'
      and (${feature}::integer >= 20 or ${feature}::integer >= 10 and r.level > 0) and (r.level > 0 or ${open}) and ${admits({ level, open })}`
}

/** Runs such a query; the ids are in ascending order. */
export async function fetchUserIds(tx: Pick<Transaction, 'execute'>, people: SQL): Promise<number[]> {
  const { rows } = await tx.execute<{ id: string }>(sql`${people} order by u.id`)
  return rows.map((row) => Number(row.id))
}

/** The first of these users that `findPermitted` returns; the others are treated as unknown (IS-18, MR-26, SEC-115). */
export async function firstPermitted(userIds: number[], findPermitted: (candidates: SQL) => Promise<number[]>): Promise<number | null> {
  const wanted = userIds.filter((id) => id > 0)
  if (wanted.length === 0) return null
  const list = sql.join(
    wanted.map((id) => sql`${id}`),
    sql`, `,
  )
  const found = new Set(await findPermitted(sql`u.id in (${list})`))
  return wanted.find((id) => found.has(id)) ?? null
}
