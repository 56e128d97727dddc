import { sql } from 'drizzle-orm'
import { check, pgTable, primaryKey, text, uniqueIndex } from 'drizzle-orm/pg-core'
import { id, moment, ref } from './columns.js'

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
