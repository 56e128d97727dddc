import { bigint, jsonb, pgTable } from 'drizzle-orm/pg-core'
import { moment } from './columns.js'

/** One row: the settings that were changed; the others have their defaults. */
export const applicationSettings = pgTable('application_settings', {
  id: bigint({ mode: 'number' }).primaryKey(),
  values: jsonb().$type<Record<string, unknown>>().notNull(),
  created_at: moment().notNull().defaultNow(),
  updated_at: moment().notNull().defaultNow(),
})
