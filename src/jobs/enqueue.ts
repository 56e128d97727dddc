import { sql } from 'drizzle-orm'
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

/**
 * Enqueues a job in the transaction of the change that makes it necessary: both are committed, or neither is. This
 * process is woken by the commit.
 */
export const enqueue = <Input extends z.ZodType>(
  db: Transaction | Database,
  job: Job<never, Input>,
  input: z.input<Input>,
  options: JobOptions = {},
): Promise<void> => enqueueAll(db, job, [{ input, ...options }])

/** The same for any number of jobs of one kind, in one statement. */
export async function enqueueAll<Input extends z.ZodType>(
  db: Transaction | Database,
  job: Job<never, Input>,
  all: ({ input: z.input<Input> } & JobOptions)[],
): Promise<void> {
  if (all.length === 0) return
  if ('burst' in db) return db.transaction((tx) => enqueueAll(tx, job, all))
  const rows = JSON.stringify(
    all.map((each) => rowOf(job, each)),
    (_, value: unknown) => (typeof value === 'string' ? storable(value) : value),
  )
  await db.execute(sql`insert into ${jobs} (kind, key, lane, lane_limit, priority, payload, run_at)
    select ${job.kind}, key, lane, lane_limit, priority, payload, coalesce(run_at, now() + delay * interval '1 millisecond')
    from jsonb_to_recordset(${rows}::jsonb)
      as t (key text, lane text, lane_limit smallint, priority smallint, payload jsonb, run_at timestamptz, delay float8)`)
  tellAfterCommit(db)
}

function rowOf<Input extends z.ZodType>(
  job: Job<never, Input>,
  { input, key, lane, runAt, delay, priority }: { input: z.input<Input> } & JobOptions,
) {
  return {
    key,
    lane: lane ?? (key === undefined ? undefined : `${job.kind} ${key}`),
    lane_limit: job.perLane ?? 1,
    priority: PRIORITIES[priority ?? job.priority ?? 'normal'],
    payload: input,
    run_at: runAt?.toISOString(),
    delay: delay ?? 0,
  }
}
