import { sql } from 'drizzle-orm'
import { boolean, check, index, integer, pgTable, primaryKey, text, uniqueIndex } from 'drizzle-orm/pg-core'
import { id, moment, ref } from './columns.js'
import { projects } from './projects.js'
import { users } from './users.js'

/** The servers that `roost import` has imported from. */
export const imports = pgTable('imports', { id: id(), url: text().notNull(), created_at: moment().notNull().defaultNow() }, (t) => [
  uniqueIndex('imports_url_key').on(t.url),
])

/** The result of each imported item, so that an import can resume and imports nothing twice. */
export const importItems = pgTable(
  'import_items',
  {
    import_id: ref()
      .notNull()
      .references(() => imports.id, { onDelete: 'cascade' }),
    kind: text().notNull(),
    /** Its name in the API of the source. */
    key: text().notNull(),
    /** The local id; null if it has none of its own. The item may have been deleted since. */
    here: ref(),
    /** Why the item failed, with a name for people; the next run retries it. */
    fault: text(),
    name: text(),
  },
  (t) => [primaryKey({ columns: [t.import_id, t.kind, t.key] }), check('import_items_fault', sql`(${t.fault} is null) = (${t.name} is null)`)],
)

/** A repository elsewhere that a project is pushed to (PM-1), or that it follows (PM-20), of which it has at most one. */
export const mirrors = pgTable(
  'mirrors',
  {
    id: id(),
    project_id: ref()
      .notNull()
      .references(() => projects.id, { onDelete: 'cascade' }),
    direction: text({ enum: ['push', 'pull'] }).notNull(),
    /** The displayed address, with user and password masked. */
    url: text().notNull(),
    /** The encrypted address, if it contains a user or a password (SEC-139). */
    sealed_url: text(),
    enabled: boolean().notNull(),
    only_protected_branches: boolean().notNull().default(false),
    /** Whether branches that have other commits on the receiving side are overwritten. */
    overwrites_diverged: boolean().notNull(),
    /** Whether what a pull brings makes pipelines. */
    trigger_builds: boolean().notNull().default(false),
    /** As whom a pull moves branches. */
    user_id: ref().references(() => users.id, { onDelete: 'set null' }),
    update_status: text({ enum: ['none', 'scheduled', 'started', 'finished', 'failed', 'to_retry'] })
      .notNull()
      .default('none'),
    last_error: text(),
    last_update_at: moment(),
    last_update_started_at: moment(),
    last_successful_update_at: moment(),
    /** Failed updates since the last success. */
    failures: integer().notNull().default(0),
    /** When a pull is due; null: never. */
    next_update_at: moment(),
    created_at: moment().notNull().defaultNow(),
    updated_at: moment().notNull().defaultNow(),
  },
  (t) => [
    index('mirrors_project_id_idx').on(t.project_id, t.id),
    uniqueIndex('mirrors_pull_key').on(t.project_id).where(sql`${t.direction} = 'pull'`),
    index('mirrors_next_update_at_idx').on(t.next_update_at).where(sql`${t.next_update_at} is not null`),
    index('mirrors_user_id_idx').on(t.user_id),
  ],
)
