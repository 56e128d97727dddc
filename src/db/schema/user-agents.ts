import { sql } from 'drizzle-orm'
import { check, index, pgTable, text, uniqueIndex } from 'drizzle-orm/pg-core'
import { id, moment, ref } from './columns.js'
import { issues } from './issues.js'
import { snippets } from './snippets.js'
import { users } from './users.js'

/**
 * The IP address and user agent from which an issue or snippet was created, for administrators who look for spam.
 * Deleted with its user.
 */
export const userAgentDetails = pgTable(
  'user_agent_details',
  {
    id: id(),
    user_id: ref()
      .notNull()
      .references(() => users.id, { onDelete: 'cascade' }),
    issue_id: ref().references(() => issues.id, { onDelete: 'cascade' }),
    snippet_id: ref().references(() => snippets.id, { onDelete: 'cascade' }),
    user_agent: text().notNull(),
    ip_address: text().notNull(),
    created_at: moment().notNull(),
  },
  (t) => [
    check('user_agent_details_one_subject', sql`(${t.issue_id} is null) <> (${t.snippet_id} is null)`),
    uniqueIndex('user_agent_details_issue_id_key').on(t.issue_id).where(sql`${t.issue_id} is not null`),
    uniqueIndex('user_agent_details_snippet_id_key').on(t.snippet_id).where(sql`${t.snippet_id} is not null`),
    index('user_agent_details_user_id_idx').on(t.user_id),
  ],
)
