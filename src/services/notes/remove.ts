import { and, eq, inArray, sql } from 'drizzle-orm'
import type { Context } from '../../context.js'
import type { Transaction } from '../../db/client.js'
import { awardEmoji, events, issues, mergeRequests, notes } from '../../db/schema/index.js'
import { type Noteable, recountThreads } from './noteables.js'

const EVENTS = ['Note', 'DiscussionNote', 'DiffNote'] as const

/** Takes notes away with what hangs on them; mentions and todos go with their rows. */
export async function removeNotes(tx: Transaction, ids: number[]): Promise<void> {
  if (ids.length === 0) return
  const gone = sql`any(${sql.param(ids)}::bigint[])`
  await tx.delete(awardEmoji).where(sql`(${awardEmoji.project_id}, ${awardEmoji.awardable_type}, ${awardEmoji.awardable_id}) in
    (select n.project_id, 'Note', n.id from ${notes} n where n.id = ${gone})`)
  await tx.delete(events).where(and(inArray(events.target_type, EVENTS), sql`${events.target_id} = ${gone}`))
  await tx.delete(notes).where(sql`${notes.id} = ${gone}`)
}

/** Takes away all that was said and given to things of one kind, before they go themselves. */
export async function removeTalk(
  tx: Transaction,
  type: Exclude<Noteable['type'], 'Commit'>,
  things: { id: number; project_id: number }[],
): Promise<void> {
  if (things.length === 0) return
  const ids = sql`any(${sql.param(things.map(({ id }) => id))}::bigint[])`
  const projects = sql`any(${sql.param([...new Set(things.map(({ project_id }) => project_id))])}::bigint[])`
  const said = await tx
    .select({ id: notes.id })
    .from(notes)
    .where(sql`${notes.project_id} = ${projects} and ${notes.noteable_type} = ${type} and ${notes.noteable_id} = ${ids}`)
  await removeNotes(
    tx,
    said.map(({ id }) => id),
  )
  await tx
    .delete(awardEmoji)
    .where(sql`${awardEmoji.project_id} = ${projects} and ${awardEmoji.awardable_type} = ${type} and ${awardEmoji.awardable_id} = ${ids}`)
}

/** Notes of one transaction. */
const BATCH = 500

/** All that a person said, wherever it was (U-34); what counts notes and threads counts them no more. */
export async function removeNotesOf(ctx: Context, authorId: number): Promise<void> {
  for (;;) {
    const removed = await ctx.db.transaction(async (tx) => {
      const rows = await tx
        .select({ id: notes.id, type: notes.noteable_type, thing: notes.noteable_id, system: notes.system })
        .from(notes)
        .where(eq(notes.author_id, authorId))
        .limit(BATCH)
        .for('update')
      const counted = (type: Noteable['type']) => rows.filter((row) => row.type === type && !row.system).map(({ thing }) => thing as number)
      for (const [type, table] of [['Issue', issues], ['MergeRequest', mergeRequests]] as const) // biome-ignore format: a table
        await tx.execute(sql`update ${table} t set user_notes_count = t.user_notes_count - c.gone
          from (select id, count(*) as gone from unnest(${sql.param(counted(type))}::bigint[]) id group by id) c where t.id = c.id`)
      await removeNotes(
        tx,
        rows.map(({ id }) => id),
      )
      await tx.execute(recountThreads(sql`r.id = any(${sql.param(counted('MergeRequest'))}::bigint[])`))
      return rows.length
    })
    if (removed < BATCH) return
  }
}
