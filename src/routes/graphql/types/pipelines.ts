import { z } from 'zod'
import { fullPathOf, type ProjectSubject } from '../../../access/rules.js'
import { presentJob } from '../../../entities/ci/job.js'
import { Pipeline, presentPipeline } from '../../../entities/ci/pipeline.js'
import { refused } from '../../../failures.js'
import { groupedBy } from '../../../lib/grouped-by.js'
import { compositeStatus } from '../../../rules/ci/states.js'
import { PIPELINE_STATES } from '../../../rules/pipeline-states.js'
import { type JobRecord, listJobs } from '../../../services/ci/jobs.js'
import { listPipelines, type PipelineFilter, type PipelineRecord, SCOPES } from '../../../services/ci/pipelines.js'
import type { Call } from '../call.js'
import { mapped, PAGED, paged, partOfList, partOfPages } from '../connection.js'
import { globalId, idFrom } from '../global-id.js'
import { type Fields, field, namesOf, objectType, time } from '../object-type.js'

/** A pipeline of a project whose pipelines the caller sees. */
export interface PipelineNode {
  pipeline: PipelineRecord
  subject: ProjectSubject
}
interface JobNode {
  job: JobRecord
  subject: ProjectSubject
}
interface StageNode {
  name: string
  jobs: JobRecord[]
  subject: ProjectSubject
}

const text = z.string().nullish()
export const PIPELINE = z.object({ id: text, iid: text, sha: text })
export const PIPELINES = z.object({
  ...paged,
  ref: text,
  scope: text,
  sha: text,
  source: text,
  status: text,
  updatedAfter: time,
  updatedBefore: time,
  username: text,
})
export const JOBS = z.object({ ...paged, statuses: z.array(z.string()).nullish() })

const mayRead = ({ can }: ProjectSubject, { caller }: Call) => caller.user !== null && can('read_pipeline')

const stateOf = (name: string | null | undefined) => PIPELINE_STATES.find((state) => state === name?.toLowerCase())

const NEWEST = { order_by: 'id', sort: 'desc' } as const

/** A pipeline by its id: null if the caller may not see those of its project. */
export async function loadPipeline(id: number, call: Call): Promise<PipelineNode | null> {
  const pipeline = await call.loaders.pipelines.load(id)
  const subject = pipeline && (await call.loaders.projects.load(pipeline.project_id))
  return subject && mayRead(subject, call) ? { pipeline, subject } : null
}

export async function pipelineOf(subject: ProjectSubject, { id, iid, sha }: z.infer<typeof PIPELINE>, call: Call): Promise<PipelineNode | null> {
  if ([id, iid, sha].filter(Boolean).length !== 1) throw refused('Provide one of id, iid or sha')
  if (!mayRead(subject, call)) return null
  if (id) {
    const found = await loadPipeline(idFrom(id, 'Ci::Pipeline'), call)
    return found?.subject.project.id === subject.project.id ? found : null
  }
  call.countList()
  const by = sha ? { sha } : { iid: idFrom(iid as string) }
  const { items } = await listPipelines(call.ctx, subject, { ...NEWEST, ...by, page: 1, per_page: 1 })
  return items[0] ? loadPipeline(items[0].id, call) : null
}

export function pipelinesOf(subject: ProjectSubject, args: z.infer<typeof PIPELINES>, call: Call) {
  if (!mayRead(subject, call)) return null
  call.countList()
  const filter: Omit<PipelineFilter, 'page' | 'per_page'> = {
    ...NEWEST,
    ref: args.ref ?? undefined,
    sha: args.sha ?? undefined,
    source: args.source ?? undefined,
    username: args.username ?? undefined,
    status: stateOf(args.status),
    scope: SCOPES.find((scope) => scope === args.scope?.toLowerCase()),
    updated_after: args.updatedAfter ?? undefined,
    updated_before: args.updatedBefore ?? undefined,
  }
  return mapped(
    partOfPages(args, (paging) => listPipelines(call.ctx, subject, { ...filter, ...paging })),
    ({ id }) => loadPipeline(id, call),
  )
}

const statesOf = (names: string[] | null | undefined) => names?.flatMap((name) => stateOf(name) ?? [])

export function jobsOf(subject: ProjectSubject, args: z.infer<typeof JOBS>, call: Call) {
  if (!mayRead(subject, call)) return null
  call.countList()
  const filter = { scope: statesOf(args.statuses), newestFirst: true }
  return mapped(
    partOfPages(args, (paging) => listJobs(call.ctx, subject, { ...filter, ...paging })),
    (job): JobNode => ({ job, subject }),
  )
}

const ACTIVE: readonly string[] = ['created', 'waiting_for_resource', 'preparing', 'pending', 'running']
const COMPLETE: readonly string[] = ['success', 'failed', 'canceled', 'skipped']

