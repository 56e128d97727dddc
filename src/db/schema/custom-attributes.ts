import { sql } from 'drizzle-orm'
import { check, index, pgTable, text, uniqueIndex } from 'drizzle-orm/pg-core'
import { id, ref } from './columns.js'
import { namespaces } from './namespaces.js'
import { projects } from './projects.js'
import { users } from './users.js'

/** Custom attributes that administrators set on a user, a group or a project: exactly one of the three. */
export const customAttributes = pgTable(
  'custom_attributes',
  {
    id: id(),
    user_id: ref().references(() => users.id, { onDelete: 'cascade' }),
    group_id: ref().references(() => namespaces.id, { onDelete: 'cascade' }),
    project_id: ref().references(() => projects.id, { onDelete: 'cascade' }),
    key: text().notNull(),
    value: text().notNull(),
  },
  (t) => [
    check('custom_attributes_one_source', sql`num_nonnulls(${t.user_id}, ${t.group_id}, ${t.project_id}) = 1`),
    uniqueIndex('custom_attributes_user_id_key').on(t.user_id, t.key).where(sql`${t.user_id} is not null`),
    uniqueIndex('custom_attributes_group_id_key').on(t.group_id, t.key).where(sql`${t.group_id} is not null`),
    uniqueIndex('custom_attributes_project_id_key').on(t.project_id, t.key).where(sql`${t.project_id} is not null`),
    index('custom_attributes_key_idx').on(t.key, sql`md5(${t.value})`),
  ],
)
