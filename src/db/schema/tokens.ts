import { sql } from 'drizzle-orm'
import { boolean, date, index, pgTable, text, uniqueIndex } from 'drizzle-orm/pg-core'
import { id, moment, ref } from './columns.js'
import { users } from './users.js'

/**
 * All kinds of tokens, so that one query and one function judge every credential (SEC-12). Only digests are stored, and
 * impersonation tokens encrypted as well (SEC-21).
 */
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
    /** The encrypted value of an impersonation token, which is shown again (CR-7, T-4). */
    sealed: text(),
    scopes: text().array().notNull(),
    revoked: boolean().notNull().default(false),
    /** Valid until 00:00 UTC of this day (CR-8). */
    expires_at: date({ mode: 'string' }),
    /** For OAuth tokens, which expire to the second. */
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
