import { index, jsonb, pgTable, text } from 'drizzle-orm/pg-core'
import { id, moment, ref } from './columns.js'
import { projects } from './projects.js'

/** All that a start must know of a merge under way, beside its commit: which request, and what the caller said of the source branch (MR-10). */
export interface MergeIntent {
  request: number
  should_remove_source_branch: boolean | null
}

/** Ref moves that are under way: written before the refs, removed with the rows that follow from them. One that is left over is finished or undone by looking at the refs (SEC-158). */
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
    /** What is to be merged by it. */
    merge: jsonb().$type<MergeIntent>(),
    created_at: moment().notNull().defaultNow(),
  },
  (t) => [index('ref_intents_project_id_idx').on(t.project_id)],
)
