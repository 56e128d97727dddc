import { and, asc, eq, isNotNull, sql } from 'drizzle-orm'
import type { Context } from '../../context.js'
import type { Transaction } from '../../db/client.js'
import { type notes, suggestions } from '../../db/schema/index.js'
import { statement } from '../../db/statement.js'
import { groupedBy } from '../../lib/grouped-by.js'
import { suggestionsIn } from '../../rules/reviews/suggestions.js'

type Note = typeof notes.$inferSelect
export type Suggestion = typeof suggestions.$inferSelect

/** Whether a text can suggest changes here: on a line that the merge request leaves in the file. */
export const suggests = ({ noteable_type, type, position }: Pick<Note, 'noteable_type' | 'type' | 'position'>): boolean =>
  noteable_type === 'MergeRequest' && type === 'DiffNote' && position !== null && position.new_line !== null

/** Records what a note suggests, in place of what it suggested before; nothing changes once a suggestion is applied. */
export async function recordSuggestions(tx: Transaction, { id, project_id, note }: Pick<Note, 'id' | 'project_id' | 'note'>): Promise<void> {
  const found = suggestionsIn(note)
  const applied = await tx
    .select({ id: suggestions.id })
    .from(suggestions)
    .where(and(eq(suggestions.note_id, id), isNotNull(suggestions.applied_at)))
  if (applied.length > 0) return
  await tx.delete(suggestions).where(eq(suggestions.note_id, id))
  if (found.length > 0) await tx.insert(suggestions).values(found.map((change, place) => ({ ...change, place, project_id, note_id: id })))
}

const selectSuggestions = statement('suggestions of notes', (db) =>
  db
    .select()
    .from(suggestions)
    .where(sql`${suggestions.note_id} = any(${sql.placeholder('notes')}::bigint[])`)
    .orderBy(asc(suggestions.note_id), asc(suggestions.place)),
)

/** The suggestions of notes, by the ids of these. */
export async function suggestionsOf(ctx: Context, ids: number[]): Promise<Map<number, Suggestion[]>> {
  if (ids.length === 0) return new Map()
  return groupedBy(await selectSuggestions(ctx.db, null).execute({ notes: ids }), ({ note_id }) => note_id)
}
