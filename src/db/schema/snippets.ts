import { sql } from 'drizzle-orm'
import { check, index, integer, pgTable, text, uniqueIndex } from 'drizzle-orm/pg-core'
import { id, moment, ref } from './columns.js'
import { issues } from './issues.js'
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
