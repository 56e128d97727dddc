import { eq, sql } from 'drizzle-orm'
import type { Context } from '../../context.js'
import type { Transaction } from '../../db/client.js'
import { namespaces, projects } from '../../db/schema/index.js'
import { visibilityName } from '../../rules/visibility.js'
import { audit } from '../core/audit.js'

/** Messages for a fork that would be more visible than its source (AC-5). */
export const forkVisibilityFaults = (level: number, source: number): string[] =>
  level > source ? [`${visibilityName(level)} is not allowed since the fork source project has lower visibility.`] : []

/** Adjusts `forks_count` of a source, the number of its existing forks (PR-25). */
export async function countForks(tx: Transaction, sourceId: number, delta: 1 | -1): Promise<void> {
  await tx
    .update(projects)
    .set({ forks_count: sql`greatest(${projects.forks_count} + ${delta}, 0)` })
    .where(eq(projects.id, sourceId))
}

/**
 * Whether a project is the other one or a direct or indirect fork of it. `union` ends the recursion even if concurrent
 * calls have created a cycle.
 */
export async function descendsFrom(tx: Transaction, id: number, ancestorId: number): Promise<boolean> {
  const { rows } = await tx.execute(sql`with recursive line (id) as (
      select ${id}::bigint union select p.forked_from_id from ${projects} p join line on p.id = line.id where p.forked_from_id is not null)
    select 1 from line where id = ${ancestorId}`)
  return rows.length > 0
}

/** Whether two projects are in the same fork network (MR-31). */
export async function inSameNetwork(tx: Pick<Transaction, 'execute'>, one: number, other: number): Promise<boolean> {
  if (one === other) return true
  const { rows } = await tx.execute(sql`with recursive
    one (id) as (select ${one}::bigint union select p.forked_from_id from ${projects} p join one on p.id = one.id where p.forked_from_id is not null),
    other (id) as (select ${other}::bigint union select p.forked_from_id from ${projects} p join other on p.id = other.id where p.forked_from_id is not null)
    select 1 from one join other on other.id = one.id limit 1`)
  return rows.length > 0
}

/**
 * Lowers the visibility of all direct and indirect forks to that of their source (AC-5, SEC-41). Refusing instead would
 * let the owner of a fork prevent the change.
 */
export async function lowerForks(ctx: Context, tx: Transaction, id: number, visibility: number): Promise<void> {
  // in SQL: the builder has no recursive queries
  const { rows } = await tx.execute<{ id: string; name: string; before: number }>(sql`with recursive below (id) as (
      select p.id from ${projects} p where p.forked_from_id = ${id}
      union select p.id from ${projects} p join below on p.forked_from_id = below.id),
    open as (select p.id, p.visibility, n.full_path || '/' || p.path as name from ${projects} p join ${namespaces} n on n.id = p.namespace_id
      where p.id in (select b.id from below b) and p.visibility > ${visibility} order by p.id for update of p)
    update ${projects} set visibility = ${visibility} from open where ${projects}.id = open.id returning open.id, open.name, open.visibility as before`)
  for (const fork of rows)
    await audit(ctx, tx, {
      action: 'visibility_changed',
      target: { type: 'project', id: Number(fork.id), name: fork.name },
      changes: { visibility: [visibilityName(fork.before), visibilityName(visibility)] },
    })
}
