import { sql } from 'drizzle-orm'
import { check, index, pgTable, text, uniqueIndex } from 'drizzle-orm/pg-core'
import { id, moment, ref } from './columns.js'
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

/** Badges of a project or a group: linked pictures on the pages of projects (BD-1). */
export const badges = pgTable(
  'badges',
  {
    id: id(),
    project_id: ref().references(() => projects.id, { onDelete: 'cascade' }),
    namespace_id: ref().references(() => namespaces.id, { onDelete: 'cascade' }),
    name: text(),
    /** May have placeholders, as the URL of the picture. */
    link_url: text().notNull(),
    image_url: text().notNull(),
    created_at: moment().notNull().defaultNow(),
  },
  (t) => [
    check('badges_one_source', sql`num_nonnulls(${t.project_id}, ${t.namespace_id}) = 1`),
    // archives bring rows, too
    check('badges_web_urls', sql`${t.link_url} ~* '^https?://' and ${t.image_url} ~* '^https?://'`),
    check('badges_lengths', sql`length(${t.name}) <= 255 and length(${t.link_url}) <= 2048 and length(${t.image_url}) <= 2048`),
    index('badges_project_id_idx').on(t.project_id, t.id),
    index('badges_namespace_id_idx').on(t.namespace_id, t.id),
  ],
)
