import { sql } from 'drizzle-orm'
import { bigint, customType, timestamp } from 'drizzle-orm/pg-core'
import { TRANSACTION_SETTINGS } from '../sql/names.js'

/** Primary key; never reused (SEC-165), never chosen by a caller. */
export const id = () => bigint({ mode: 'number' }).generatedAlwaysAsIdentity().primaryKey()

/** A reference to another row's id; the caller adds `.references(…)`. */
export const ref = () => bigint({ mode: 'number' })

/** Ids of users in their order; without foreign keys: `people.sql` takes users out who are removed. */
export const people = () => bigint({ mode: 'number' }).array().notNull().default(sql`'{}'`)

/** The chain of webhooks that led to a row, as the transaction knows it (HK-30); null for none. */
export const hookChain = () =>
  bigint({ mode: 'number' })
    .array()
    .default(sql`nullif(current_setting('${sql.raw(TRANSACTION_SETTINGS.hookChain)}', true), '')::bigint[]`)

/** A timestamp in UTC, to the millisecond (G-81). */
export const moment = () => timestamp({ withTimezone: true, precision: 3, mode: 'date' })

/** Bytes. */
export const bytea = customType<{ data: Buffer }>({ dataType: () => 'bytea' })
