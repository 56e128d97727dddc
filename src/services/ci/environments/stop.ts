import { and, eq, inArray, lt, sql } from 'drizzle-orm'
import { z } from 'zod'
import { actingAs, actorOf, type Caller, type SignedIn } from '../../../access/actor.js'
import { getProjectFor, type ProjectSubject } from '../../../access/rules.js'
import type { Context, PushEvent } from '../../../context.js'
import { builds, commitStatuses, deployments, environments, mergeRequests, pipelines } from '../../../db/schema/index.js'
import { forbidden, nullOnFailure } from '../../../failures.js'
import { ZERO } from '../../../git/types.js'
import { defineJob } from '../../../jobs/kinds.js'
import { isComplete } from '../../../rules/ci/states.js'
import type { PlannedJob } from '../../../rules/ci/types.js'
import type { PipelineState } from '../../../rules/pipeline-states.js'
import { audit } from '../../core/audit.js'
import { getUser } from '../../identity/users.js'
import { playJob, retryJob } from '../builds/actions.js'
import { mayRunOnAny } from '../target.js'
import { auditedEnvironment, type Environment, getEnvironment } from './environments.js'
import { closedEnvironments, requireDeploys } from './protected.js'

/** Environments that one run looks at. */
const BATCH = 100

interface StopJob {
  id: number
  status: PipelineState
  ref: string
  tag: boolean
}

/** The jobs that stop environments, by the ids of these: each that which the job of the last deployment names, in the same pipeline. */
async function stopJobsOf(ctx: Context, ids: number[]): Promise<Map<number, StopJob>> {
  const { rows } = await ctx.db.write.execute<{ environment: string; id: string; status: PipelineState; ref: string; tag: boolean }>(
    sql`select e.id as environment, s.id, s.status, d.ref, d.tag from ${environments} e
      join lateral (select d.* from ${deployments} d join ${builds} b on b.job_id = d.job_id
        where d.environment_id = e.id and d.status = 'success' order by d.finished_at desc, d.id desc limit 1) d on true
      join ${commitStatuses} j on j.id = d.job_id
      join ${builds} b on b.job_id = d.job_id
      join ${commitStatuses} s on s.project_id = j.project_id and s.pipeline_id = j.pipeline_id
        and s.name = b.definition -> 'environment' ->> 'on_stop' and s.latest and s.kind = 'build'
      where e.id = any(${sql.param(ids)}::bigint[])`,
  )
  return new Map(rows.map(({ environment, id, ...rest }) => [Number(environment), { id: Number(id), ...rest }]))
}

/** Those of the environments that the caller may stop: none whose job they may not start (CI-228), or to which they may not deploy (PE-3). */
export async function stoppableEnvironments(
  ctx: Context,
  subject: ProjectSubject,
  caller: Pick<Caller, 'user'>,
  given: Pick<Environment, 'id' | 'name' | 'state'>[],
): Promise<Set<number>> {
  if (!subject.can('manage_environment')) return new Set()
  const closed = await closedEnvironments(ctx, subject, caller)
  const going = given.filter(({ name, state }) => state !== 'stopped' && !closed.has(name)).map(({ id }) => id)
  if (going.length === 0) return new Set()
  const [jobs, may] = await Promise.all([stopJobsOf(ctx, going), mayRunOnAny(ctx, subject)])
  return new Set(going.filter((id) => isAllowed(subject, may, jobs.get(id))))
}

const isAllowed = (subject: ProjectSubject, may: (of: StopJob) => boolean, job: StopJob | undefined) =>
  job === undefined || !subject.can('update_build') || may(job)

/**
 * Stops an environment: by its job if it has one, which runs as the caller, or by taking note of it (CI-286). `force`:
 * without the job.
 */
export async function stopEnvironment(
  ctx: Context,
  subject: ProjectSubject,
  caller: SignedIn,
  id: number,
  { force = false } = {},
): Promise<Environment> {
  const environment = await getEnvironment(ctx, subject, id)
  await requireDeploys(ctx, subject, caller, environment.name)
  if (environment.state === 'stopped' || (environment.state === 'stopping' && !force)) return environment
  const job = force ? undefined : (await stopJobsOf(ctx, [id])).get(id)
  if (!isAllowed(subject, await mayRunOnAny(ctx, subject), job)) throw forbidden()
  const runs = job ? await startJob(ctx, subject, caller, job) : null
  const now = ctx.now()
  await ctx.db.transaction(async (tx) => {
    const going = and(eq(environments.id, id), sql`${environments.state} <> 'stopped'`)
    if (runs === null) {
      await tx.update(environments).set({ state: 'stopped', stop_job_id: null, auto_stop_at: null, updated_at: now }).where(going)
    } else {
      const open = sql`exists (select 1 from ${commitStatuses} s where s.id = ${runs} and s.status not in ('success', 'failed', 'canceled', 'skipped'))`
      await tx.update(environments).set({ state: 'stopping', stop_job_id: runs, auto_stop_at: null, updated_at: now }).where(and(going, open))
    }
    await audit(ctx, tx, { ...auditedEnvironment(subject, 'environment_stopped', { name: environment.name }), actorId: caller.user.id })
  })
  return getEnvironment(ctx, subject, id)
}

