import { and, eq, inArray } from 'drizzle-orm'
import type { Transaction } from '../../db/client.js'
import { events, mentions, notes, subscriptions, todos } from '../../db/schema/index.js'
import { removeNotes, removeNotesAndEmoji } from '../activity/note-removal.js'
import type { TargetType } from '../activity/subscriptions.js'

/** Removes what belongs to issues or merge requests and has no foreign key that cascades. */
export async function removeDependents(tx: Transaction, type: TargetType, rows: { id: number; project_id: number }[]): Promise<void> {
  const ids = rows.map(({ id }) => id)
  const projects = rows.map(({ project_id }) => project_id)
  for (const table of [todos, mentions])
    await tx.delete(table).where(and(inArray(table.project_id, projects), eq(table.target_type, type), inArray(table.target_id, ids)))
  await tx.delete(subscriptions).where(and(eq(subscriptions.target_type, type), inArray(subscriptions.target_id, ids)))
  await tx.delete(events).where(and(eq(events.target_type, type), inArray(events.target_id, ids)))
  await removeNotesAndEmoji(tx, type, rows)
  // other issuables lose their system notes about being mentioned here
  const removed = await tx
    .select({ id: notes.id })
    .from(notes)
    .where(and(inArray(notes.mentioned_in_project_id, projects), eq(notes.mentioned_in_type, type), inArray(notes.mentioned_in_id, ids)))
  await removeNotes(
    tx,
    removed.map(({ id }) => id),
  )
}
