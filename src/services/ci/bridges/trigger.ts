import { eq, sql } from 'drizzle-orm'
import { actingAs, actorOf, type SignedIn } from '../../../access/actor.js'
import { getProjectFor, type ProjectSubject } from '../../../access/rules.js'
import type { Context } from '../../../context.js'
import { commitStatuses, pipelines } from '../../../db/schema/index.js'
import { Failure, failureText, nullOnFailure } from '../../../failures.js'
import type { Oid } from '../../../git/types.js'
import { enqueue } from '../../../jobs/enqueue.js'
import { defineJob } from '../../../jobs/kinds.js'
import { expandEach, expandVariables, valuesOf } from '../../../rules/ci/expand-variables.js'
import type { JobTrigger, Variable } from '../../../rules/ci/types.js'
import { getUser } from '../../identity/users.js'
import { repositoryOf } from '../../repository/repositories.js'
import { changeJobs } from '../builds/change.js'
import { canceling, mirroring, triggering } from '../builds/later.js'
import { type BuildRecord, loadBuild } from '../builds/payload.js'
import { endBuild } from '../builds/report.js'
import { createPipeline, type NewPipeline, runsJobs } from '../create.js'
import { isFrozen } from '../environments/freeze-periods.js'
import { requestOfPipeline, requestsOf } from '../merge-requests/facts.js'
import { predefinedVariables } from '../predefined.js'
import { targetOf } from '../target.js'
import { overridingVariables } from '../variables.js'
import { childConfig } from './config.js'

/** Child pipelines may have child pipelines, and no deeper (CI-304). */
const MAX_CHILD_DEPTH = 2
/** Pipelines that one pipeline may lead to, with all that these lead to. */
const MAX_HIERARCHY = 1_000

/** Why a job cannot trigger its pipeline. */
class Refusal extends Error {
  constructor(
    readonly reason: string,
    readonly text: string | null = null,
  ) {
    super(reason)
  }
}

/** Makes the pipeline of a job that triggers one, once, and ends the job or lets it wait (CI-300). */
export const triggerPipeline = defineJob({
  ...triggering,
  async run(ctx: Context, { job }, { id: madeBy }) {
    const record = await loadBuild(ctx, job)
    if (record?.job.status !== 'pending' || !record.build.definition.trigger) return
    const { trigger } = record.build.definition
    try {
      if ((await downstreamOf(ctx, job)) === null) await create(ctx, record, trigger, madeBy)
    } catch (error) {
      if (!(error instanceof Refusal)) throw error
      await refuse(ctx, record, error)
      return
    }
    if (trigger.strategy === null) await endBuild(ctx, record.pipeline.id, job, { state: 'success' })
    else await wait(ctx, record)
    await cancelIfEnded(ctx, job)
  },
  async failed(ctx: Context, { job }) {
    const record = await loadBuild(ctx, job)
    if (record) await refuse(ctx, record, new Refusal('downstream_pipeline_creation_failed'))
  },
})

async function downstreamOf(ctx: Context, job: number): Promise<number | null> {
  const [found] = await ctx.db.write.select({ id: pipelines.id }).from(pipelines).where(eq(pipelines.bridge_id, job))
  return found?.id ?? null
}

async function refuse(ctx: Context, { job, pipeline }: BuildRecord, { reason, text }: Refusal): Promise<void> {
  if (text !== null)
    await ctx.db.write
      .update(commitStatuses)
      .set({ description: text.slice(0, 1_000) })
      .where(eq(commitStatuses.id, job.id))
  await endBuild(ctx, pipeline.id, job.id, { state: 'failed', failure_reason: reason })
}