/** Starts the job, or another attempt of it; the id of what runs. Null: it cannot be started. */
async function startJob(ctx: Context, subject: ProjectSubject, caller: SignedIn, { id, status }: StopJob): Promise<number | null> {
  if (!subject.can('update_build')) return null
  if (status === 'manual' || status === 'scheduled') return (await nullOnFailure(playJob(ctx, subject, caller, id, []))) ?? startedMeanwhile(ctx, id)
  // it was skipped, or its turn has not come
  if (status === 'skipped' || status === 'created') return null
  return isComplete(status) ? nullOnFailure(retryJob(ctx, subject, caller, id)) : id
}

/** The job if another call has started it: the deletion of a branch also closes its merge requests, and each stops the environment. */
async function startedMeanwhile(ctx: Context, id: number): Promise<number | null> {
  const [job] = await ctx.db.write
    .select({ id: commitStatuses.id })
    .from(commitStatuses)
    .where(and(eq(commitStatuses.id, id), inArray(commitStatuses.status, ['pending', 'running', 'waiting_for_resource'])))
  return job?.id ?? null
}

async function stopAs(ctx: Context, userId: number | null, projectId: number, id: number): Promise<void> {
  const user = userId === null ? null : await nullOnFailure(getUser(ctx, userId))
  const caller = user?.state === 'active' ? actingAs(actorOf(user)) : null
  const subject = caller && (await nullOnFailure(getProjectFor(ctx, caller, String(projectId))))
  if (caller && subject?.can('manage_environment')) await nullOnFailure(stopEnvironment(ctx, subject, caller, id))
}

/** Every minute: stops environments whose time is over (`auto_stop_in`), as those who deployed to them (CI-287). */
export const stopDueEnvironments = defineJob({
  kind: 'stop due environments',
  input: z.object({}),
  every: 60_000,
  async run(ctx: Context) {
    const { rows } = await ctx.db.write.execute<{ id: string; project: string; user: string | null }>(sql`select e.id, e.project_id as project,
        (select d.user_id from ${deployments} d where d.environment_id = e.id and d.status = 'success' order by d.finished_at desc, d.id desc limit 1) as user
      from ${environments} e where e.auto_stop_at < ${ctx.now().toISOString()}::timestamptz order by e.auto_stop_at limit ${BATCH}`)
    const due = rows.map(({ id, project, user }) => ({ id: Number(id), project: Number(project), user: user === null ? null : Number(user) }))
    for (const { id, project, user } of due) await stopAs(ctx, user, project, id)
    // one that nobody may stop any more is left as it is
    await ctx.db.write
      .update(environments)
      .set({ auto_stop_at: null })
      .where(and(inArray(environments.id, [0, ...due.map(({ id }) => id)]), lt(environments.auto_stop_at, ctx.now())))
  },
})

/** Stops the environments of a branch that was deleted, by their jobs; those without such a job stay (CI-288). */
export const stopReviews = defineJob({
  kind: 'stop the environments of branches',
  input: z.object({ project: z.int(), user: z.int(), branches: z.array(z.string()) }),
  async run(ctx: Context, { project, user, branches }) {
    const { rows } = await ctx.db.write.execute<{ id: string; definition: PlannedJob }>(sql`select e.id from ${environments} e
      join lateral (select d.* from ${deployments} d where d.environment_id = e.id and d.status = 'success' order by d.finished_at desc, d.id desc limit 1) d on true
      join ${builds} b on b.job_id = d.job_id
      where e.project_id = ${project} and e.state = 'available' and not d.tag and d.ref = any(${sql.param(branches)}::text[])
        and b.definition -> 'environment' ->> 'on_stop' is not null
      order by e.id limit ${BATCH}`)
    for (const { id } of rows) await stopAs(ctx, user, project, Number(id))
  },
})

/**
 * Stops the environments to which the head pipelines of merge requests deploy that were merged or closed, by their jobs,
 * if the pipelines are of the merge requests; those without such a job stay (CI-267).
 */
export const stopRequestReviews = defineJob({
  kind: 'stop the environments of merge requests',
  input: z.object({ user: z.int(), merge_requests: z.array(z.int()) }),
  async run(ctx: Context, { user, merge_requests: ids }) {
    const { rows } = await ctx.db.write.execute<{ id: string; project: string }>(sql`select distinct e.id, e.project_id as project
      from ${mergeRequests} m
      join ${pipelines} p on p.id = m.head_pipeline_id and p.source = 'merge_request_event'
      join ${commitStatuses} s on s.pipeline_id = p.id
      join ${deployments} own on own.job_id = s.id
      join ${environments} e on e.id = own.environment_id and e.state = 'available'
      join lateral (select d.* from ${deployments} d where d.environment_id = e.id and d.status = 'success' order by d.finished_at desc, d.id desc limit 1) d on true
      join ${builds} b on b.job_id = d.job_id
      where m.id = any(${sql.param(ids)}::bigint[]) and m.state <> 'opened' and b.definition -> 'environment' ->> 'on_stop' is not null
      order by e.id limit ${BATCH}`)
    for (const { id, project } of rows) await stopAs(ctx, user, Number(project), Number(id))
  },
})

const BRANCH = /^refs\/heads\/(.+)$/s
/** Branches of one push whose environments are stopped. */
const MAX_BRANCHES = 100

/** What follows the deletion of branches. */
export async function enqueueStops(_: Context, { projectId, moves, actor, enqueue }: PushEvent): Promise<void> {
  const branches = moves.flatMap(({ ref, new: to }) => (to === ZERO ? (BRANCH.exec(ref)?.[1] ?? []) : [])).slice(0, MAX_BRANCHES)
  const user = branches.length > 0 ? await actor() : null
  if (user !== null) enqueue(stopReviews, { project: projectId, user, branches })
}
