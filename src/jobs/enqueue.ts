import { type SQL, sql } from 'drizzle-orm'
import type { z } from 'zod'
import { type Database, type Transaction, tellAfterCommit } from '../db/client.js'
import { jobs } from '../db/schema/index.js'
import { type Job, PRIORITIES, type Priority } from './kinds.js'
import { storable } from './storable.js'

export interface JobOptions {
  /**
   * Jobs of one kind and key that wait at the same time are run once, with the newest input. A job that runs already
   * does not count: what is enqueued meanwhile is run afterwards.
   */
  key?: string | undefined
  /** Jobs of one lane run one at a time (or `perLane`), such as those of a repository. A key without a lane is one. */
  lane?: string | undefined
  /** Not before this moment. */
  runAt?: Date | undefined
  /** Not before so many milliseconds from now. */
  delay?: number | undefined
  priority?: Priority | undefined
}

/** A job as it will be written. */
export interface NewJob extends JobOptions {
  kind: string
  perLane: number
  payload: unknown
}

/**
 * Enqueues a job in the transaction of the change that makes it necessary: both are committed, or neither is. This
 * process is woken by the commit.
 */
export const enqueue = <Input extends z.ZodType>(
  db: Transaction | Database,
  job: Job<never, Input>,
  input: z.input<Input>,
  options: JobOptions = {},
): Promise<void> => insertJobs(db, [newJob(job, input, options)])

/** The same for any number of jobs of one kind, in one statement. */
export const enqueueAll = <Input extends z.ZodType>(
  db: Transaction | Database,
  job: Job<never, Input>,
  all: ({ input: z.input<Input> } & JobOptions)[],
): Promise<void> =>
  insertJobs(
    db,
    all.map(({ input, ...options }) => newJob(job, input, options)),
  )

/** A job for `insertOf`. */
export const newJob = <Input extends z.ZodType>(job: Job<never, Input>, payload: z.input<Input>, options: JobOptions = {}): NewJob => ({
  ...options,
  priority: options.priority ?? job.priority,
  kind: job.kind,
  perLane: job.perLane ?? 1,
  payload,
})

async function insertJobs(db: Transaction | Database, all: NewJob[]): Promise<void> {
  if (all.length === 0) return
  if ('burst' in db) {
    await db.write.execute(insertOf(all))
    db.committed()
  } else {
    await db.execute(insertOf(all))
    tellAfterCommit(db)
  }
}

/**
 * The insert as a statement, or as a part of one that is sent anyway; then `Database.committed` wakes the worker after
 * the commit.
 */
export function insertOf(all: NewJob[]): SQL {
  const rows = JSON.stringify(all.map(rowOf), (_, value: unknown) => (typeof value === 'string' ? storable(value) : value))
  return sql`insert into ${jobs} (kind, key, lane, lane_limit, priority, payload, run_at)
    select kind, key, lane, lane_limit, priority, payload, coalesce(run_at, pg_catalog.now() + delay * interval '1 millisecond')
    from jsonb_to_recordset(${rows}::jsonb)
      as t (kind text, key text, lane text, lane_limit smallint, priority smallint, payload jsonb, run_at timestamptz, delay float8)`
}

const rowOf = ({ kind, key, lane, perLane, runAt, delay, priority, payload }: NewJob) => ({
  kind,
  key,
  lane: lane ?? (key === undefined ? undefined : `${kind} ${key}`),
  lane_limit: perLane,
  priority: PRIORITIES[priority ?? 'normal'],
  payload,
  run_at: runAt?.toISOString(),
  delay: delay ?? 0,
})

/** Takes back jobs that wait, where what they would do has been done. */
export const cancel = async (db: Database, { kind }: { kind: string }, key: string): Promise<void> =>
  void (await db.write.execute(sql`delete from ${jobs} where kind = ${kind} and key = ${key} and worker is null and failed_at is null`))
