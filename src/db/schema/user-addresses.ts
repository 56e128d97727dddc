import { pgTable, primaryKey, text } from 'drizzle-orm/pg-core'
import { moment, ref } from './columns.js'
import { users } from './users.js'

/** Where people have called from, and when last; written only while the number of addresses is limited. */
export const userAddresses = pgTable(
  'user_addresses',
  {
    user_id: ref()
      .notNull()
      .references(() => users.id, { onDelete: 'cascade' }),
    address: text().notNull(),
    seen_at: moment().notNull(),
  },
  (t) => [primaryKey({ columns: [t.user_id, t.address] })],
)
