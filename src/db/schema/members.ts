import { sql } from 'drizzle-orm'
import { check, date, index, integer, pgTable, uniqueIndex } from 'drizzle-orm/pg-core'
import { id, moment, ref } from './columns.js'
import { namespaces } from './namespaces.js'
import { projects } from './projects.js'
import { users } from './users.js'

/** A membership of a project or group. With `requested_at` it is an access request and grants nothing. */
export const members = pgTable(
  'members',
  {
    id: id(),
    user_id: ref()
      .notNull()
      .references(() => users.id, { onDelete: 'cascade' }),
    project_id: ref().references(() => projects.id, { onDelete: 'cascade' }),
    namespace_id: ref().references(() => namespaces.id, { onDelete: 'cascade' }),
    access_level: integer().notNull(),
    /** Valid until 00:00 UTC of this day (ME-10). */
    expires_at: date({ mode: 'string' }),
    requested_at: moment(),
    created_by_id: ref().references(() => users.id, { onDelete: 'set null' }),
    created_at: moment().notNull().defaultNow(),
    updated_at: moment().notNull().defaultNow(),
  },
  (t) => [
    check('members_one_source', sql`(${t.project_id} is null) <> (${t.namespace_id} is null)`),
    uniqueIndex('members_user_id_project_id_key').on(t.user_id, t.project_id).where(sql`${t.project_id} is not null`),
    uniqueIndex('members_user_id_namespace_id_key').on(t.user_id, t.namespace_id).where(sql`${t.namespace_id} is not null`),
    index('members_project_id_idx').on(t.project_id).where(sql`${t.project_id} is not null`),
    index('members_namespace_id_idx').on(t.namespace_id).where(sql`${t.namespace_id} is not null`),
  ],
)
