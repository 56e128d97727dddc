import { sql } from 'drizzle-orm'
import { boolean, check, pgTable, text, uniqueIndex } from 'drizzle-orm/pg-core'
import { id, moment, ref } from './columns.js'
import { namespaces } from './namespaces.js'
import { projects } from './projects.js'

/** A CI variable of a project or a group, exactly one of the two. */
export const variables = pgTable(
  'variables',
  {
    id: id(),
    project_id: ref().references(() => projects.id, { onDelete: 'cascade' }),
    group_id: ref().references(() => namespaces.id, { onDelete: 'cascade' }),
    key: text().notNull(),
    /** The encrypted value (V-6). */
    sealed: text().notNull(),
    protected: boolean().notNull().default(false),
    created_at: moment().notNull().defaultNow(),
    updated_at: moment().notNull().defaultNow(),
  },
  (t) => [
    check('variables_one_source', sql`num_nonnulls(${t.project_id}, ${t.group_id}) = 1`),
    uniqueIndex('variables_project_id_key_key').on(t.project_id, t.key).where(sql`${t.project_id} is not null`),
    uniqueIndex('variables_group_id_key_key').on(t.group_id, t.key).where(sql`${t.group_id} is not null`),
  ],
)
