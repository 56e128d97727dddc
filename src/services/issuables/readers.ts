import { type SQL, sql } from 'drizzle-orm'
import { projectLevel } from '../../access/roles.js'
import type { Transaction } from '../../db/client.js'
import { users } from '../../db/schema/index.js'

/** A number, or what stands for one in a prepared statement. */
export type Value = number | SQL

/** A project by what decides who sees it, and the level of a switch of its features. */
export type ReadersOf = Record<'id' | 'namespace_id' | 'visibility' | 'feature', Value>

/** Those of a project that a prepared statement asks about. */
export const ASKED: ReadersOf = {
  id: sql`${sql.placeholder('project')}`,
  namespace_id: sql`${sql.placeholder('namespace')}`,
  visibility: sql`${sql.placeholder('visibility')}`,
  feature: sql`${sql.placeholder('feature')}`,
}

/** Whose it is and whom it is given to, in a prepared statement. */
export const ASKED_TIES = { author_id: sql`${sql.placeholder('author')}::bigint`, assignee_id: sql`${sql.placeholder('assignee')}::bigint` }

/**
 * The users selected by `who` (over `users` under the alias `u`) who are not blocked, see the project and are admitted
 * by a feature switch, and for whom `sees` holds: in it `level` is their level on the project, and `open` whether its
 * visibility alone admits them. A query of their ids.
 */
export function peopleSql({ id, namespace_id, visibility, feature }: ReadersOf, sees: (standing: { level: SQL; open: SQL }) => SQL, who: SQL): SQL {
  const found = projectLevel({ id: sql`${id}::bigint`, namespace_id: sql`${namespace_id}::bigint` }, sql`u.id`)
  const level = sql`r.level`
  const open = sql`(${visibility}::integer >= case when u.external then 20 else 10 end)`
  return sql`select u.id from ${users} u
    cross join lateral (select case when u.admin then 50 else ${found} end as level) r
    where ${who} and u.state = 'active' and u.kind = 'human'
      and (${feature}::integer >= 20 or ${feature}::integer >= 10 and r.level > 0) and (r.level > 0 or ${open}) and ${sees({ level, open })}`
}

/** The ids that such a query finds, in order. */
export async function idsAmong(tx: Pick<Transaction, 'execute'>, people: SQL): Promise<number[]> {
  const { rows } = await tx.execute<{ id: string }>(sql`${people} order by u.id`)
  return rows.map((row) => Number(row.id))
}

/** The first of these users whom `able` admits; the others are treated as unknown (IS-18, MR-26, SEC-115). */
export async function firstAble(userIds: number[], able: (who: SQL) => Promise<number[]>): Promise<number | null> {
  const wanted = userIds.filter((id) => id > 0)
  if (wanted.length === 0) return null
  const list = sql.join(
    wanted.map((id) => sql`${id}`),
    sql`, `,
  )
  const found = new Set(await able(sql`u.id in (${list})`))
  return wanted.find((id) => found.has(id)) ?? null
}
