import { bigint, jsonb, pgTable } from 'drizzle-orm/pg-core'
import { moment } from './columns.js'

/** One row: what an administrator has set; what is absent has its default. */
export const applicationSettings = pgTable('application_settings', {
  id: bigint({ mode: 'number' }).primaryKey(),
  values: jsonb().$type<Record<string, unknown>>().notNull(),
  created_at: moment().notNull().defaultNow(),
  updated_at: moment().notNull().defaultNow(),
})
