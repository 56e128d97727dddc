import { index, jsonb, pgTable, text } from 'drizzle-orm/pg-core'
import { id, moment, ref } from './columns.js'

/**
 * The audit log: rows are only ever added (SEC-168). Names are stored beside ids because what they name may be deleted
 * later; there are no foreign keys.
 */
export const auditEvents = pgTable(
  'audit_events',
  {
    id: id(),
    created_at: moment().notNull().defaultNow(),
    /** Null: the service itself, or its command line. */
    actor_id: ref(),
    actor: text(),
    /** The administrator behind a sudo call. */
    sudoer_id: ref(),
    sudoer: text(),
    action: text().notNull(),
    target_type: text().notNull(),
    target_id: ref(),
    target: text().notNull(),
    /** Field → before and after; secrets only as having changed. */
    changes: jsonb().$type<Record<string, unknown>>().notNull(),
    address: text(),
    request_id: text(),
  },
  (t) => [index('audit_events_created_at_idx').on(t.created_at, t.id)],
)
