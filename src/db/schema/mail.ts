import { sql } from 'drizzle-orm'
import { bigint, check, index, pgTable, text, uniqueIndex } from 'drizzle-orm/pg-core'
import { MAIL_EVENTS, NOTIFICATION_LEVELS } from '../../lib/notifications.js'
import { id, moment, ref } from './columns.js'
import { namespaces } from './namespaces.js'
import { projects } from './projects.js'
import { users } from './users.js'

/** What a user wants to be mailed about in a project, in a group or, with neither, in general (OT-9). */
export const notificationSettings = pgTable(
  'notification_settings',
  {
    id: id(),
    user_id: ref()
      .notNull()
      .references(() => users.id, { onDelete: 'cascade' }),
    project_id: ref().references(() => projects.id, { onDelete: 'cascade' }),
    namespace_id: ref().references(() => namespaces.id, { onDelete: 'cascade' }),
    level: text({ enum: NOTIFICATION_LEVELS }).notNull(),
    /** What is on while the level is `custom`. */
    events: text({ enum: MAIL_EVENTS }).array().notNull(),
    /** Of the general one: where mails go to, while it is a confirmed address of the user (ML-12). */
    email: text(),
    updated_at: moment().notNull().defaultNow(),
  },
  (t) => [
    check('notification_settings_one_source', sql`num_nonnulls(${t.project_id}, ${t.namespace_id}) < 2`),
    uniqueIndex('notification_settings_key').on(t.user_id, sql`coalesce(${t.project_id}, 0)`, sql`coalesce(${t.namespace_id}, 0)`),
    index('notification_settings_project_id_idx').on(t.project_id, t.user_id).where(sql`${t.project_id} is not null`),
    index('notification_settings_namespace_id_idx').on(t.namespace_id, t.user_id).where(sql`${t.namespace_id} is not null`),
  ],
)

/** A link that was mailed: it confirms an address, or sets a password, once (ML-20). */
export const accountLinks = pgTable(
  'account_links',
  {
    id: id(),
    digest: text().notNull(),
    purpose: text({ enum: ['confirm', 'reset'] }).notNull(),
    user_id: ref()
      .notNull()
      .references(() => users.id, { onDelete: 'cascade' }),
    /** Where it was sent to. */
    email: text().notNull(),
    /** Of the job that sent it; one that is repeated replaces its link. */
    job_id: ref().notNull(),
    expires_at: moment().notNull(),
    created_at: moment().notNull(),
  },
  (t) => [uniqueIndex('account_links_digest_key').on(t.digest), index('account_links_user_id_idx').on(t.user_id, t.purpose)],
)

/** One row while mail is configured: triggers write down what is to be mailed. */
export const mailService = pgTable('mail_service', { id: bigint({ mode: 'number' }).primaryKey() })
