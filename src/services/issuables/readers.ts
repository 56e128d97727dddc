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

/** Ids, or a placeholder for an array of them. */
export type NumbersOrSql = readonly number[] | SQL

/** The ids as an array of SQL. */
export const idArray = (ids: NumbersOrSql): SQL => sql`${Array.isArray(ids) ? sql.param(ids) : ids}::bigint[]`

/** Author and assignees of an issuable as placeholders of a prepared statement. */
export const ISSUABLE_PARAMETERS = { author_id: sql`${sql.placeholder('author')}::bigint`, assignee_ids: sql`${sql.placeholder('assignees')}` }

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

/** The most assignees, or reviewers, of one issue or merge request (MR-620). */
export const MAX_PEOPLE = 200
export const tooManyPeople = `total must be less than or equal to ${MAX_PEOPLE}`

/**
 * Those of these users that `findPermitted` returns, in their order and each once; the others are treated
 * as unknown (IS-18, MR-26, SEC-115).
 */
export async function permittedAmong(userIds: readonly number[], findPermitted: (candidates: SQL) => Promise<number[]>): Promise<number[]> {
  const wanted = [...new Set(userIds.filter((id) => id > 0))]
  if (wanted.length === 0) return []
  const found = new Set(await findPermitted(sql`u.id = any(${sql.param(wanted)}::bigint[])`))
  return wanted.filter((id) => found.has(id))
}
