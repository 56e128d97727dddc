import { sql } from 'drizzle-orm'
import type { Database } from '../db/client.js'
import { jobs } from '../db/schema/index.js'

/** The number of jobs of one kind by state. */
export interface JobCounts {
  kind: string
  /** Due, but not yet claimed. */
  waiting: number
  /** Scheduled for later, or for a retry. */
  later: number
  running: number
  /** Failed for good; they run again only on request. */
  failed: number
  /** How long the oldest waiting job has been due, in seconds; 0 if none is waiting. */
  delay: number
}

/** Counts the jobs by kind and state. */
export async function countJobs(db: Database): Promise<JobCounts[]> {
  const { rows } = await db.write.execute<Record<keyof JobCounts, string>>(sql`select kind,
      count(*) filter (where failed_at is null and run_at <= pg_catalog.now()) as waiting,
      count(*) filter (where failed_at is null and run_at > pg_catalog.now() and worker is null) as later,
      count(*) filter (where failed_at is null and run_at > pg_catalog.now() and worker is not null) as running,
      count(*) filter (where failed_at is not null) as failed,
      coalesce(extract(epoch from pg_catalog.now() - min(run_at) filter (where failed_at is null and run_at <= pg_catalog.now())), 0)::float8 as delay
    from ${jobs} group by kind order by kind`)
  return rows.map(({ kind, waiting, later, running, failed, delay }) => ({
    kind,
    waiting: Number(waiting),
    later: Number(later),
    running: Number(running),
    failed: Number(failed),
    delay: Math.max(0, Number(delay)),
  }))
}

/** How many jobs were ever queued: merged ones and those of rolled-back transactions count as well. */
export async function countQueuedEver(db: Database): Promise<number> {
  const { rows } = await db.write.execute<{ last: string | null }>(
    sql`select pg_sequence_last_value(pg_get_serial_sequence('jobs', 'id')::regclass) as last`,
  )
  return Number(rows[0]?.last ?? 0)
}

/** A job that has failed for good. */
export interface FailedJob {
  id: number
  kind: string
  payload: unknown
  attempts: number
  failed_at: string
  error: string | null
}

/** The newest failed jobs. */
export async function failedJobs(db: Database, limit: number): Promise<FailedJob[]> {
  const { rows } = await db.write.execute<{ [K in keyof FailedJob]: FailedJob[K] }>(sql`select id, kind, payload, attempts,
      to_char(failed_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as failed_at, last_error as error
    from ${jobs} where failed_at is not null order by jobs.failed_at desc, id desc limit ${limit}`)
  return rows.map((row) => ({ ...row, id: Number(row.id) }))
}

/** Retries one failed job, or all of them if `id` is null; returns how many. */
export async function retryFailed(db: Database, id: number | null): Promise<number> {
  const which = id === null ? sql`` : sql` and id = ${id}`
  const { rowCount } = await db.write.execute(
    sql`update ${jobs} set failed_at = null, attempts = 0, run_at = pg_catalog.now() where failed_at is not null${which}`,
  )
  db.notifyCommitted()
  return rowCount ?? 0
}

/** Removes one failed job; returns its kind, or null if there is none. */
export async function removeFailed(db: Database, id: number): Promise<string | null> {
  const { rows } = await db.write.execute<{ kind: string }>(sql`delete from ${jobs} where failed_at is not null and id = ${id} returning kind`)
  return rows[0]?.kind ?? null
}
