import { type SQL, sql } from 'drizzle-orm'
import type { z } from 'zod'
import { type Database, notifyAfterCommit, type Transaction } from '../db/client.js'
import { jobs } from '../db/schema/index.js'
import { storable } from '../lib/storable.js'
import { type Job, PRIORITIES, type Priority } from './kinds.js'

export interface JobOptions {
  /**
   * Waiting jobs of one kind and key are merged into one run with the newest input. A running job does not count: a job
   * that is enqueued meanwhile runs afterwards.
   */
  key?: string | undefined
  /**
   * Jobs of one lane, such as those of one repository, run one at a time, or `perLane` at a time. By default a job with
   * a key gets a lane of its kind and key.
   */
  lane?: string | undefined
  /** The job does not start before this moment. */
  runAt?: Date | undefined
  /** Milliseconds before the job may start. */
  delay?: number | undefined
  priority?: Priority | undefined
}

/** What is known of a job where it is enqueued. */
type Enqueued<Input extends z.ZodType> = Pick<Job<never, Input>, 'kind' | 'input' | 'priority' | 'perLane'>

/** A row to insert into `jobs`. */
export interface NewJob extends JobOptions {
  kind: string
  perLane: number
  payload: unknown
}

/**
 * Enqueues a job in the transaction of the change that requires it, so that both are committed or neither is. The
 * commit wakes the worker of this process.
 */
export const enqueue = <Input extends z.ZodType>(
  db: Transaction | Database,
  job: Enqueued<Input>,
  input: z.input<Input>,
  options: JobOptions = {},
): Promise<void> => insertJobs(db, [newJob(job, input, options)])

/** Enqueues any number of jobs of one kind in one statement. */
export const enqueueAll = <Input extends z.ZodType>(
  db: Transaction | Database,
  job: Enqueued<Input>,
  all: ({ input: z.input<Input> } & JobOptions)[],
): Promise<void> =>
  insertJobs(
    db,
    all.map(({ input, ...options }) => newJob(job, input, options)),
  )

/** A job for `insertStatement`. */
export const newJob = <Input extends z.ZodType>(job: Enqueued<Input>, payload: z.input<Input>, options: JobOptions = {}): NewJob => ({
  ...options,
  priority: options.priority ?? job.priority,
  kind: job.kind,
  perLane: job.perLane ?? 1,
  payload,
})

async function insertJobs(db: Transaction | Database, all: NewJob[]): Promise<void> {
  if (all.length === 0) return
  if ('batch' in db) {
    await db.write.execute(insertStatement(all))
    db.notifyCommitted()
  } else {
    await db.execute(insertStatement(all))
    notifyAfterCommit(db)
  }
}

/**
 * The insert as a statement, or as a part of a larger one. The caller must call `Database.committed` after the commit
 * to wake the worker.
 */
export function insertStatement(all: NewJob[]): SQL {
  const rows = JSON.stringify(all.map(toRow), (_, value: unknown) => (typeof value === 'string' ? storable(value) : value))
  return sql`insert into ${jobs} (kind, key, lane, lane_limit, priority, payload, run_at)
    select kind, key, lane, lane_limit, priority, payload, coalesce(run_at, pg_catalog.now() + delay * interval '1 millisecond')
    from jsonb_to_recordset(${rows}::jsonb)
      as t (kind text, key text, lane text, lane_limit smallint, priority smallint, payload jsonb, run_at timestamptz, delay float8)`
}

const toRow = ({ kind, key, lane, perLane, runAt, delay, priority, payload }: NewJob) => ({
  kind,
  key,
  lane: lane ?? (key === undefined ? undefined : `${kind} ${key}`),
  lane_limit: perLane,
  priority: PRIORITIES[priority ?? 'normal'],
  payload,
  run_at: runAt?.toISOString(),
  delay: delay ?? 0,
})

/** Deletes waiting jobs of this kind and key, when their work has been done in another way. */
export const cancel = async (db: Database, { kind }: { kind: string }, key: string): Promise<void> =>
  void (await db.write.execute(sql`delete from ${jobs} where kind = ${kind} and key = ${key} and worker is null and failed_at is null`))
