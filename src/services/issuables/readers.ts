import { type SQL, sql } from 'drizzle-orm'
import { projectLevel } from '../../access/roles.js'
import type { Project } from '../../access/rules.js'
import type { Transaction } from '../../db/client.js'
import { users } from '../../db/schema/index.js'

/**
 * Ids of the users selected by `who` (over `users` under the alias `u`) who are not blocked, see the project and are
 * admitted by a feature switch, and for whom `sees` holds: in it `level` is their level on the project, and `open`
 * whether its visibility alone admits them.
 */
export async function peopleAmong(
  tx: Pick<Transaction, 'execute'>,
  { id, namespace_id, visibility }: Pick<Project, 'id' | 'namespace_id' | 'visibility'>,
  feature: number,
  sees: (standing: { level: SQL; open: SQL }) => SQL,
  who: SQL,
): Promise<number[]> {
  const found = projectLevel({ id: sql`${id}::bigint`, namespace_id: sql`${namespace_id}::bigint` }, sql`u.id`)
  const level = sql`r.level`
  const open = sql`(${visibility}::integer >= case when u.external then 20 else 10 end)`
  const { rows } = await tx.execute<{ id: string }>(sql`select u.id from ${users} u
    cross join lateral (select case when u.admin then 50 else ${found} end as level) r
    where ${who} and u.state = 'active' and u.kind = 'human'
      and (${feature}::integer >= 20 or ${feature}::integer >= 10 and r.level > 0) and (r.level > 0 or ${open}) and ${sees({ level, open })}
    order by u.id`)
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
