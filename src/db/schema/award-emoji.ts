import { index, pgTable, text, uniqueIndex } from 'drizzle-orm/pg-core'
import { id, moment, ref } from './columns.js'
import { projects } from './projects.js'
import { users } from './users.js'

/** What can be given an emoji. */
export const AWARDABLES = ['Issue', 'MergeRequest', 'Snippet', 'Note'] as const

/** An emoji that somebody gave to something, each name once (AE-3). Whoever deletes the thing deletes these. */
export const awardEmoji = pgTable(
  'award_emoji',
  {
    id: id(),
    project_id: ref()
      .notNull()
      .references(() => projects.id, { onDelete: 'cascade' }),
    awardable_type: text({ enum: AWARDABLES }).notNull(),
    awardable_id: ref().notNull(),
    user_id: ref()
      .notNull()
      .references(() => users.id, { onDelete: 'cascade' }),
    name: text().notNull(),
    created_at: moment().notNull(),
    updated_at: moment().notNull(),
  },
  (t) => [
    uniqueIndex('award_emoji_key').on(t.project_id, t.awardable_type, t.awardable_id, t.name, t.user_id),
    index('award_emoji_user_id_idx').on(t.user_id, t.awardable_type, t.name, t.awardable_id),
  ],
)
