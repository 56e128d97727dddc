import type { Database, Sender } from '../db/client.js'

/** A job that this worker has claimed. */
export interface ClaimedJob {
  id: number
  kind: string
  lane: string | null
  priority: number
  payload: unknown
  /** Attempts so far, this one included. */
  attempts: number
  /** The webhooks whose deliveries led to it. */
  hook_chain: string[] | null
  /** There may be more jobs to claim. */
  more: boolean
}

export interface Schedule {
  kind: string
  /** Milliseconds. */
  every: number
  priority: number
}

/** The outcome of an attempt. */
export interface JobOutcome {
  id: number
  /**
   * `released`: it did not start or does not count, and can be claimed again at once; `later`: it asked to run again
   * after `wait`.
   */
  end: 'done' | 'retried' | 'failed' | 'released' | 'later'
  /** Milliseconds until the next attempt. */
  wait?: number
  /** The attempt does not count, because something that the job needs was unavailable. */
  uncounted?: boolean
  error?: string
}

/** How many jobs a worker can claim of one class of kinds. */
export interface Demand {
  kinds: string[]
  limit: number
  /** How many of these may have low priority. */
  low: number
}

export interface ClaimRequest {
  worker: string
  /** Milliseconds. */
  lease: number
  outcomes: JobOutcome[]
  demands: Demand[]
  /** Jobs that this process still runs; they are not claimed again, whatever their leases say. */
  held: number[]
  /** Claim jobs that are not yet due as well. */
  early: boolean
  /** Periodic kinds. */
  schedules: Schedule[]
}

/** A statement of the job queue. The comment in its text lets tests and metrics tell it from other statements. */
const statement = (name: string, text: string) => ({ name: `jobs ${name}`, text: `/* jobs */ ${text}` })

/**
 * Workers change leases one at a time, so that none sees a half-done change. The lock is held for a few milliseconds,
 * and never while a job runs.
 */
const LOCK_QUEUE = statement('lock', `select pg_advisory_xact_lock(hashtextextended('roost jobs', 0))`)

const DELETE_DONE = statement('delete', 'delete from jobs where worker = $1 and id = any($2::bigint[])')

const RELEASE = statement(
  'release',
  `update jobs j set worker = null, run_at = statement_timestamp() + coalesce(e.wait, 0) * interval '1 millisecond',
    attempts = case when e."end" = 'later' then 0 when e."end" = 'released' or e.uncounted then j.attempts - 1 else j.attempts end, last_error = coalesce(e.error, j.last_error),
    failed_at = case e."end" when 'failed' then statement_timestamp() end
  from jsonb_to_recordset($2::jsonb) as e (id bigint, "end" text, wait float8, error text, uncounted boolean)
  where j.id = e.id and j.worker = $1`,
)

/** A job that has waited this long counts as of the next higher priority. */
const AGEING = `interval '1 minute'`

/**
 * Claims jobs that are due, or whose leases have expired, by priority and then age. To prevent starvation, a job that
 * has waited for a minute counts as of the next higher priority, and after two minutes as of the highest. Full lanes
 * are skipped, and jobs of the same kind and key are merged into one; it belongs to a chain of webhooks only if all did.
 */
