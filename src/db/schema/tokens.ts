import { sql } from 'drizzle-orm'
import { boolean, date, index, pgTable, text, uniqueIndex } from 'drizzle-orm/pg-core'
import { id, moment, ref } from './columns.js'
import { users } from './users.js'

/** Everything that can be presented as a token, so that one look-up and one function judge every carrier (SEC-12). Only digests are kept, and of impersonation tokens what the vault seals (SEC-21). */
export const tokens = pgTable(
  'tokens',
  {
    id: id(),
    user_id: ref()
      .notNull()
      .references(() => users.id, { onDelete: 'cascade' }),
    kind: text({ enum: ['personal', 'impersonation', 'oauth'] }).notNull(),
    name: text().notNull(),
    description: text(),
    /** SHA-256 of the value, hex. */
    digest: text().notNull(),
    refresh_digest: text(),
    /** The value of an impersonation token, sealed: its answers show it again (CR-7, T-4). */
    sealed: text(),
    scopes: text().array().notNull(),
    revoked: boolean().notNull().default(false),
    /** Good until 00:00 UTC of this day (CR-8). */
    expires_at: date({ mode: 'string' }),
    /** OAuth tokens live to the second. */
    valid_until: moment(),
    last_used_at: moment(),
    created_at: moment().notNull().defaultNow(),
    updated_at: moment().notNull().defaultNow(),
  },
  (t) => [
    uniqueIndex('tokens_digest_key').on(t.digest),
    uniqueIndex('tokens_refresh_digest_key').on(t.refresh_digest).where(sql`${t.refresh_digest} is not null`),
    index('tokens_user_id_idx').on(t.user_id, t.id),
  ],
)
