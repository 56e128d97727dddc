import { index, jsonb, pgTable, text } from 'drizzle-orm/pg-core'
import { id, moment, ref } from './columns.js'
import { projects } from './projects.js'

/**
 * What recovery needs to know about a merge besides the new head of its target: the merge request, whether the source
 * branch is to be removed (MR-10), the merged head of the source, the squashed commit, and whether there is no merge
 * commit. Intents of 0.2.0 have the first two only.
 */
export interface MergeIntent {
  request: number
  should_remove_source_branch: boolean | null
  head?: string
  /** The attribute, as given with the merge. */
  squash?: boolean
  squash_commit?: string | null
  fast_forward?: boolean
}

/**
 * Intents of ref updates: inserted before the refs move, and deleted in the transaction that records what follows. A
 * leftover intent is finished or dropped, depending on the refs (SEC-158).
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
    updates: jsonb().$type<{ ref: string; old: string; new: string; skip_ci?: boolean; without_ci?: boolean; ci_variables?: string }[]>().notNull(),
    /** The merge that the update performs. */
    merge: jsonb().$type<MergeIntent>(),
    /** The process that moves the refs, as in `processes`; null for a process that is not registered there. */
    owner: text(),
    created_at: moment().notNull().defaultNow(),
  },
  (t) => [index('ref_intents_project_id_idx').on(t.project_id)],
)
