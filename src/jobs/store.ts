import type { Database, Sender } from '../db/client.js'

/** A job that this worker has taken. */
export interface TakenJob {
  id: number
  kind: string
  lane: string | null
  priority: number
  payload: unknown
  /** This one included. */
  attempts: number
  /** There may be more to take. */
  more: boolean
}

export interface Schedule {
  kind: string
  /** Milliseconds. */
  every: number
  priority: number
}

/** How an attempt has ended. */
export interface JobOutcome {
  id: number
  /** `released`: it was not begun or did not count, and is taken again at once; `later`: at a time that it named. */
  end: 'done' | 'retried' | 'failed' | 'released' | 'later'
  /** Milliseconds until the next attempt. */
  wait?: number
  error?: string
}

/** What a worker asks for in one turn, for one class of kinds. */
export interface Demand {
  kinds: string[]
  limit: number
  /** How many of them may be of low priority. */
  low: number
}

export interface ClaimRequest {
  worker: string
  /** Milliseconds. */
  lease: number
  outcomes: JobOutcome[]
  demands: Demand[]
  /** Ids that are not taken: jobs that this process still runs, whatever their leases say. */
  held: number[]
  /** Take jobs whose time has not come, too. */
  early: boolean
  /** Kinds that are repeated by themselves. */
  schedules: Schedule[]
}

/** Statements of this queue, told apart from others by those who count statements. */
const statement = (name: string, text: string) => ({ name: `jobs ${name}`, text: `/* jobs */ ${text}` })

/**
 * Workers change leases one at a time, so none sees half of what another does. The lock is held for a few milliseconds,
 * and never while a job runs.
 */
const LOCK = statement('lock', `select pg_advisory_xact_lock(hashtextextended('roost jobs', 0))`)

const DELETE = statement('delete', 'delete from jobs where worker = $1 and id = any($2::bigint[])')

const RETURN = statement(
  'return',
  `update jobs j set worker = null, run_at = statement_timestamp() + coalesce(e.wait, 0) * interval '1 millisecond',
    attempts = case e."end" when 'released' then j.attempts - 1 when 'later' then 0 else j.attempts end, last_error = coalesce(e.error, j.last_error),
    failed_at = case e."end" when 'failed' then statement_timestamp() end
  from jsonb_to_recordset($2::jsonb) as e (id bigint, "end" text, wait float8, error text)
  where j.id = e.id and j.worker = $1`,
)

/** Postgres' interval after which a job counts as of the next higher priority. */
const AGEING = `interval '1 minute'`

/**
 * Takes jobs that are due, or whose leases are over: by priority, then age. One that has waited for a minute is taken
 * as if it were of the next higher priority, after two minutes as of the highest: others never keep it waiting for
 * ever. Lanes that are full are passed over; twins by kind and key are taken as one.
 */
