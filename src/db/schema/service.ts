import { bigint, index, integer, jsonb, pgTable, text } from 'drizzle-orm/pg-core'
import { id, moment } from './columns.js'

/** One row: the settings that were changed; the others have their defaults. */
export const applicationSettings = pgTable('application_settings', {
  id: bigint({ mode: 'number' }).primaryKey(),
  values: jsonb().$type<Record<string, unknown>>().notNull(),
  created_at: moment().notNull().defaultNow(),
  updated_at: moment().notNull().defaultNow(),
})

/**
 * Slotted counters: the version of a kind of list is the sum over its rows. Triggers raise it, and each running
 * transaction raises a row of its own, so that writers never wait for each other; see the end of the migration.
 */
export const listVersions = pgTable(
  'list_versions',
  {
    id: id(),
    kind: text({ enum: ['users', 'projects', 'groups', 'issues', 'merge_requests'] }).notNull(),
    /** For lists within one project its id modulo 256; for others 0. */
    bucket: integer().notNull().default(0),
    version: bigint({ mode: 'number' }).notNull(),
  },
  (t) => [index('list_versions_kind_bucket_idx').on(t.kind, t.bucket)],
)

/** Failed checks of storages, for all processes together; a storage without a row is sound (SEC-188). */
export const storageFailures = pgTable('storage_failures', {
  storage: text().primaryKey(),
  failures: integer().notNull(),
  failed_at: moment().notNull().defaultNow(),
})
/**
 * What is counted in windows of time by all processes together, such as bad credentials of an address. Unlogged: a
 * crash of Postgres forgets it.
 */
export const counters = pgTable(
  'counters',
  {
    /** A digest of what is counted. */
    key: text().primaryKey(),
    count: integer().notNull(),
    /** When the window ends. */
    until: moment().notNull(),
  },
  (t) => [index('counters_until_idx').on(t.until)],
)