const shownPipeline = ({ pipeline, subject }: PipelineNode, { view }: Call) =>
  presentPipeline(pipeline, { fullPath: fullPathOf(subject.project) }, view)

const jobsIn = async ({ pipeline }: PipelineNode, { loaders }: Call) => (await loaders.jobs.load(pipeline.id)) ?? []

const pipelineFields: Fields<PipelineNode> = {
  id: ({ pipeline }) => globalId('Ci::Pipeline', pipeline.id),
  status: ({ pipeline }) => pipeline.status.toUpperCase(),
  coverage: ({ pipeline }) => pipeline.coverage,
  path: (node, _, call) => call.pathOf(shownPipeline(node, call).web_url),
  active: ({ pipeline }) => ACTIVE.includes(pipeline.status),
  complete: ({ pipeline }) => COMPLETE.includes(pipeline.status),
  detailedStatus: (node, _, call) => {
    const { detailed_status: shown, web_url } = shownPipeline(node, call)
    return { ...shown, hasDetails: shown.has_details, detailsPath: call.pathOf(web_url) }
  },
  user: ({ pipeline }) => pipeline.user,
  project: ({ subject }) => subject,
  stages: field(PAGED, async (node: PipelineNode, args, call) => {
    const stages = groupedBy(await jobsIn(node, call), ({ stage_index }) => stage_index)
    const found = [...stages]
      .sort(([a], [b]) => a - b)
      .map(([, jobs]): StageNode => ({ name: jobs[0]?.status.stage ?? '', jobs, subject: node.subject }))
    return partOfList(found, args)
  }),
  jobs: field(JOBS, async (node: PipelineNode, args, call) => {
    const states = statesOf(args.statuses)
    const jobs = (await jobsIn(node, call)).filter(({ status }) => !states || states.includes(status.status))
    return partOfList(
      jobs.map((job): JobNode => ({ job, subject: node.subject })),
      args,
    )
  }),
}

const TYPES = { build: 'Ci::Build', bridge: 'Ci::Bridge', status: 'GenericCommitStatus' }

const shownJob = ({ job, subject }: JobNode, { view }: Call) => presentJob(job, { fullPath: fullPathOf(subject.project) }, view)

const whole = (seconds: number | null) => (seconds === null ? null : Math.round(seconds))

const jobFields: Fields<JobNode> = {
  id: ({ job }) => globalId(job.build ? (job.build.isBridge ? TYPES.bridge : TYPES.build) : TYPES.status, job.status.id),
  name: ({ job }) => job.status.name,
  status: ({ job }) => job.status.status.toUpperCase(),
  allowFailure: ({ job }) => job.status.allow_failure,
  createdAt: ({ job }) => job.status.created_at.toISOString(),
  queuedAt: ({ job }) => job.status.queued_at?.toISOString() ?? null,
  startedAt: ({ job }) => job.status.started_at?.toISOString() ?? null,
  finishedAt: ({ job }) => job.status.finished_at?.toISOString() ?? null,
  duration: (node, _, call) => whole(shownJob(node, call).duration),
  coverage: ({ job }) => job.status.coverage,
  createdByTag: ({ job }) => job.pipeline.tag,
  refName: ({ job }) => job.pipeline.ref,
  shortSha: ({ job }) => job.pipeline.sha.slice(0, 8),
  tags: ({ job }) => job.build?.tags ?? [],
  webPath: (node, _, call) => call.pathOf(shownJob(node, call).web_url),
  active: ({ job }) => ACTIVE.includes(job.status.status),
  stage: async ({ job, subject }, _, { loaders }): Promise<StageNode> => {
    const jobs = (await loaders.jobs.load(job.pipeline.id)) ?? []
    return { name: job.status.stage, jobs: jobs.filter(({ stage_index }) => stage_index === job.stage_index), subject }
  },
  detailedStatus: (node, _, call) => {
    const { status } = node.job.status
    const detailsPath = call.pathOf(shownJob(node, call).web_url)
    return { text: status, label: status, group: status, icon: `status_${status}`, hasDetails: true, detailsPath }
  },
}

const stageFields: Fields<StageNode> = {
  name: ({ name }) => name,
  status: ({ jobs }) => compositeStatus(jobs.map(({ status }) => ({ state: status.status, allow_failure: status.allow_failure }))),
  jobs: field(PAGED, ({ jobs, subject }: StageNode, args) =>
    partOfList(
      jobs.map((job): JobNode => ({ job, subject })),
      args,
    ),
  ),
}

export const pipelineTypes = {
  Pipeline: objectType<PipelineNode>({ fields: pipelineFields, shown: shownPipeline, entity: namesOf(Pipeline) }),
  CiJob: objectType<JobNode>({ fields: jobFields }),
  CiStage: objectType<StageNode>({ fields: stageFields }),
}
