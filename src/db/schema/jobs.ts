import { sql } from 'drizzle-orm'
import { index, integer, jsonb, pgTable, smallint, text, timestamp } from 'drizzle-orm/pg-core'
import { id, moment } from './columns.js'

/** To the microsecond: a job that was rounded up would not be due at once. */
const instant = () => timestamp({ withTimezone: true, mode: 'date' })

/** Work that must be done once it is committed, whatever is killed meanwhile; a job that has succeeded is deleted. */
export const jobs = pgTable(
  'jobs',
  {
    id: id(),
    kind: text().notNull(),
    /** Jobs of one kind and key that wait at the same time are run once. */
    key: text(),
    /** At most `lane_limit` jobs of a lane run at a time. */
    lane: text(),
    lane_limit: smallint().notNull().default(1),
    /** 0 is taken first. */
    priority: smallint().notNull().default(1),
    payload: jsonb().notNull(),
    created_at: moment().notNull().defaultNow(),
    /** When it may be taken; while it runs, when its lease ends. */
    run_at: instant().notNull().defaultNow(),
    /** How often it was taken. */
    attempts: integer().notNull().default(0),
    /** Who has the lease. */
    worker: text(),
    last_error: text(),
    /** It is not tried again, unless an administrator asks for it. */
    failed_at: moment(),
  },
  (t) => [
    index('jobs_due_idx').on(t.priority, t.run_at, t.id).where(sql`${t.failed_at} is null`),
    index('jobs_key_idx').on(t.kind, t.key).where(sql`${t.key} is not null and ${t.failed_at} is null`),
    index('jobs_running_idx').on(t.lane).where(sql`${t.worker} is not null`),
  ],
)

/** Processes that work on jobs; one that has not said for a while that it is alive was killed. */
export const processes = pgTable('processes', { id: text().primaryKey(), alive_until: instant().notNull() })

/** When the jobs that are repeated are due next. */
export const jobSchedules = pgTable('job_schedules', { kind: text().primaryKey(), next_at: instant().notNull() })
