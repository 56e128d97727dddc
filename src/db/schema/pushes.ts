import { index, jsonb, pgTable, text } from 'drizzle-orm/pg-core'
import { id, moment, ref } from './columns.js'
import { projects } from './projects.js'

/**
 * What recovery must know of a merge besides its commit: the merge request, and whether the caller wants the source
 * branch removed (MR-10).
 */
export interface MergeIntent {
  request: number
  should_remove_source_branch: boolean | null
}

/**
 * Intents of ref updates: written before the refs move, removed in the transaction that records what follows. One that
 * is left over is finished or dropped, as the refs tell (SEC-158).
 */
export const refIntents = pgTable(
  'ref_intents',
  {
    id: id(),
    project_id: ref()
      .notNull()
      .references(() => projects.id, { onDelete: 'cascade' }),
    actor_id: ref(),
    origin: text({ enum: ['api', 'git'] }).notNull(),
    updates: jsonb().$type<{ ref: string; old: string; new: string }[]>().notNull(),
    /** The merge that it performs. */
    merge: jsonb().$type<MergeIntent>(),
    /** The process that moves the refs, as in `processes`; null: one that is not known there. */
    owner: text(),
    created_at: moment().notNull().defaultNow(),
  },
  (t) => [index('ref_intents_project_id_idx').on(t.project_id)],
)
