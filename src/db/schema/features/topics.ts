import { sql } from 'drizzle-orm'
import { boolean, index, integer, pgTable, text, uniqueIndex } from 'drizzle-orm/pg-core'
import { id, moment } from '../columns.js'

/** What projects are about: those that projects have (`tag_list`), and those that administrators have made (TP-1). */
export const topics = pgTable(
  'topics',
  {
    id: id(),
    name: text().notNull(),
    /** Null: the name. */
    title: text(),
    description: text(),
    avatar: text(),
    /** Whether an administrator has made or changed it: it stays without projects, and everyone sees it. */
    made: boolean().notNull().default(false),
    /** Projects that have it and do not wait for their removal; a trigger keeps it (`topics.sql`). */
    projects_count: integer().notNull().default(0),
    created_at: moment().notNull().defaultNow(),
    updated_at: moment().notNull().defaultNow(),
  },
  (t) => [uniqueIndex('topics_name_key').on(t.name), index('topics_projects_count_idx').on(sql`${t.projects_count} desc`, t.name)],
)
