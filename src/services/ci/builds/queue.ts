import { eq, type SQL, sql } from 'drizzle-orm'
import type { Context } from '../../../context.js'
import { builds, commitStatuses, namespaceAncestry, pendingBuilds, projects, runnerProjects } from '../../../db/schema/index.js'
import { statement } from '../../../db/statement.js'
import { digestOf, newSecret } from '../../../lib/crypto/secret.js'
import type { Runner } from '../runners/runners.js'
import { changeJobs } from './change.js'

const p = pendingBuilds
const value = (name: string) => sql`${sql.placeholder(name)}`

/** What the jobs that a runner may take depend on, beside its values. */
interface PickShape {
  kind: Runner['kind']
  run_untagged: boolean
  protected: boolean
}

/** The condition for jobs that a runner may take (CI-112). */
function fits(
  { kind, run_untagged, protected: isProtected }: PickShape,
  id: unknown = value('runner'),
  group: unknown = value('group'),
  tags: unknown = value('tags'),
) {
  const scope =
    kind === 'instance_type'
      ? sql`pr.shared_runners_enabled`
      : kind === 'group_type'
        ? sql`pr.namespace_id in (select a.descendant_id from ${namespaceAncestry} a where a.ancestor_id = ${group})`
        : sql`exists (select 1 from ${runnerProjects} rp where rp.runner_id = ${id} and rp.project_id = pr.id)`
  return sql`${scope} and pr.builds_access_level > 0 and not pr.archived and pr.marked_for_deletion_at is null
    and p.tags <@ ${tags}::text[] ${run_untagged ? sql`` : sql`and p.tags <> '{}'`} ${isProtected ? sql`and p.protected` : sql``}`
}

const selectWaiting = statement('whether a job waits for a runner', (db, shape: PickShape) =>
  db.select({ job: sql<number>`p.job_id` }).from(sql`${p} p join ${projects} pr on pr.id = p.project_id`).where(fits(shape)).limit(1),
)

/** A job that a runner was given. */
export interface TakenBuild {
  job: number
  pipeline: number
  token: string
  /** Seconds. */
  timeout: number
}

/**
 * Gives a runner a job: the oldest of the project that runs the fewest (CI-112). Null: none waits that it may take. What
 * other runners are about to take is passed over.
 */
export async function takeBuild(ctx: Context, runner: Runner): Promise<TakenBuild | null> {
  if (runner.paused) return null
  const shape = { kind: runner.kind, run_untagged: runner.run_untagged, protected: runner.protected }
  const values = { runner: runner.id, group: runner.group_id ?? 0, tags: runner.tags }
  if ((await selectWaiting(ctx.db, shape).execute(values)).length === 0) return null
  return takeWhere(ctx, runner, fits(shape, runner.id, runner.group_id ?? 0, sql.param(runner.tags)))
}

/** Gives a runner this job if it waits, whatever the runner's tags. */
export const takeJob = (ctx: Context, runner: Runner, job: number): Promise<TakenBuild | null> => takeWhere(ctx, runner, sql`p.job_id = ${job}`)

async function takeWhere(ctx: Context, runner: Runner, condition: SQL): Promise<TakenBuild | null> {
  const token = newSecret(ctx.random)
  const now = ctx.now()
  const taken = await ctx.db.transaction(async (tx) => {
    const { rows } = await tx.execute<{ job_id: string; timeout: number; pipeline_id: string }>(sql`
      with busy as (select s.project_id, count(*) as running from ${builds} b join ${commitStatuses} s on s.id = b.job_id where b.seen_at is not null group by 1),
      next as (select p.job_id from ${p} p join ${projects} pr on pr.id = p.project_id left join busy on busy.project_id = p.project_id
        where ${condition}
        order by coalesce(busy.running, 0), p.job_id limit 1 for update of p skip locked),
      gone as (delete from ${p} d using next where d.job_id = next.job_id returning d.job_id)
      update ${commitStatuses} s set status = 'running', started_at = ${now.toISOString()}::timestamptz
      from gone join ${builds} b on b.job_id = gone.job_id where s.id = gone.job_id and s.status = 'pending'
      returning s.id as job_id, s.pipeline_id, coalesce((b.definition ->> 'timeout')::integer, (select pr.build_timeout from ${projects} pr where pr.id = s.project_id)) as timeout`)
    const [found] = rows
    if (!found) return null
    const timeout = Math.min(found.timeout, runner.maximum_timeout ?? Number.POSITIVE_INFINITY)
    const job = Number(found.job_id)
    await tx
      .update(builds)
      .set({ runner_id: runner.id, digest: digestOf(token), timeout, seen_at: now })
      .where(eq(builds.job_id, job))
    return { job, pipeline: Number(found.pipeline_id), token, timeout }
  })
  // the state of the pipeline follows
  if (taken) await changeJobs(ctx, taken.pipeline, async () => true)
  return taken
}