const TAKE = statement(
  'take',
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
    select *, row_number() over (partition by lane order by priority, run_at, id) as place,
      row_number() over (partition by kind, key order by priority, run_at, id) as twin,
      row_number() over (partition by priority order by run_at, id) as level_place,
      greatest(0, priority - floor(extract(epoch from statement_timestamp() - run_at) / extract(epoch from ${AGEING}))) as turn
    from due
  ), chosen as (
    select id, kind, key from ranked r
    where (lane is null or place + coalesce((select running from busy where busy.lane = r.lane), 0) <= lane_limit)
      and (key is null or twin = 1) and (priority < 2 or level_place <= $6::int)
    order by turn, run_at, id limit $4::int
  ), merged as (
    delete from jobs d using chosen c
    where d.kind = c.kind and d.key = c.key and d.id <> c.id and d.failed_at is null
      and (d.worker is null or d.run_at <= statement_timestamp()) and d.id <> all($5::bigint[])
    returning d.kind, d.key, d.id, d.payload
  )
  update jobs j set worker = $1, attempts = j.attempts + 1, run_at = statement_timestamp() + $2::float8 * interval '1 millisecond',
    payload = coalesce((select m.payload from merged m where m.kind = j.kind and m.key = j.key and m.id > j.id order by m.id desc limit 1), j.payload)
  from chosen c where j.id = c.id
  returning j.id, j.kind, j.lane, j.priority, j.payload, j.attempts, (select count(*) from due) > (select count(*) from chosen) as more`,
)

/** Jobs of schedules that are due; the next time is counted from now. */
const REPEAT = statement(
  'repeat',
  `with due as (
    update job_schedules s set next_at = statement_timestamp() + e.every * interval '1 millisecond'
    from unnest($1::text[], $2::float8[], $3::int[]) as e (kind, every, priority)
    where s.kind = e.kind and s.next_at <= statement_timestamp() returning s.kind, e.priority
  ) insert into jobs (kind, key, lane, priority, payload) select kind, '', kind, priority, '{}' from due`,
)

const ALIVE = statement(
  'alive',
  `insert into processes (id, alive_until) values ($1, statement_timestamp() + $2::float8 * interval '1 millisecond')
  on conflict (id) do update set alive_until = excluded.alive_until`,
)

const FORGET = statement('forget', `delete from processes where id = $1 or alive_until < statement_timestamp() - interval '1 day'`)

const RENEW = statement(
  'renew',
  `update jobs set run_at = statement_timestamp() + $2::float8 * interval '1 millisecond' where worker = $1 and id = any($3::bigint[]) returning id`,
)

const POSTPONE = statement('postpone', `update jobs set run_at = run_at + $1::float8 * interval '1 millisecond'`)

const IS_DUE = `/* jobs */ select exists (select from jobs where failed_at is null and priority in (0, 1, 2) and run_at <= statement_timestamp())
  or exists (select from job_schedules where next_at <= statement_timestamp())`

const columns = (schedules: Schedule[]) => [
  schedules.map(({ kind }) => kind),
  schedules.map(({ every }) => every),
  schedules.map(({ priority }) => priority),
]
const ids = (list: number[]) => `{${list.join(',')}}`

/** Writes how attempts have ended and takes more jobs, in one short transaction. What it has taken is durable. */
export async function claimJobs(db: Database, { worker, lease, outcomes, demands, held, early, schedules }: ClaimRequest): Promise<TakenJob[]> {
  const done = outcomes.filter(({ end }) => end === 'done').map(({ id }) => id)
  const returned = outcomes.filter(({ end }) => end !== 'done')
  const wanted = demands.filter(({ limit, kinds }) => limit > 0 && kinds.length > 0)
  const ask = ({ client }: Sender, query: { name: string; text: string }, values: unknown[]) => client.query<Row>({ ...query, values })
  const answers = await db.queueBurst(
    (on) => [
      ask(on, LOCK, []),
      ...(done.length > 0 ? [ask(on, DELETE, [worker, ids(done)])] : []),
      ...(returned.length > 0 ? [ask(on, RETURN, [worker, JSON.stringify(returned)])] : []),
      ...(schedules.length > 0 ? [ask(on, REPEAT, columns(schedules))] : []),
      ...wanted.map(({ kinds, limit, low }) => ask(on, TAKE, [worker, lease, kinds, limit, ids(held), low, early])),
    ],
    { durable: wanted.length > 0 },
  )
  return answers
    .slice(answers.length - wanted.length)
    .flatMap(({ rows }) => rows)
    .map((row) => ({ ...row, id: Number(row.id) }))
}

type Row = Omit<TakenJob, 'id'> & { id: string }

/** Says that this process is alive and renews its leases; returns the ids of the jobs that are still its own. */
export async function renewLeases(db: Database, worker: string, lease: number, held: number[]): Promise<Set<number>> {
  const [, , { rows }] = await db.queueBurst(
    ({ client }) => [
      client.query(LOCK),
      client.query({ ...ALIVE, values: [worker, lease] }),
      client.query<Row>({ ...RENEW, values: [worker, lease, ids(held)] }),
    ],
    { durable: false },
  )
  return new Set(rows.map(({ id }) => Number(id)))
}

/** Whether a turn may find anything; costs one prepared read. */
export async function isAnythingDue(db: Database): Promise<boolean> {
  const [row] = await db.readRows('jobs due', IS_DUE, [])
  return row?.[0] === true
}

/**
 * Makes the schedules known. `gone`: processes that are known to have ended, all others or those of these ids; their
 * leases end at once.
 */
export async function openQueue(
  db: Database,
  { worker, lease, schedules, gone }: { worker: string; lease: number; schedules: Schedule[]; gone: 'all' | string[] },
): Promise<void> {
  const ended = gone === 'all' ? null : gone
  const hasEnded = (column: string) => `${column} <> $1 and ($2::text[] is null or ${column} = any($2))`
  await db.queueBurst(
    ({ client }) => [
      client.query(LOCK),
      client.query({ ...ALIVE, values: [worker, lease] }),
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
}

/** Makes all jobs due so many milliseconds later. No process may be at work. */
export async function postponeJobs(db: Database, milliseconds: number): Promise<void> {
  await db.queueBurst(({ client }) => [client.query({ ...POSTPONE, values: [milliseconds] })], { durable: false })
}

/** This process ends: nobody needs to wait for its leases. */
export async function leaveQueue(db: Database, worker: string): Promise<void> {
  await db.queueBurst(({ client }) => [client.query({ ...FORGET, values: [worker] })], { durable: false })
}
