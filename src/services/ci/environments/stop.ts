import { and, desc, eq, inArray, lt, sql } from 'drizzle-orm'
import { z } from 'zod'
import { actingAs, actorOf, type SignedIn } from '../../../access/actor.js'
import { getProjectFor, type ProjectSubject } from '../../../access/rules.js'
import type { Context, PushEvent } from '../../../context.js'
import { builds, commitStatuses, deployments, environments, mergeRequests, pipelines } from '../../../db/schema/index.js'
import { forbidden, nullOnFailure } from '../../../failures.js'
import { ZERO } from '../../../git/types.js'
import { defineJob } from '../../../jobs/kinds.js'
import { isComplete } from '../../../rules/ci/states.js'
import type { PlannedJob } from '../../../rules/ci/types.js'
import { audit } from '../../core/audit.js'
import { getUser } from '../../identity/users.js'
import { playJob, retryJob } from '../builds/actions.js'
import { mayRunOn } from '../target.js'
import { auditedEnvironment, type Environment, getEnvironment } from './environments.js'

/** Environments that one run looks at. */
const BATCH = 100

/** The job that stops an environment: that which the job of its last deployment names, in the same pipeline. */
async function stopJobOf(ctx: Context, environment: Environment) {
  const [last] = await ctx.db.write
    .select({ job: commitStatuses, definition: builds.definition, ref: deployments.ref, tag: deployments.tag })
    .from(deployments)
    .innerJoin(commitStatuses, eq(commitStatuses.id, deployments.job_id))
    .innerJoin(builds, eq(builds.job_id, deployments.job_id))
    .where(and(eq(deployments.environment_id, environment.id), eq(deployments.status, 'success')))
    .orderBy(desc(deployments.finished_at), desc(deployments.id))
    .limit(1)
  const name = last?.definition.environment?.on_stop
  if (!last || !name) return null
  const [found] = await ctx.db.write
    .select({ id: commitStatuses.id, status: commitStatuses.status })
    .from(commitStatuses)
    .where(
      and(
        eq(commitStatuses.project_id, last.job.project_id),
        eq(commitStatuses.pipeline_id, last.job.pipeline_id),
        eq(commitStatuses.name, name),
        sql`${commitStatuses.latest} and ${commitStatuses.kind} = 'build'`,
      ),
    )
  return found ? { ...found, ref: last.ref, tag: last.tag } : null
}

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
  if (environment.state === 'stopped' || (environment.state === 'stopping' && !force)) return environment
  const job = force ? null : await stopJobOf(ctx, environment)
  const runs = job && (await startJob(ctx, subject, caller, job))
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
async function startJob(
  ctx: Context,
  subject: ProjectSubject,
  caller: SignedIn,
  { id, status, ...of }: NonNullable<Awaited<ReturnType<typeof stopJobOf>>>,
): Promise<number | null> {
  if (!subject.can('update_build')) return null
  if (!(await mayRunOn(ctx, subject, of))) throw forbidden()
  if (status === 'manual' || status === 'scheduled') return nullOnFailure(playJob(ctx, subject, caller, id, []))
  // it was skipped, or its turn has not come
  if (status === 'skipped' || status === 'created') return null
  return isComplete(status) ? nullOnFailure(retryJob(ctx, subject, caller, id)) : id
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
