import { sql } from 'drizzle-orm'
import type { Transaction } from '../../db/client.js'
import { onlyRow } from '../../db/only-row.js'
import { groupIidCounters, iidCounters } from '../../db/schema/index.js'

export type IidKind = 'pipeline' | 'issue' | 'merge_request' | 'milestone' | 'deployment' | 'feature_flag' | 'feature_flag_user_list'

/**
 * The next number of its kind within the project, starting at 1. The counter row stays locked until the transaction
 * ends and rolls back with it, so numbers have no gaps and no duplicates (SEC-165). Of several it is the last.
 */
export async function nextIid(tx: Transaction, projectId: number, kind: IidKind, count = 1): Promise<number> {
  const row = onlyRow(
    await tx
      .insert(iidCounters)
      .values({ project_id: projectId, kind, last: count })
      .onConflictDoUpdate({ target: [iidCounters.project_id, iidCounters.kind], set: { last: sql`${iidCounters.last} + ${count}` } })
      .returning({ last: iidCounters.last }),
  )
  return row.last
}

/**
 * SQL for the number that `nextIid` just assigned in the same transaction, so that both statements can be pipelined.
 */
export const lastIid = (projectId: number, kind: IidKind) =>
  sql<number>`(select ${iidCounters.last} from ${iidCounters} where ${iidCounters.project_id} = ${projectId} and ${iidCounters.kind} = ${kind})`

/** The next number of its kind within the group. */
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

/** Raises a counter to a number that was assigned elsewhere, such as by an import; a lower number changes nothing. */
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
