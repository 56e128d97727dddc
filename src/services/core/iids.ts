import { sql } from 'drizzle-orm'
import type { Transaction } from '../../db/client.js'
import { onlyRow } from '../../db/only-row.js'
import { groupIidCounters, iidCounters } from '../../db/schema/index.js'

export type IidKind = 'pipeline' | 'issue' | 'merge_request' | 'milestone'

/**
 * The next number of a kind of thing within its project, from 1 on. Whoever takes the next one waits for the end of
 * this transaction, and a number is given back when it fails: no gaps, and no number twice (SEC-165).
 */
export async function nextIid(tx: Transaction, projectId: number, kind: IidKind): Promise<number> {
  const row = onlyRow(
    await tx
      .insert(iidCounters)
      .values({ project_id: projectId, kind, last: 1 })
      .onConflictDoUpdate({ target: [iidCounters.project_id, iidCounters.kind], set: { last: sql`${iidCounters.last} + 1` } })
      .returning({ last: iidCounters.last }),
  )
  return row.last
}

/**
 * The number that `nextIid` returned, for a statement right after it in the same transaction: both can be sent at once.
 */
export const lastIid = (projectId: number, kind: IidKind) =>
  sql<number>`(select ${iidCounters.last} from ${iidCounters} where ${iidCounters.project_id} = ${projectId} and ${iidCounters.kind} = ${kind})`

/** The next number of a kind of thing within its group. */
export async function nextGroupIid(tx: Transaction, groupId: number, kind: 'milestone'): Promise<number> {
  const row = onlyRow(
    await tx
      .insert(groupIidCounters)
      .values({ namespace_id: groupId, kind, last: 1 })
      .onConflictDoUpdate({ target: [groupIidCounters.namespace_id, groupIidCounters.kind], set: { last: sql`${groupIidCounters.last} + 1` } })
      .returning({ last: groupIidCounters.last }),
  )
  return row.last
}

/** Raises the last number of a kind of thing to one that was given elsewhere; smaller ones change nothing. */
export async function raiseIid(tx: Transaction, of: { project_id: number } | { namespace_id: number }, kind: IidKind, iid: number): Promise<void> {
  if ('project_id' in of)
    await tx
      .insert(iidCounters)
      .values({ ...of, kind, last: iid })
      .onConflictDoUpdate({
        target: [iidCounters.project_id, iidCounters.kind],
        set: { last: sql`greatest(excluded.last, ${iidCounters.last})` },
      })
  else
    await tx
      .insert(groupIidCounters)
      .values({ ...of, kind: 'milestone', last: iid })
      .onConflictDoUpdate({
        target: [groupIidCounters.namespace_id, groupIidCounters.kind],
        set: { last: sql`greatest(excluded.last, ${groupIidCounters.last})` },
      })
}
