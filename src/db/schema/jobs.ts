import { sql } from 'drizzle-orm'
import { index, integer, jsonb, pgTable, smallint, text, timestamp } from 'drizzle-orm/pg-core'
import { hookChain, id, moment } from './columns.js'

/** A timestamp in microseconds; rounded up to milliseconds, a new job would not be due at once. */
const instant = () => timestamp({ withTimezone: true, mode: 'date' })

/** Jobs: work that must be done once committed, even after a kill. Rows of jobs that have succeeded are deleted. */
export const jobs = pgTable(
  'jobs',
  {
    id: id(),
    kind: text().notNull(),
    /** Waiting jobs of one kind and key are merged into one run. */
    key: text(),
    /** At most `lane_limit` jobs of a lane run at a time. */
    lane: text(),
    lane_limit: smallint().notNull().default(1),
    /** 0 is the highest. */
    priority: smallint().notNull().default(1),
    payload: jsonb().notNull(),
    created_at: moment().notNull().defaultNow(),
    /** When the job is due; while it runs, when its lease expires. */
    run_at: instant().notNull().defaultNow(),
    /** How often it was claimed. */
    attempts: integer().notNull().default(0),
    /** The process that holds the lease. */
    worker: text(),
    last_error: text(),
    /** Set when the job failed for good; it runs again only on request of an administrator. */
    failed_at: moment(),
    /** The webhooks whose deliveries led to it, the oldest first (HK-30). */
    hook_chain: hookChain(),
  },
  (t) => [
    index('jobs_due_idx').on(t.priority, t.run_at, t.id).where(sql`${t.failed_at} is null`),
    index('jobs_key_idx').on(t.kind, t.key).where(sql`${t.key} is not null and ${t.failed_at} is null`),
    index('jobs_running_idx').on(t.lane).where(sql`${t.worker} is not null`),
  ],
)

/** Processes that run jobs; one without a recent heartbeat was killed. */
export const processes = pgTable('processes', { id: text().primaryKey(), alive_until: instant().notNull() })

/** When each periodic job is due next. */
export const jobSchedules = pgTable('job_schedules', { kind: text().primaryKey(), next_at: instant().notNull() })
