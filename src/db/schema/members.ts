import { sql } from 'drizzle-orm'
import { check, date, index, integer, pgTable, text, uniqueIndex } from 'drizzle-orm/pg-core'
import { MAIL_EVENTS, NOTIFICATION_LEVELS } from '../../rules/notifications.js'
import { id, moment, ref } from './columns.js'
import { namespaces } from './namespaces.js'
import { projects } from './projects.js'
import { users } from './users.js'

/** A membership of a project or group. With `requested_at` it is an access request and grants nothing. */
export const members = pgTable(
  'members',
  {
    id: id(),
    user_id: ref()
      .notNull()
      .references(() => users.id, { onDelete: 'cascade' }),
    project_id: ref().references(() => projects.id, { onDelete: 'cascade' }),
    namespace_id: ref().references(() => namespaces.id, { onDelete: 'cascade' }),
    access_level: integer().notNull(),
    /** Valid until 00:00 UTC of this day (ME-10). */
    expires_at: date({ mode: 'string' }),
    requested_at: moment(),
    created_by_id: ref().references(() => users.id, { onDelete: 'set null' }),
    created_at: moment().notNull().defaultNow(),
    updated_at: moment().notNull().defaultNow(),
  },
  (t) => [
    check('members_one_source', sql`(${t.project_id} is null) <> (${t.namespace_id} is null)`),
    uniqueIndex('members_user_id_project_id_key').on(t.user_id, t.project_id).where(sql`${t.project_id} is not null`),
    uniqueIndex('members_user_id_namespace_id_key').on(t.user_id, t.namespace_id).where(sql`${t.namespace_id} is not null`),
    index('members_project_id_idx').on(t.project_id).where(sql`${t.project_id} is not null`),
    index('members_namespace_id_idx').on(t.namespace_id).where(sql`${t.namespace_id} is not null`),
  ],
)

/** What somebody was invited to by e-mail (IV-1). One that has ended is kept for a day, for the limit of its author. */
export const invitations = pgTable(
  'invitations',
  {
    id: id(),
    project_id: ref().references(() => projects.id, { onDelete: 'cascade' }),
    namespace_id: ref().references(() => namespaces.id, { onDelete: 'cascade' }),
    /** Normalised. */
    email: text().notNull(),
    /** Of the token in the link of the mail; null before it was sent. */
    digest: text().unique(),
    access_level: integer().notNull(),
    /** Of the membership. */
    expires_at: date({ mode: 'string' }),
    created_by_id: ref()
      .notNull()
      .references(() => users.id, { onDelete: 'cascade' }),
    created_at: moment().notNull().defaultNow(),
    updated_at: moment().notNull().defaultNow(),
    ended_at: moment(),
  },
  (t) => [
    check('invitations_one_source', sql`(${t.project_id} is null) <> (${t.namespace_id} is null)`),
    uniqueIndex('invitations_project_id_email_key').on(t.project_id, t.email).where(sql`${t.project_id} is not null and ${t.ended_at} is null`),
    uniqueIndex('invitations_namespace_id_email_key').on(t.namespace_id, t.email).where(sql`${t.namespace_id} is not null and ${t.ended_at} is null`),
    index('invitations_project_id_idx').on(t.project_id).where(sql`${t.project_id} is not null`),
    index('invitations_namespace_id_idx').on(t.namespace_id).where(sql`${t.namespace_id} is not null`),
    index('invitations_email_idx').on(t.email),
    index('invitations_created_by_id_idx').on(t.created_by_id, t.created_at),
    index('invitations_created_at_idx').on(t.created_at),
  ],
)

/** The notification settings of a user for a project, for a group or, if both are null, globally (OT-9). */
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
    /** The events that are on while the level is `custom`. */
    events: text({ enum: MAIL_EVENTS }).array().notNull(),
    /** Of the global setting: the address for mail, while it is a confirmed address of the user (ML-12). */
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

/** Whom the token of a project or a group acts as (PT-1). Without either, as after its removal, the bot is removed. */
export const bots = pgTable(
  'bots',
  {
    user_id: ref()
      .primaryKey()
      .references(() => users.id, { onDelete: 'cascade' }),
    project_id: ref().references(() => projects.id, { onDelete: 'set null' }),
    group_id: ref().references(() => namespaces.id, { onDelete: 'set null' }),
    creator_id: ref().references(() => users.id, { onDelete: 'set null' }),
  },
  (t) => [
    check('bots_one_source', sql`num_nonnulls(${t.project_id}, ${t.group_id}) < 2`),
    index('bots_project_id_idx').on(t.project_id).where(sql`${t.project_id} is not null`),
    index('bots_group_id_idx').on(t.group_id).where(sql`${t.group_id} is not null`),
    index('bots_creator_id_idx').on(t.creator_id).where(sql`${t.creator_id} is not null`),
  ],
)
