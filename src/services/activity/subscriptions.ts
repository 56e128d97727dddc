import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { qualified } from '../../access/roles.js'
import type { Transaction } from '../../db/client.js'
import { mentions, notes, subscriptions, type TARGETS, todos } from '../../db/schema/index.js'

export type TargetType = (typeof TARGETS)[number]

/** An issue, merge request or the like that users subscribe to, discuss and get todos about. */
export interface Target {
  type: TargetType
  id: number
  project_id: number
}

/**
 * Stores whether a user is subscribed, replacing an earlier choice; false if that choice was the same, so that of
 * concurrent calls one makes the change (SB-5).
 */
export async function setSubscribed(
  tx: Pick<Transaction, 'insert'>,
  target: { type: TargetType | 'Label'; id: number; project_id: number | null },
  userId: number,
  subscribed: boolean,
): Promise<boolean> {
  const changed = await tx
    .insert(subscriptions)
    .values({ project_id: target.project_id, target_type: target.type, target_id: target.id, user_id: userId, subscribed })
    .onConflictDoUpdate({
      target: [subscriptions.target_type, subscriptions.target_id, subscriptions.user_id],
      set: { subscribed },
      setWhere: sql`${subscriptions.subscribed} <> excluded.subscribed`,
    })
    .returning({ subscribed: subscriptions.subscribed })
  return changed.length > 0
}

/**
 * SQL: whether the user is subscribed to a target. Without an explicit choice they are when they participate as author,
 * an assignee or reviewer, by a note, by a mention, or by a todo that they added (SB-1, IS-24).
 */
export function isSubscribed(
  type: TargetType,
  row: { id: SQLWrapper; project_id: SQLWrapper; author_id: SQLWrapper; assignee_ids: SQLWrapper; reviewer_ids?: SQLWrapper },
  userId: SQLWrapper,
): SQL<boolean> {
  return qualified(sql<boolean>`coalesce(
    (select s.subscribed from ${subscriptions} s where s.target_type = ${type} and s.target_id = ${row.id} and s.user_id = ${userId}),
    ${row.author_id} = ${userId} or ${userId} = any(${row.assignee_ids})${row.reviewer_ids ? sql` or ${userId} = any(${row.reviewer_ids})` : sql``}
    or exists (select 1 from ${notes} n where n.project_id = ${row.project_id} and n.noteable_type = ${type} and n.noteable_id = ${row.id} and n.author_id = ${userId} and n.mentioned_in_type is null)
    or exists (select 1 from ${mentions} m where m.project_id = ${row.project_id} and m.target_type = ${type} and m.target_id = ${row.id} and m.user_id = ${userId})
    or exists (select 1 from ${todos} t where t.project_id = ${row.project_id} and t.target_type = ${type} and t.target_id = ${row.id}
      and t.user_id = ${userId} and t.action = 'marked'))`)
}
