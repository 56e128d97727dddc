import { index, integer, pgTable, text } from 'drizzle-orm/pg-core'
import { id, moment, ref } from './columns.js'
import { projects } from './projects.js'
import { users } from './users.js'

/** A snippet of a user or of a project. */
export const snippets = pgTable(
  'snippets',
  {
    id: id(),
    /** Null for a personal snippet. */
    project_id: ref().references(() => projects.id, { onDelete: 'cascade' }),
    author_id: ref()
      .notNull()
      .references(() => users.id, { onDelete: 'cascade' }),
    title: text().notNull(),
    file_name: text().notNull(),
    description: text(),
    content: text().notNull(),
    /** 0 private, 10 internal, 20 public (SN-11, SN-12). */
    visibility: integer().notNull(),
    created_at: moment().notNull().defaultNow(),
    updated_at: moment().notNull().defaultNow(),
  },
  (t) => [
    index('snippets_project_id_idx').on(t.project_id, t.id),
    index('snippets_author_id_idx').on(t.author_id, t.id),
    index('snippets_created_at_idx').on(t.created_at, t.id),
  ],
)
