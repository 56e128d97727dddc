import { index, jsonb, pgTable, text } from 'drizzle-orm/pg-core'
import { id, moment, ref } from './columns.js'

/**
 * The audit log: rows are only ever added (SEC-168). Names are stored beside ids, without foreign keys, because the
 * things they refer to may be deleted later.
 */
export const auditEvents = pgTable(
  'audit_events',
  {
    id: id(),
    created_at: moment().notNull().defaultNow(),
    /** Null for the service itself or its command line. */
    actor_id: ref(),
    actor: text(),
    /** The administrator who made a sudo call. */
    sudoer_id: ref(),
    sudoer: text(),
    action: text().notNull(),
    target_type: text().notNull(),
    target_id: ref(),
    target: text().notNull(),
    /** Changed fields with their values before and after; of secrets only that they changed. */
    changes: jsonb().$type<Record<string, unknown>>().notNull(),
    address: text(),
    request_id: text(),
  },
  (t) => [
    index('audit_events_created_at_idx').on(t.created_at, t.id),
    index('audit_events_actor_idx').on(t.actor, t.created_at, t.id),
    index('audit_events_action_idx').on(t.action, t.created_at, t.id),
    index('audit_events_target_idx').on(t.target_type, t.target_id, t.created_at, t.id),
  ],
)