/** The job has the state of the pipeline from now on. */
async function wait(ctx: Context, { job, pipeline: { id } }: BuildRecord): Promise<void> {
  await changeJobs(ctx, id, async (tx) => {
    const now = ctx.now()
    await tx
      .update(commitStatuses)
      .set({ status: 'running', started_at: now })
      .where(sql`${commitStatuses.id} = ${job.id} and ${commitStatuses.status} = 'pending'`)
    const [downstream] = await tx.select({ id: pipelines.id }).from(pipelines).where(eq(pipelines.bridge_id, job.id))
    // it may have ended already
    if (downstream) await enqueue(tx, mirroring, { pipeline: downstream.id }, { key: String(downstream.id) })
    return true
  })
}

/** The job was canceled while its pipeline was made. */
async function cancelIfEnded(ctx: Context, job: number): Promise<void> {
  const [found] = await ctx.db.write.select({ status: commitStatuses.status }).from(commitStatuses).where(eq(commitStatuses.id, job))
  if (found?.status === 'canceled') await enqueue(ctx.db, canceling, { job }, { key: `job ${job}` })
}

/** The first of the pipelines that have led to one; null if these have led to as many as they may (CI-304). */
export async function rootWithRoom(ctx: Context, pipeline: number): Promise<number | null> {
  const { rows } = await ctx.db.write.execute<{ root: string; led: number }>(sql`select r.root, (select count(*)::integer from ${pipelines} l
    where l.root_id = r.root) as led from (select coalesce(p.root_id, p.id) as root from ${pipelines} p where p.id = ${pipeline}) r`)
  const [found] = rows
  return found && found.led + 1 < MAX_HIERARCHY ? Number(found.root) : null
}

interface Ancestor {
  project: number
  ref: string
  source: string
  [column: string]: unknown
}

/** The pipeline and those that led to it, itself first. */
async function ancestorsOf(ctx: Context, pipeline: number): Promise<Ancestor[]> {
  const { rows } = await ctx.db.write.execute<Record<'project_id' | 'ref' | 'source', string>>(sql`with recursive up as (
      select p.id, p.project_id, p.ref, p.source, p.bridge_id, 0 as distance from ${pipelines} p where p.id = ${pipeline}
      union all
      select p.id, p.project_id, p.ref, p.source, p.bridge_id, up.distance + 1
      from up join ${commitStatuses} s on s.id = up.bridge_id join ${pipelines} p on p.id = s.pipeline_id where up.distance < ${MAX_HIERARCHY})
    select project_id, ref, source from up order by distance`)
  return rows.map(({ project_id, ref, source }) => ({ project: Number(project_id), ref, source }))
}

async function create(ctx: Context, record: BuildRecord, trigger: JobTrigger, madeBy: number): Promise<void> {
  const { job, pipeline } = record
  const user = await nullOnFailure(getUser(ctx, job.user_id))
  if (user?.state !== 'active') throw new Refusal('user_blocked')
  const caller = actingAs(actorOf(user))
  const subject = await nullOnFailure(getProjectFor(ctx, caller, String(pipeline.project_id)))
  if (!subject?.can('create_pipeline')) throw new Refusal('insufficient_bridge_permissions')
  const ancestors = await ancestorsOf(ctx, pipeline.id)
  const root = await rootWithRoom(ctx, pipeline.id)
  if (root === null) throw new Refusal('reached_max_pipeline_hierarchy_size')
  const values = await variablesOf(ctx, record, caller)
  const expand = (text: string) => expandVariables(text, values.known)
  const shared = { bridge_id: job.id, root_id: root, variables: values.forwarded, made_by: madeBy, strict: true }
  const target =
    trigger.project === null
      ? await child(ctx, subject, record, trigger, ancestors)
      : await other(ctx, caller, { path: expand(trigger.project), branch: trigger.branch && expand(trigger.branch), trigger }, ancestors)
  try {
    await createPipeline(ctx, caller, target.subject, { ...shared, ...target.given })
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    throw new Refusal('downstream_pipeline_creation_failed', failureText(error.body))
  }
}

type Target = {
  subject: ProjectSubject
  given: Pick<NewPipeline, 'source' | 'ref' | 'tag' | 'sha' | 'before_sha' | 'merge_request' | 'config' | 'inputs'>
}

