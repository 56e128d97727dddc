import { and, eq, sql } from 'drizzle-orm'
import type { Context } from '../../../context.js'
import type { Transaction } from '../../../db/client.js'
import { builds, commitStatuses, deployments, environments, type pipelines } from '../../../db/schema/index.js'
import { environmentNameFault, environmentSlug, tierOf } from '../../../rules/ci/environments.js'
import { parsePeriod } from '../../../rules/ci/periods.js'
import type { PlannedJob, Variable } from '../../../rules/ci/types.js'
import { nextIid } from '../../core/iids.js'

type Pipeline = typeof pipelines.$inferSelect

interface InsertedJob {
  id: number
  definition: PlannedJob
}

/** What is wrong with the environment of a planned job, whose name is known now. */
export function environmentFaults({ name, environment }: PlannedJob): string[] {
  const fault = environment && environmentNameFault(environment.name)
  return fault ? [`jobs:${name}:environment name ${fault}`] : []
}

/** Makes the environments that new jobs name, and the deployments of those that deploy (CI-280, CI-282). */
export async function insertDeployments(tx: Transaction, pipeline: Pipeline, jobs: InsertedJob[], user: number, now: Date): Promise<void> {
  const named = jobs.flatMap(({ id, definition: { environment } }) => (environment ? [{ id, environment }] : []))
  if (named.length === 0) return
  const { project_id } = pipeline
  const byName = new Map(named.map(({ environment }) => [environment.name, environment]))
  await tx
    .insert(environments)
    .values(
      [...byName.values()]
        // in one order, so that two pipelines do not wait for each other
        .sort((a, b) => (a.name < b.name ? -1 : 1))
        .map(({ name, deployment_tier }) => ({
          project_id,
          name,
          slug: environmentSlug(name),
          tier: (deployment_tier as ReturnType<typeof tierOf> | null) ?? tierOf(name),
          created_at: now,
          updated_at: now,
        })),
    )
    .onConflictDoNothing()
  const starting = named
    .filter(({ environment }) => environment.action === 'start')
    .map(({ id, environment }) => ({ job: id, name: environment.name }))
  if (starting.length === 0) return
  const last = await nextIid(tx, project_id, 'deployment', starting.length)
  await tx.execute(sql`insert into ${deployments} (project_id, iid, environment_id, user_id, job_id, sha, ref, tag, status, created_at, updated_at)
    select e.project_id, ${last - starting.length}::integer + row_number() over (order by v.job), e.id, ${user}::bigint, v.job, ${pipeline.sha}, ${pipeline.ref}, ${pipeline.tag},
      'created', ${now.toISOString()}::timestamptz, ${now.toISOString()}::timestamptz
    from jsonb_to_recordset(${JSON.stringify(starting)}::jsonb) as v (job bigint, name text)
    join ${environments} e on e.project_id = ${project_id} and e.name = v.name`)
}

/** Another attempt of a job that deploys is another deployment. */
export async function copyDeployment(tx: Transaction, job: number, copy: number, now: Date): Promise<void> {
  const [former] = await tx.select().from(deployments).where(eq(deployments.job_id, job))
  if (!former) return
  const { project_id, environment_id, user_id, sha, ref, tag } = former
  const iid = await nextIid(tx, project_id, 'deployment')
  await tx
    .insert(deployments)
    .values({ project_id, iid, environment_id, user_id, job_id: copy, sha, ref, tag, status: 'created', created_at: now, updated_at: now })
}

/** Whether a later deployment of the environment to which a job deploys runs or has succeeded (FD-16). */
export async function isOutdated(ctx: Context, job: number): Promise<boolean> {
  const { rows } = await ctx.db.write.execute(sql`select from ${deployments} d where d.job_id = ${job} and exists (select from ${deployments} later
    where later.environment_id = d.environment_id and later.id > d.id and later.status in ('running', 'success'))`)
  return rows.length > 0
}

