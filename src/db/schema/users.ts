import { sql } from 'drizzle-orm'
import { boolean, date, index, integer, pgTable, primaryKey, text, uniqueIndex } from 'drizzle-orm/pg-core'
import { id, moment, ref } from './columns.js'

export const users = pgTable(
  'users',
  {
    id: id(),
    username: text().notNull(),
    name: text().notNull(),
    /** The primary e-mail address, in lower case. */
    email: text().notNull(),
    state: text({ enum: ['active', 'deactivated', 'blocked', 'ldap_blocked', 'blocked_pending_approval', 'banned'] })
      .notNull()
      .default('active'),
    /** The ghost user owns the remaining content of deleted users (G-70); a bot is whom a token of a project or group acts as (PT-1). */
    kind: text({ enum: ['human', 'ghost', 'bot'] })
      .notNull()
      .default('human'),
    /** Set when a deletion has been accepted; `hard` also deletes what they created (U-36). */
    removal: text({ enum: ['soft', 'hard'] }),
    admin: boolean().notNull().default(false),
    external: boolean().notNull().default(false),
    /** An argon2id hash; null if no password can sign in. */
    password_hash: text(),
    password_expired: boolean().notNull().default(false),
    two_factor_enabled: boolean().notNull().default(false),
    /** When the user was first asked to set up a second factor, which begins the period of grace (WB-24). */
    second_factor_asked_at: moment(),
    projects_limit: integer().notNull(),
    can_create_group: boolean().notNull().default(true),
    bio: text(),
    location: text(),
    messenger: text().notNull().default(''),
    jobsnet: text().notNull().default(''),
    microblog: text().notNull().default(''),
    website_url: text().notNull().default(''),
    organization: text().notNull().default(''),
    /** One of the confirmed addresses, shown to everyone; empty: none (US-60). */
    public_email: text().notNull().default(''),
    /** Whether only the user and administrators see when they were active and what they did (US-61). */
    private_profile: boolean().notNull().default(false),
    /** The file name of the uploaded image. */
    avatar_file: text(),
    /**
     * The displayed avatar: that file name, or `@` and the digest of the e-mail address for an avatar service (G-83).
     */
    avatar: text().generatedAlwaysAs(sql`coalesce(avatar_file, '@' || md5(lower(btrim(email))))`),
    /** Part of the token for feeds, which a new number makes another one (WB-231). */
    feed_token_version: integer().notNull().default(0),
    /** The language of pages; null: that which the browser asks for (WB-800). */
    preferred_language: text(),
    theme_id: integer().notNull().default(1),
    color_scheme_id: integer().notNull().default(1),
    confirmed_at: moment(),
    last_sign_in_at: moment(),
    current_sign_in_at: moment(),
    last_activity_on: date({ mode: 'string' }),
    created_at: moment().notNull().defaultNow(),
    updated_at: moment().notNull().defaultNow(),
  },
  (t) => [
    uniqueIndex('users_username_key').on(sql`lower(${t.username})`),
    uniqueIndex('users_email_key').on(sql`lower(${t.email})`),
    uniqueIndex('users_ghost_key').on(t.kind).where(sql`${t.kind} = 'ghost'`),
    index('users_removal_idx').on(t.id).where(sql`${t.removal} is not null`),
    // the users visible to everyone, for pages and totals (U-10)
    index('users_not_external_idx').on(t.id).where(sql`not ${t.external}`),
    index('users_last_activity_on_idx').on(t.last_activity_on, t.id),
  ],
)

export const identities = pgTable(
  'identities',
  {
    id: id(),
    user_id: ref()
      .notNull()
      .references(() => users.id, { onDelete: 'cascade' }),
    provider: text().notNull(),
    extern_uid: text().notNull(),
  },
  (t) => [
    uniqueIndex('identities_provider_extern_uid_key').on(t.provider, sql`lower(${t.extern_uid})`),
    index('identities_user_id_idx').on(t.user_id),
  ],
)

/**
 * Secondary e-mail addresses; the primary one is a column of the user. Several accounts may claim an address until one of
 * them has confirmed it (SEC-126).
 */
export const emails = pgTable(
  'emails',
  {
    id: id(),
    user_id: ref()
      .notNull()
      .references(() => users.id, { onDelete: 'cascade' }),
    email: text().notNull(),
    confirmed_at: moment(),
    created_at: moment().notNull().defaultNow(),
    updated_at: moment().notNull().defaultNow(),
  },
  (t) => [
    uniqueIndex('emails_email_key').on(sql`lower(${t.email})`).where(sql`${t.confirmed_at} is not null`),
    uniqueIndex('emails_user_id_email_key').on(t.user_id, sql`lower(${t.email})`),
    index('emails_email_idx').on(sql`lower(${t.email})`),
  ],
)

/** The status shown beside the name of a user. */
export const userStatuses = pgTable('user_statuses', {
  user_id: ref()
    .primaryKey()
    .references(() => users.id, { onDelete: 'cascade' }),
  emoji: text().notNull(),
  message: text(),
  availability: text({ enum: ['busy', 'not_set'] }).notNull(),
  updated_at: moment().notNull().defaultNow(),
})

/** The IP addresses that a user has called from, and when last; written only while their number is limited. */
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
