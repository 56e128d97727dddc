import { inArray, sql } from 'drizzle-orm'
import type { Transaction } from '../../db/client.js'
import { awardEmoji, events, mentions, notes, subscriptions, todos } from '../../db/schema/index.js'
import type { TargetType } from '../subscriptions.js'

/** What hangs on issues or merge requests and does not go with their rows. */
export async function removeWhatHangsOn(tx: Transaction, type: TargetType, ids: number[]): Promise<void> {
  await tx.delete(todos).where(sql`${todos.target_type} = ${type} and ${inArray(todos.target_id, ids)}`)
  await tx.delete(mentions).where(sql`${mentions.target_type} = ${type} and ${inArray(mentions.target_id, ids)}`)
  await tx.delete(subscriptions).where(sql`${subscriptions.target_type} = ${type} and ${inArray(subscriptions.target_id, ids)}`)
  await tx.delete(awardEmoji).where(sql`${awardEmoji.awardable_type} = ${type} and ${inArray(awardEmoji.awardable_id, ids)}`)
  const said = tx
    .select({ id: notes.id })
    .from(notes)
    .where(sql`${notes.noteable_type} = ${type} and ${inArray(notes.noteable_id, ids)}`)
  await tx.delete(events).where(sql`${events.target_type} in ('Note', 'DiscussionNote', 'DiffNote') and ${events.target_id} in (${said})`)
  await tx.delete(events).where(sql`${events.target_type} = ${type} and ${inArray(events.target_id, ids)}`)
  await tx.delete(notes).where(sql`${notes.noteable_type} = ${type} and ${inArray(notes.noteable_id, ids)}`)
}
