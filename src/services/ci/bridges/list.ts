import { eq, inArray } from 'drizzle-orm'
import type { Caller } from '../../../access/actor.js'
import { canProject } from '../../../access/can.js'
import type { ProjectSubject } from '../../../access/rules.js'
import type { Context } from '../../../context.js'
import { inIds } from '../../../db/conditions.js'
import { commitStatuses, pipelines } from '../../../db/schema/index.js'
import { statement } from '../../../db/statement.js'
import type { Page } from '../../core/page.js'
import { loadProjects } from '../../projects/load.js'
import { type JobFilter, type JobRecord, listJobs } from '../jobs.js'
import { basicColumns, getPipeline, type PipelineBasicRecord } from '../pipelines.js'

/** A pipeline of a project that the viewer may read. */
export interface LinkedPipeline {
  pipeline: PipelineBasicRecord
  fullPath: string
}

export interface BridgeRecord {
  job: JobRecord
  /** Null: there is none (yet), or the viewer may not read it. */
  downstream: LinkedPipeline | null
}

const selectDownstream = statement('pipelines that jobs have triggered', (db) =>
  db
    .select({ ...basicColumns, bridge: pipelines.bridge_id })
    .from(pipelines)
    .where(inIds(pipelines.bridge_id)),
)

/** The full paths of the projects whose pipelines the viewer may read, by id. */
async function readablePaths(ctx: Context, { user }: Pick<Caller, 'user'>, ids: number[]): Promise<Map<number, string>> {
  const records = ids.length > 0 ? await loadProjects(ctx, user, [...new Set(ids)]) : []
  return new Map(
    records.flatMap((record) => {
      const { project, namespace, level } = record
      return canProject({ user, level, project }, 'read_pipeline') ? [[project.id, `${namespace.full_path}/${project.path}`] as const] : []
    }),
  )
}

/** The pipelines that these jobs have triggered, by the id of the job, where the viewer may read them. */
export async function downstreamOf(ctx: Context, caller: Pick<Caller, 'user'>, jobs: number[]): Promise<Map<number, LinkedPipeline>> {
  const rows = jobs.length > 0 ? await selectDownstream(ctx.db, null).execute({ ids: jobs }) : []
  const paths = await readablePaths(
    ctx,
    caller,
    rows.map(({ project_id }) => project_id),
  )
  return new Map(
    rows.flatMap(({ bridge, ...pipeline }) => {
      const fullPath = paths.get(pipeline.project_id)
      return bridge === null || fullPath === undefined ? [] : [[bridge, { pipeline, fullPath }] as const]
    }),
  )
}

/** The pipeline whose job has triggered this one; null if there is none, or the viewer may not read it. */
export async function upstreamOf(ctx: Context, caller: Pick<Caller, 'user'>, id: number): Promise<LinkedPipeline | null> {
  const [own] = await ctx.db.write
    .select({ parent: commitStatuses.pipeline_id })
    .from(pipelines)
    .innerJoin(commitStatuses, eq(commitStatuses.id, pipelines.bridge_id))
    .where(eq(pipelines.id, id))
  if (!own) return null
  const [pipeline] = await ctx.db.write
    .select(basicColumns)
    .from(pipelines)
    .where(inArray(pipelines.id, [own.parent]))
  const fullPath = pipeline && (await readablePaths(ctx, caller, [pipeline.project_id])).get(pipeline.project_id)
  return pipeline && fullPath !== undefined ? { pipeline, fullPath } : null
}

/** The jobs of a pipeline that trigger others (CI-308). */
export async function listBridges(
  ctx: Context,
  subject: ProjectSubject,
  caller: Pick<Caller, 'user'>,
  pipelineId: number,
  filter: JobFilter,
): Promise<Page<BridgeRecord>> {
  await getPipeline(ctx, subject, pipelineId)
  const { items, total } = await listJobs(ctx, subject, { ...filter, pipeline_id: pipelineId, bridges: true })
  const downstream = await downstreamOf(
    ctx,
    caller,
    items.map(({ status }) => status.id),
  )
  return { items: items.map((job) => ({ job, downstream: downstream.get(job.status.id) ?? null })), total }
}
