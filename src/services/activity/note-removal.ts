import { and, inArray, sql } from 'drizzle-orm'
import type { Transaction } from '../../db/client.js'
import { awardEmoji, events, notes } from '../../db/schema/index.js'
import type { TargetType } from './subscriptions.js'

const NOTE_EVENT_TYPES = ['Note', 'DiscussionNote', 'DiffNote'] as const

/** Deletes notes with their emoji and events; mentions and todos are deleted by cascade. */
export async function removeNotes(tx: Transaction, ids: number[]): Promise<void> {
  if (ids.length === 0) return
  const removedIds = sql`any(${sql.param(ids)}::bigint[])`
  await tx.delete(awardEmoji).where(sql`(${awardEmoji.project_id}, ${awardEmoji.awardable_type}, ${awardEmoji.awardable_id}) in
    (select n.project_id, 'Note', n.id from ${notes} n where n.id = ${removedIds})`)
  await tx.delete(events).where(and(inArray(events.target_type, NOTE_EVENT_TYPES), sql`${events.target_id} = ${removedIds}`))
  await tx.delete(notes).where(sql`${notes.id} = ${removedIds}`)
}

/** Deletes all notes and emoji on targets of one type, before the targets themselves are deleted. */
export async function removeNotesAndEmoji(
  tx: Transaction,
  type: TargetType | 'Snippet',
  things: { id: number; project_id: number }[],
): Promise<void> {
  if (things.length === 0) return
  const ids = sql`any(${sql.param(things.map(({ id }) => id))}::bigint[])`
  const projects = sql`any(${sql.param([...new Set(things.map(({ project_id }) => project_id))])}::bigint[])`
  const removed = await tx
    .select({ id: notes.id })
    .from(notes)
    .where(sql`${notes.project_id} = ${projects} and ${notes.noteable_type} = ${type} and ${notes.noteable_id} = ${ids}`)
  await removeNotes(
    tx,
    removed.map(({ id }) => id),
  )
  await tx
    .delete(awardEmoji)
    .where(sql`${awardEmoji.project_id} = ${projects} and ${awardEmoji.awardable_type} = ${type} and ${awardEmoji.awardable_id} = ${ids}`)
}
