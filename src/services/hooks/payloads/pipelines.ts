import { and, asc, eq, sql } from 'drizzle-orm'
import { commitStatuses, mergeRequests, type RowImage } from '../../../db/schema/index.js'
import { ZERO } from '../../../git/types.js'
import { STAGE } from '../../../rules/pipeline-states.js'
import { requestOfPipeline } from '../../ci/merge-requests/facts.js'
import { pipelineVariablesOf } from '../../ci/variables.js'
import type { HookChange } from '../../outbox/changes.js'
import type { WebhookEvent } from '../event.js'
import { type PayloadData, projectObject, stamp, userById } from '../payload-data.js'
import { commitObject, repositoryIn } from './commits.js'
import { type BuildFacts, buildFactsOf, environmentObject, runnerObject, secondsBetween } from './jobs.js'

const FINISHED = new Set(['success', 'failed', 'canceled', 'skipped'])

/** The event of a pipeline whose status has changed (HK-20). */
export async function pipelineOf(data: PayloadData, pipeline: RowImage): Promise<WebhookEvent[]> {
  const project = await data.project(pipeline['project_id'])
  if (!project) return []
  const statuses = await statusesOf(data, pipeline)
  const facts = await buildFactsOf(
    data.ctx,
    statuses.flatMap(({ id, kind }) => (kind === 'build' ? [Number(id)] : [])),
  )
  const commit = await repositoryIn(data, project).commit(String(pipeline['sha']))
  const url = `${data.ctx.links.project(project.fullPath)}/pipelines/${pipeline['id']}`
  const request = await requestOf(data, pipeline)
  // that of a merge request is sent with the name of the source branch
  const ref = pipeline['source'] === 'merge_request_event' && request ? request.source_branch : pipeline['ref']
  const body = {
    object_kind: 'pipeline',
    object_attributes: { ...attributes(pipeline, statuses), ref, variables: await variablesOf(data, pipeline), url },
    merge_request: request,
    user: await userById(data, pipeline['user_id']),
    project: projectObject(data, project),
    commit: commit && commitObject(data, project, commit),
    builds: await Promise.all(statuses.map((status) => build(data, status, facts.get(Number(status['id']))))),
  }
  return [{ listens: 'pipeline', event: 'Pipeline Hook', project: project.id, body }]
}

/** The event of a changed row. */
export const pipelinesOf = (data: PayloadData, { after }: HookChange): Promise<WebhookEvent[]> =>
  after ? pipelineOf(data, after) : Promise.resolve([])

async function statusesOf({ ctx }: PayloadData, pipeline: RowImage): Promise<RowImage[]> {
  const rows = await ctx.db.write
    .select({ image: sql<RowImage>`to_jsonb(${commitStatuses})` })
    .from(commitStatuses)
    .where(
      and(
        eq(commitStatuses.project_id, Number(pipeline['project_id'])),
        eq(commitStatuses.pipeline_id, Number(pipeline['id'])),
        commitStatuses.latest,
      ),
    )
    .orderBy(asc(commitStatuses.id))
  return rows.map(({ image }) => image)
}

const millis = (value: unknown) => (typeof value === 'string' ? [new Date(value).getTime()] : [])

/** Seconds in which any of these ran: of times that overlap each counts once (CI-334). */
function secondsOf(statuses: RowImage[]): number | null {
  const periods = statuses.flatMap((status) =>
    millis(status['started_at']).flatMap((from) => millis(status['finished_at']).map((to) => ({ from, to }))),
  )
  if (periods.length === 0) return null
  let [total, until] = [0, 0]
  for (const { from, to } of periods.sort((a, b) => a.from - b.from)) {
    total += Math.max(0, to - Math.max(from, until))
    until = Math.max(until, to)
  }
  return Math.round(total / 1000)
}

function attributes(pipeline: RowImage, statuses: RowImage[]) {
  const ended = FINISHED.has(String(pipeline['status'])) ? statuses.flatMap((status) => millis(status['finished_at'])) : []
  const stages = [...new Set([...statuses].sort((a, b) => Number(a['stage_index']) - Number(b['stage_index'])).map(({ stage }) => stage))]
  const finish = ended.length > 0 ? Math.max(...ended) : null
  return {
    id: pipeline['id'],
    iid: pipeline['iid'],
    ref: pipeline['ref'],
    tag: pipeline['tag'],
    sha: pipeline['sha'],
    before_sha: pipeline['before_sha'] ?? ZERO,
    source: pipeline['source'],
    status: pipeline['status'],
    detailed_status: pipeline['status'],
    stages: stages.length > 0 ? stages : [STAGE],
    created_at: stamp(pipeline['created_at']),
    finished_at: finish === null ? null : stamp(new Date(finish).toISOString()),
    duration: finish === null ? null : secondsOf(statuses),
  }
}

/** Variables that the pipeline was made with, as the original sends them. */
async function variablesOf({ ctx }: PayloadData, { id }: RowImage) {
  return (await pipelineVariablesOf(ctx, Number(id))).map(({ key, value }) => ({ key, value }))
}

async function build(data: PayloadData, status: RowImage, facts: BuildFacts | undefined) {
  const when = facts?.when ?? 'on_success'
  return {
    id: status['id'],
    stage: status['stage'],
    name: status['name'],
    status: status['status'],
    created_at: stamp(status['created_at']),
    started_at: stamp(status['started_at']),
    finished_at: stamp(status['finished_at']),
    duration: secondsBetween(status['started_at'], status['finished_at']),
    queued_duration: secondsBetween(status['queued_at'], status['started_at']),
    failure_reason: status['failure_reason'],
    when,
    manual: when === 'manual',
    allow_failure: status['allow_failure'],
    user: await userById(data, status['user_id']),
    runner: runnerObject(facts?.runner ?? null),
    artifacts_file: facts?.archive ?? { filename: null, size: null },
    environment: environmentObject(facts?.environment ?? null),
  }
}

/** The merge request that it is for, else an open one that has this head pipeline, if there is one (HK-20, CI-214). */
async function requestOf({ ctx }: PayloadData, pipeline: RowImage) {
  const id = Number(pipeline['id'])
  const own = await requestOfPipeline(ctx, id)
  const isHead = and(eq(mergeRequests.head_pipeline_id, id), eq(mergeRequests.state, 'opened'))
  const [found] = await ctx.db.write
    .select()
    .from(mergeRequests)
    .where(and(own === null ? isHead : eq(mergeRequests.id, own), sql`${mergeRequests.deleted_at} is null`))
    .orderBy(asc(mergeRequests.id))
    .limit(1)
  if (!found) return null
  const { iid, title, source_branch, source_project_id, target_branch, project_id, state, merge_status } = found
  return { id: found.id, iid, title, source_branch, source_project_id, target_branch, target_project_id: project_id, state, merge_status }
}
