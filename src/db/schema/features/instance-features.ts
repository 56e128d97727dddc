import { boolean, integer, pgTable, text } from 'drizzle-orm/pg-core'
import { moment } from '../columns.js'

/** Features of the service that administrators have switched, for all or for some (FF-50). */
export const instanceFeatures = pgTable('instance_features', {
  name: text().primaryKey(),
  enabled: boolean().notNull().default(false),
  percentage_of_time: integer().notNull().default(0),
  percentage_of_actors: integer().notNull().default(0),
  /** For whom it is on: `User:5`, `Project:7`, `Group:3`. */
  actors: text().array().notNull(),
  updated_at: moment().notNull().defaultNow(),
})
