import { pgTable, text } from 'drizzle-orm/pg-core'
import { moment, ref } from './columns.js'
import { users } from './users.js'

/** What people say of themselves at the moment. */
export const userStatuses = pgTable('user_statuses', {
  user_id: ref()
    .primaryKey()
    .references(() => users.id, { onDelete: 'cascade' }),
  emoji: text().notNull(),
  message: text(),
  availability: text({ enum: ['busy', 'not_set'] }).notNull(),
  updated_at: moment().notNull().defaultNow(),
})
