import { sql } from 'drizzle-orm'
import { check, pgTable, primaryKey, text, uniqueIndex } from 'drizzle-orm/pg-core'
import { id, moment, ref } from './columns.js'

/** The servers that `roost import` has brought something from. */
export const imports = pgTable('imports', { id: id(), url: text().notNull(), created_at: moment().notNull().defaultNow() }, (t) => [
  uniqueIndex('imports_url_key').on(t.url),
])

/** What became of each thing there, so that an import goes on where it was and brings nothing twice. */
export const importItems = pgTable(
  'import_items',
  {
    import_id: ref()
      .notNull()
      .references(() => imports.id, { onDelete: 'cascade' }),
    kind: text().notNull(),
    /** What it is called by the API there. */
    key: text().notNull(),
    /** Its id here; null where it has none of its own. The thing may have been deleted meanwhile. */
    here: ref(),
    /** Why it did not come, and its name for people; the next run tries it again. */
    fault: text(),
    name: text(),
  },
  (t) => [primaryKey({ columns: [t.import_id, t.kind, t.key] }), check('import_items_fault', sql`(${t.fault} is null) = (${t.name} is null)`)],
)
