import { sql } from 'drizzle-orm'
import { check, index, integer, pgTable, text, uniqueIndex } from 'drizzle-orm/pg-core'
import { id, moment, ref } from './columns.js'
import { labels, milestones } from './issues.js'
import { namespaces } from './namespaces.js'
import { projects } from './projects.js'
import { users } from './users.js'

/** A board of the issues of a project, or of those in a group. */
export const boards = pgTable(
  'boards',
  {
    id: id(),
    project_id: ref().references(() => projects.id, { onDelete: 'cascade' }),
    namespace_id: ref().references(() => namespaces.id, { onDelete: 'cascade' }),
    name: text().notNull(),
    created_at: moment().notNull(),
    updated_at: moment().notNull(),
  },
  (t) => [
    check('boards_one_source', sql`(${t.project_id} is null) <> (${t.namespace_id} is null)`),
    index('boards_project_id_idx').on(t.project_id, t.id).where(sql`${t.project_id} is not null`),
    index('boards_namespace_id_idx').on(t.namespace_id, t.id).where(sql`${t.namespace_id} is not null`),
  ],
)

/** A list of a board: the issues with its label, of its assignee or of its milestone. */
export const boardLists = pgTable(
  'board_lists',
  {
    id: id(),
    board_id: ref()
      .notNull()
      .references(() => boards.id, { onDelete: 'cascade' }),
    label_id: ref().references(() => labels.id, { onDelete: 'cascade' }),
    user_id: ref().references(() => users.id, { onDelete: 'cascade' }),
    milestone_id: ref().references(() => milestones.id, { onDelete: 'cascade' }),
    position: integer().notNull(),
    created_at: moment().notNull(),
    updated_at: moment().notNull(),
  },
  (t) => [
    check('board_lists_one_kind', sql`num_nonnulls(${t.label_id}, ${t.user_id}, ${t.milestone_id}) = 1`),
    index('board_lists_board_id_idx').on(t.board_id, t.position, t.id),
    uniqueIndex('board_lists_label_id_key').on(t.label_id, t.board_id).where(sql`${t.label_id} is not null`),
    uniqueIndex('board_lists_user_id_key').on(t.user_id, t.board_id).where(sql`${t.user_id} is not null`),
    uniqueIndex('board_lists_milestone_id_key').on(t.milestone_id, t.board_id).where(sql`${t.milestone_id} is not null`),
  ],
)
