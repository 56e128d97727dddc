import { bigint, boolean, index, integer, jsonb, pgTable, primaryKey, text, uniqueIndex } from 'drizzle-orm/pg-core'
import { id, moment, ref } from './columns.js'
import { NOTEABLES } from './notes.js'
import { projects } from './projects.js'
import { users } from './users.js'

/** One row with the settings that were changed; the others have their defaults. */
export const applicationSettings = pgTable('application_settings', {
  id: bigint({ mode: 'number' }).primaryKey(),
  values: jsonb().$type<Record<string, unknown>>().notNull(),
  created_at: moment().notNull().defaultNow(),
  updated_at: moment().notNull().defaultNow(),
})

/** One row about what belongs to this database and is kept elsewhere. */
export const installation = pgTable('installation', {
  id: bigint({ mode: 'number' }).primaryKey(),
  /** A signature by the secret key, which tells it from others (SEC-256). */
  key_check: text().notNull(),
  /** The content of the owner object in a bucket of LFS objects; it outlives the key. */
  bucket_owner: text().notNull(),
})

/**
 * Slotted counters: the version of a kind of list is the sum over its rows. Triggers increment it, each running
 * transaction in a row of its own, so that writers never wait for each other; see the end of the migration.
 */
export const listVersions = pgTable(
  'list_versions',
  {
    id: id(),
    kind: text({ enum: ['users', 'projects', 'groups', 'issues', 'merge_requests'] }).notNull(),
    /** The project id modulo 256 for lists within one project; 0 for others. */
    bucket: integer().notNull().default(0),
    version: bigint({ mode: 'number' }).notNull(),
  },
  (t) => [index('list_versions_kind_bucket_idx').on(t.kind, t.bucket)],
)

/** Failed checks of storages, shared by all processes; without a row the access is possible (SEC-188). */
export const storageFailures = pgTable(
  'storage_failures',
  {
    storage: text().notNull(),
    access: text({ enum: ['read', 'write'] }).notNull(),
    failures: integer().notNull(),
    failed_at: moment().notNull().defaultNow(),
    /** Good checks in a row since the last failure, and when the last was. */
    passes: integer().notNull().default(0),
    passed_at: moment(),
  },
  (t) => [primaryKey({ columns: [t.storage, t.access] })],
)
/**
 * Counters in time windows, shared by all processes, such as bad credentials of an address. Unlogged: a crash of
 * Postgres resets them.
 */
export const counters = pgTable(
  'counters',
  {
    /** A digest of the key. */
    key: text().primaryKey(),
    count: integer().notNull(),
    /** When the window ends. */
    until: moment().notNull(),
  },
  (t) => [index('counters_until_idx').on(t.until)],
)

/** Messages of administrators that all pages show for some time. */
export const broadcastMessages = pgTable(
  'broadcast_messages',
  {
    id: id(),
    message: text().notNull(),
    starts_at: moment().notNull(),
    ends_at: moment().notNull(),
    /** Stored and shown by the API alone. */
    color: text(),
    font: text(),
    target_path: text(),
    broadcast_type: text({ enum: ['banner', 'notification'] }).notNull(),
    dismissable: boolean().notNull(),
    created_at: moment().notNull().defaultNow(),
    updated_at: moment().notNull().defaultNow(),
  },
  (t) => [index('broadcast_messages_ends_at_idx').on(t.ends_at)],
)

/** What users have told administrators about others. */
export const abuseReports = pgTable(
  'abuse_reports',
  {
    id: id(),
    reporter_id: ref()
      .notNull()
      .references(() => users.id, { onDelete: 'cascade' }),
    user_id: ref()
      .notNull()
      .references(() => users.id, { onDelete: 'cascade' }),
    message: text().notNull(),
    created_at: moment().notNull().defaultNow(),
  },
  (t) => [uniqueIndex('abuse_reports_reporter_id_user_id_key').on(t.reporter_id, t.user_id), index('abuse_reports_user_id_idx').on(t.user_id)],
)

/** Texts that the spam filter holds until an administrator has read them (WB-202). */
export const heldTexts = pgTable(
  'held_texts',
  {
    id: id(),
    user_id: ref()
      .notNull()
      .references(() => users.id, { onDelete: 'cascade' }),
    /** Null for a personal snippet. */
    project_id: ref().references(() => projects.id, { onDelete: 'cascade' }),
    kind: text({ enum: ['issue', 'note', 'snippet'] }).notNull(),
    /** For a note: what it is about. A commit has its id in `data`. */
    noteable_type: text({ enum: NOTEABLES }),
    noteable_id: ref(),
    /** What the text is made from when it is released. */
    data: jsonb().notNull(),
    /** The text that the filter has marked. */
    text: text().notNull(),
    address: text().notNull(),
    user_agent: text().notNull(),
    created_at: moment().notNull(),
  },
  (t) => [index('held_texts_user_id_idx').on(t.user_id), index('held_texts_project_id_idx').on(t.project_id)],
)

/** The limits of requests of single users and addresses, in place of the general ones (WB-206). */
export const requestLimits = pgTable(
  'request_limits',
  {
    id: id(),
    /** Either this or `address` is set. */
    user_id: ref().references(() => users.id, { onDelete: 'cascade' }),
    address: text(),
    /** Requests in a period; 0: no limit. */
    requests: integer().notNull(),
    created_at: moment().notNull(),
  },
  (t) => [uniqueIndex('request_limits_user_id_key').on(t.user_id), uniqueIndex('request_limits_address_key').on(t.address)],
)

/** What was found at the last backup, run of the doctor and check of a provider of sign-ins (WB-205). */
export const lastChecks = pgTable('last_checks', {
  /** `backup`, `doctor`, or `provider` and its name. */
  name: text().primaryKey(),
  good: boolean().notNull(),
  message: text().notNull(),
  checked_at: moment().notNull(),
})

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
