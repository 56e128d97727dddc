import { bigint, timestamp } from 'drizzle-orm/pg-core'

/** Primary key; never reused (SEC-165), never chosen by a caller. */
export const id = () => bigint({ mode: 'number' }).generatedAlwaysAsIdentity().primaryKey()

/** A reference to another row's id; the caller adds `.references(…)`. */
export const ref = () => bigint({ mode: 'number' })

/** A timestamp in UTC, to the millisecond (G-81). */
export const moment = () => timestamp({ withTimezone: true, precision: 3, mode: 'date' })
