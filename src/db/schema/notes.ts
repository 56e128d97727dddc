import { sql } from 'drizzle-orm'
import { boolean, check, index, integer, pgTable, text } from 'drizzle-orm/pg-core'
import { id, moment, ref } from './columns.js'
import { projects } from './projects.js'
import { users } from './users.js'

/** What people say about a thing of a project: a commit by its hash, anything else by its id. */
export const notes = pgTable(
  'notes',
  {
    id: id(),
    project_id: ref()
      .notNull()
      .references(() => projects.id, { onDelete: 'cascade' }),
    noteable_type: text({ enum: ['Commit', 'Issue', 'MergeRequest', 'Snippet'] }).notNull(),
    /** Null for a commit. */
    noteable_id: ref(),
    commit_id: text(),
    author_id: ref()
      .notNull()
      .references(() => users.id),
    note: text().notNull(),
    /** Written by the service, not by a person. */
    system: boolean().notNull().default(false),
    /** The place of a comment on a line of a diff, all three or none (C-60). */
    path: text(),
    line: integer(),
    line_type: text({ enum: ['new', 'old'] }),
    created_at: moment().notNull().defaultNow(),
    updated_at: moment().notNull().defaultNow(),
  },
  (t) => [
    check('notes_one_noteable', sql`case ${t.noteable_type} when 'Commit' then ${t.commit_id} is not null else ${t.noteable_id} is not null end`),
    check('notes_whole_place', sql`num_nulls(${t.path}, ${t.line}, ${t.line_type}) in (0, 3)`),
    index('notes_project_id_commit_id_idx').on(t.project_id, t.commit_id, t.created_at, t.id).where(sql`${t.noteable_type} = 'Commit'`),
    index('notes_noteable_idx').on(t.project_id, t.noteable_type, t.noteable_id, t.created_at, t.id).where(sql`${t.noteable_id} is not null`),
    index('notes_author_id_idx').on(t.author_id),
  ],
)