/** Brings the deployments of a locked pipeline up to date with its jobs, and the environments with these (CI-283). */
export async function followJobs(ctx: Pick<Context, 'now'>, tx: Transaction, pipeline: Pick<Pipeline, 'id' | 'project_id'>): Promise<void> {
  const now = ctx.now()
  const moment = sql`${now.toISOString()}::timestamptz`
  const state = sql`(case when s.status in ('running', 'success', 'failed', 'canceled', 'skipped') then s.status else 'created' end)`
  const { rows } = await tx.execute<{ id: string; status: string }>(sql`update ${deployments} d
    set status = ${state}, user_id = s.user_id, updated_at = ${moment}, finished_at = case when s.status in ('success', 'failed', 'canceled') then ${moment} end
    from ${commitStatuses} s where s.project_id = ${pipeline.project_id} and s.pipeline_id = ${pipeline.id} and d.job_id = s.id and d.status <> ${state}
    returning d.id, d.status`)
  for (const { id, status } of rows) if (status === 'success') await open(tx, Number(id), now)
  // a job that should have stopped an environment has not
  await tx.execute(sql`update ${environments} e set state = 'available', stop_job_id = null, updated_at = ${moment} from ${commitStatuses} s
    where s.project_id = ${pipeline.project_id} and s.pipeline_id = ${pipeline.id} and e.stop_job_id = s.id and e.state = 'stopping'
      and s.status in ('failed', 'canceled', 'skipped')`)
}

/** What the success of a deployment means for its environment. */
async function open(tx: Transaction, deployment: number, now: Date): Promise<void> {
  const [found] = await tx
    .select({ deployment: deployments, definition: builds.definition })
    .from(deployments)
    .leftJoin(builds, eq(builds.job_id, deployments.job_id))
    .where(eq(deployments.id, deployment))
  if (!found) return
  const { url, auto_stop_in: period, environment_id } = found.deployment
  const tier = found.definition?.environment?.deployment_tier as ReturnType<typeof tierOf> | null | undefined
  const seconds = period === null ? null : parsePeriod(period)
  await tx
    .update(environments)
    .set({
      state: 'available',
      stop_job_id: null,
      updated_at: now,
      auto_stop_at: seconds === null ? null : new Date(now.getTime() + seconds * 1_000),
      ...(url !== null && { external_url: url }),
      ...(tier && { tier }),
    })
    .where(eq(environments.id, environment_id))
}

/** A job with `action: stop` that succeeds has stopped its environment. */
export async function stoppedByJob(ctx: Pick<Context, 'now'>, tx: Transaction, projectId: number, { environment }: PlannedJob): Promise<void> {
  if (environment?.action !== 'stop') return
  await tx
    .update(environments)
    .set({ state: 'stopped', stop_job_id: null, auto_stop_at: null, updated_at: ctx.now() })
    .where(and(eq(environments.project_id, projectId), eq(environments.name, environment.name)))
}

/** The variables of a job with an environment (CI-281). */
export function environmentVariables({ environment }: PlannedJob): Variable[] {
  if (!environment) return []
  const { name, url, action, deployment_tier } = environment
  return [
    { key: 'CI_ENVIRONMENT_NAME', value: name },
    { key: 'CI_ENVIRONMENT_SLUG', value: environmentSlug(name) },
    { key: 'CI_ENVIRONMENT_TIER', value: deployment_tier ?? tierOf(name) },
    { key: 'CI_ENVIRONMENT_ACTION', value: action },
    ...(url === null ? [] : [{ key: 'CI_ENVIRONMENT_URL', value: url }]),
  ]
}

/** Keeps the address of an environment, with the variables of the job that a runner has taken. */
export async function recordAddress(ctx: Context, job: number, { environment }: PlannedJob, expand: (text: string) => string): Promise<void> {
  if (environment?.action !== 'start') return
  const { url, auto_stop_in } = environment
  if (url === null && auto_stop_in === null) return
  await ctx.db.write
    .update(deployments)
    .set({ url: url && expand(url), auto_stop_in: auto_stop_in && expand(auto_stop_in) })
    .where(eq(deployments.job_id, job))
}