const CLAIM = statement(
  'claim',
  `with busy as (
    select lane, count(*) as running from jobs
    where worker is not null and lane is not null and failed_at is null and (run_at > statement_timestamp() or id = any($5::bigint[]))
    group by lane
  ), due as (
    select j.* from (values (0), (1), (2)) as level (priority) cross join lateral (
      select id, kind, key, lane, lane_limit, priority, run_at from jobs
      where failed_at is null and priority = level.priority and run_at <= case when $7 then 'infinity' else statement_timestamp() end
        and (worker is null or run_at <= statement_timestamp()) and kind = any($3::text[]) and id <> all($5::bigint[])
        and not exists (select from busy where busy.lane = jobs.lane and busy.running >= jobs.lane_limit)
      order by run_at, id limit 4 * case level.priority when 2 then least($4::int, $6::int) else $4::int end
    ) j
  ), ranked as (
    select *, row_number() over (partition by lane order by priority, run_at, id) as lane_place,
      row_number() over (partition by kind, key order by priority, run_at, id) as duplicate,
      row_number() over (partition by priority order by run_at, id) as level_place,
      greatest(0, priority - floor(extract(epoch from statement_timestamp() - run_at) / extract(epoch from ${AGEING}))) as effective_priority
    from due
  ), chosen as (
    select id, kind, key from ranked r
    where (lane is null or lane_place + coalesce((select running from busy where busy.lane = r.lane), 0) <= lane_limit)
      and (key is null or duplicate = 1) and (priority < 2 or level_place <= $6::int)
    order by effective_priority, run_at, id limit $4::int
  ), merged as (
    delete from jobs d using chosen c
    where d.kind = c.kind and d.key = c.key and d.id <> c.id and d.failed_at is null
      and (d.worker is null or d.run_at <= statement_timestamp()) and d.id <> all($5::bigint[])
    returning d.kind, d.key, d.id, d.payload, d.hook_chain
  )
  update jobs j set worker = $1, attempts = j.attempts + 1, run_at = statement_timestamp() + $2::float8 * interval '1 millisecond',
    payload = coalesce((select m.payload from merged m where m.kind = j.kind and m.key = j.key and m.id > j.id order by m.id desc limit 1), j.payload),
    hook_chain = case when exists (select from merged m where m.kind = j.kind and m.key = j.key and m.hook_chain is distinct from j.hook_chain)
      then null else j.hook_chain end
  from chosen c where j.id = c.id
  returning j.id, j.kind, j.lane, j.priority, j.payload, j.attempts, j.hook_chain, (select count(*) from due) > (select count(*) from chosen) as more`,
)

/** Enqueues the periodic jobs that are due; the next time is counted from now. */
const ENQUEUE_SCHEDULED = statement(
  'enqueue scheduled',
  `with due as (
    update job_schedules s set next_at = statement_timestamp() + e.every * interval '1 millisecond'
    from unnest($1::text[], $2::float8[], $3::int[]) as e (kind, every, priority)
    where s.kind = e.kind and s.next_at <= statement_timestamp() returning s.kind, e.priority
  ) insert into jobs (kind, key, lane, priority, payload) select kind, '', kind, priority, '{}' from due`,
)

const HEARTBEAT = statement(
  'heartbeat',
  `insert into processes (id, alive_until) values ($1, statement_timestamp() + $2::float8 * interval '1 millisecond')
  on conflict (id) do update set alive_until = excluded.alive_until
  returning (select max(created_at) from drizzle.__drizzle_migrations)::float8 as schema`,
)

const REMOVE_PROCESS = statement('remove process', `delete from processes where id = $1 or alive_until < statement_timestamp() - interval '1 day'`)

const RENEW_LEASES = statement(
  'renew',
  `update jobs set run_at = statement_timestamp() + $2::float8 * interval '1 millisecond' where worker = $1 and id = any($3::bigint[]) returning id`,
)

const POSTPONE_ALL = statement('postpone', `update jobs set run_at = run_at + $1::float8 * interval '1 millisecond'`)

const IS_DUE = `/* jobs */ select exists (select from jobs where failed_at is null and priority in (0, 1, 2) and run_at <= statement_timestamp())
  or exists (select from job_schedules where next_at <= statement_timestamp())`

const columns = (schedules: Schedule[]) => [
  schedules.map(({ kind }) => kind),
  schedules.map(({ every }) => every),
  schedules.map(({ priority }) => priority),
]
const ids = (list: number[]) => `{${list.join(',')}}`

/** Stores the outcomes of attempts and claims more jobs, in one short transaction. The claims are durable. */
export async function claimJobs(db: Database, { worker, lease, outcomes, demands, held, early, schedules }: ClaimRequest): Promise<ClaimedJob[]> {
  const done = outcomes.filter(({ end }) => end === 'done').map(({ id }) => id)
  const returned = outcomes.filter(({ end }) => end !== 'done')
  const nonEmpty = demands.filter(({ limit, kinds }) => limit > 0 && kinds.length > 0)
  const query = ({ client }: Sender, statement: { name: string; text: string }, values: unknown[]) => client.query<Row>({ ...statement, values })
  const results = await db.queueBatch(
    (on) => [
      query(on, LOCK_QUEUE, []),
      ...(done.length > 0 ? [query(on, DELETE_DONE, [worker, ids(done)])] : []),
      ...(returned.length > 0 ? [query(on, RELEASE, [worker, JSON.stringify(returned)])] : []),
      ...(schedules.length > 0 ? [query(on, ENQUEUE_SCHEDULED, columns(schedules))] : []),
      ...nonEmpty.map(({ kinds, limit, low }) => query(on, CLAIM, [worker, lease, kinds, limit, ids(held), low, early])),
    ],
    { durable: nonEmpty.length > 0 },
  )
  return results
    .slice(results.length - nonEmpty.length)
    .flatMap(({ rows }) => rows)
    .map((row) => ({ ...row, id: Number(row.id) }))
}

