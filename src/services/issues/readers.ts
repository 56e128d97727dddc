import { type SQL, sql } from 'drizzle-orm'
import type { IssueTies } from '../../access/can.js'
import { projectLevel } from '../../access/roles.js'
import type { Project } from '../../access/rules.js'
import type { Transaction } from '../../db/client.js'
import { users } from '../../db/schema/index.js'

/** Ids of the people of whom `who` holds (of `users` under the alias `u`), who are not blocked and see an issue like this one in the project: `seesIssue` from the other side. */
export async function readersAmong(
  tx: Pick<Transaction, 'execute'>,
  { id, namespace_id, visibility, issues_access_level }: Pick<Project, 'id' | 'namespace_id' | 'visibility' | 'issues_access_level'>,
  { confidential, author_id, assignee_id }: IssueTies,
  who: SQL,
): Promise<number[]> {
  const level = projectLevel({ id: sql`${id}::bigint`, namespace_id: sql`${namespace_id}::bigint` }, sql`u.id`)
  const tied = sql`(${confidential}::boolean is false or r.level >= 20 or u.id = ${author_id} or u.id = ${assignee_id ?? 0})`
  const open = sql`(r.level > 0 or ${visibility}::integer >= case when u.external then 20 else 10 end)`
  const { rows } = await tx.execute<{ id: string }>(sql`select u.id from ${users} u
    cross join lateral (select case when u.admin then 50 else ${level} end as level) r
    where ${who} and u.state = 'active' and u.kind = 'human'
      and (${issues_access_level}::integer >= 20 or ${issues_access_level}::integer >= 10 and r.level > 0) and ${open} and ${tied}
    order by u.id`)
  return rows.map((row) => Number(row.id))
}