/** A child pipeline: of the same commit, and the same merge request (CI-211). */
async function child(ctx: Context, subject: ProjectSubject, { pipeline }: BuildRecord, trigger: JobTrigger, ancestors: Ancestor[]): Promise<Target> {
  const first = ancestors.findIndex(({ source }) => source !== 'parent_pipeline')
  if ((first < 0 ? ancestors.length : first) >= MAX_CHILD_DEPTH) throw new Refusal('reached_max_descendant_pipelines_depth')
  const { ref, tag, before_sha } = pipeline
  const config = await childConfig(ctx, subject, pipeline.id, trigger)
  const merge_request = (await requestOfPipeline(ctx, pipeline.id)) ?? undefined
  return { subject, given: { source: 'parent_pipeline', ref, tag, sha: pipeline.sha as Oid, before_sha, merge_request, config } }
}

/** A pipeline of another project: of the head of a branch or tag. */
async function other(
  ctx: Context,
  caller: SignedIn,
  { path, branch, trigger }: { path: string; branch: string | null; trigger: JobTrigger },
  ancestors: Ancestor[],
): Promise<Target> {
  const subject = path.includes('/') ? await nullOnFailure(getProjectFor(ctx, caller, path)) : null
  if (!subject) throw new Refusal('downstream_bridge_project_not_found')
  const { project } = subject
  if (!subject.can('create_pipeline') || !runsJobs(project)) throw new Refusal('insufficient_bridge_permissions')
  const known = ancestors.filter(({ source }) => source !== 'parent_pipeline').map((each) => JSON.stringify([each.project, each.ref, each.source]))
  if (new Set(known).size < known.length) throw new Refusal('pipeline_loop_detected')
  const ref = branch || project.default_branch
  const target = await targetOf(ctx, subject, ref)
  if (!target) throw new Refusal('downstream_pipeline_creation_failed', 'Reference not found')
  if (target.refusal !== null) throw new Refusal('insufficient_bridge_permissions', target.refusal)
  return { subject, given: { source: 'pipeline', ref: target.ref, tag: target.tag, sha: target.sha, before_sha: null, inputs: trigger.inputs } }
}

/** The variables of the job, as a runner would get them, and those of them that the pipeline gets (CI-303). */
async function variablesOf(ctx: Context, { job, build, pipeline, project }: BuildRecord, caller: SignedIn) {
  const { trigger, variables: own } = build.definition
  const commit = await repositoryOf(ctx, project).commit(pipeline.sha as Oid)
  if (!commit) throw new Refusal('downstream_pipeline_creation_failed', 'Commit not found')
  const { stored, given } = await overridingVariables(ctx, { project, pipeline, environment: build.definition.environment?.name ?? null })
  const request = await requestOfPipeline(ctx, pipeline.id)
  const requests = await requestsOf(ctx, { ...pipeline, request, project, user: caller.user })
  const all: Variable[] = [
    ...predefinedVariables(ctx, { ...pipeline, ...requests, project, commit, user: caller.user, frozen: await isFrozen(ctx, project), pipeline }),
    { key: 'CI_JOB_ID', value: String(job.id) },
    { key: 'CI_JOB_NAME', value: job.name },
    { key: 'CI_JOB_STAGE', value: job.stage },
    ...own,
    ...stored,
    ...given,
    ...build.variables,
  ]
  const known = valuesOf(expandEach(all))
  const forward = trigger?.forward ?? { yaml_variables: true, pipeline_variables: false }
  const expanded = own.map(({ key, value, raw }) => ({ key, value: raw ? value : expandVariables(value, known), ...(raw && { raw }) }))
  const forwarded = valuesOf([...(forward.yaml_variables ? expanded : []), ...(forward.pipeline_variables ? [...given, ...build.variables] : [])])
  return { known, forwarded: [...forwarded.values()] }
}
