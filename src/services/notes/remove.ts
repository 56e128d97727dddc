import { eq, sql } from 'drizzle-orm'
import type { Context } from '../../context.js'
import { issues, mergeRequests, notes } from '../../db/schema/index.js'
import { removeNotes } from '../activity/note-removal.js'
import { type Noteable, recountThreads } from './noteables.js'

/** The number of notes deleted in one transaction. */
const BATCH_SIZE = 500

/** Deletes all notes of a user in all projects (U-34), and updates the counts of notes and threads. */
export async function removeNotesOf(ctx: Context, authorId: number): Promise<void> {
  for (;;) {
    const removed = await ctx.db.transaction(async (tx) => {
      const rows = await tx
        .select({ id: notes.id, type: notes.noteable_type, thing: notes.noteable_id, system: notes.system })
        .from(notes)
        .where(eq(notes.author_id, authorId))
        .limit(BATCH_SIZE)
        .for('update')
      const counted = (type: Noteable['type']) => rows.filter((row) => row.type === type && !row.system).map(({ thing }) => thing as number)
      for (const [type, table] of [
        ['Issue', issues],
        ['MergeRequest', mergeRequests],
      ] as const)
        await tx.execute(sql`update ${table} t set user_notes_count = t.user_notes_count - c.gone
          from (select id, count(*) as gone from unnest(${sql.param(counted(type))}::bigint[]) id group by id) c where t.id = c.id`)
      await removeNotes(
        tx,
        rows.map(({ id }) => id),
      )
      await tx.execute(recountThreads(sql`r.id = any(${sql.param(counted('MergeRequest'))}::bigint[])`))
      return rows.length
    })
    if (removed < BATCH_SIZE) return
  }
}