type Row = Omit<ClaimedJob, 'id'> & { id: string }

/** Writes the heartbeat of this process and renews its leases; returns the ids of the jobs that it still holds, and the schema. */
export async function renewLeases(db: Database, worker: string, lease: number, held: number[]): Promise<{ held: Set<number>; schema: number }> {
  const [, heartbeat, { rows }] = await db.queueBatch(
    ({ client }) => [
      client.query(LOCK_QUEUE),
      client.query<Heartbeat>({ ...HEARTBEAT, values: [worker, lease] }),
      client.query<Row>({ ...RENEW_LEASES, values: [worker, lease, ids(held)] }),
    ],
    { durable: false },
  )
  return { held: new Set(rows.map(({ id }) => Number(id))), schema: schemaOf(heartbeat) }
}

/** `schema`: the timestamp of the newest migration that the database has. */
interface Heartbeat {
  schema: number
}

const schemaOf = ({ rows }: { rows: Heartbeat[] }) => rows[0]?.schema ?? 0

/** Whether there may be something to claim; costs one prepared read. */
export async function isAnythingDue(db: Database): Promise<boolean> {
  const [row] = await db.readRows('jobs due', IS_DUE, [])
  return row?.[0] === true
}

/**
 * Registers this process and the schedules; returns the schema. `endedProcesses` are known to have ended (`all`: every other process); their leases end at
 * once.
 */
export async function openQueue(
  db: Database,
  { worker, lease, schedules, endedProcesses }: { worker: string; lease: number; schedules: Schedule[]; endedProcesses: 'all' | string[] },
): Promise<{ schema: number }> {
  const ended = endedProcesses === 'all' ? null : endedProcesses
  const hasEnded = (column: string) => `${column} <> $1 and ($2::text[] is null or ${column} = any($2))`
  const [, heartbeat] = await db.queueBatch(
    ({ client }) => [
      client.query(LOCK_QUEUE),
      client.query<Heartbeat>({ ...HEARTBEAT, values: [worker, lease] }),
      client.query({
        text: `/* jobs */ insert into job_schedules (kind, next_at) select kind, statement_timestamp() from unnest($1::text[]) as s (kind) on conflict do nothing`,
        values: columns(schedules).slice(0, 1),
      }),
      client.query({
        text: `/* jobs */ update job_schedules s set next_at = least(s.next_at, statement_timestamp() + e.every * interval '1 millisecond')
          from unnest($1::text[], $2::float8[]) as e (kind, every) where s.kind = e.kind`,
        values: columns(schedules).slice(0, 2),
      }),
      ...(ended === null || ended.length > 0
        ? [
            client.query({
              text: `/* jobs */ update jobs set worker = null, run_at = statement_timestamp() where ${hasEnded('worker')}`,
              values: [worker, ended],
            }),
            client.query({ text: `/* jobs */ delete from processes where ${hasEnded('id')}`, values: [worker, ended] }),
          ]
        : []),
    ],
    { durable: true },
  )
  return { schema: schemaOf(heartbeat) }
}

/** Postpones all jobs by this many milliseconds. No process may be running jobs. */
export async function postponeJobs(db: Database, milliseconds: number): Promise<void> {
  await db.queueBatch(({ client }) => [client.query({ ...POSTPONE_ALL, values: [milliseconds] })], { durable: false })
}

/** Removes this process, so that other processes do not wait for its leases to expire. */
export async function leaveQueue(db: Database, worker: string): Promise<void> {
  await db.queueBatch(({ client }) => [client.query({ ...REMOVE_PROCESS, values: [worker] })], { durable: false })
}
