import { and, asc, desc, eq, ne, sql } from 'drizzle-orm'
import type { ActorUser } from '../../access/actor.js'
import { LEVELS } from '../../access/can.js'
import { withLevel } from '../../access/roles.js'
import type { ProjectSubject } from '../../access/rules.js'
import type { Context } from '../../context.js'
import { inIds } from '../../db/conditions.js'
import { decoded, totalCount } from '../../db/decoded.js'
import { conditionsOf, type FilterNames, type Filters, usedFilters } from '../../db/filters.js'
import { artifacts, builds, commitStatuses, pipelines, projects, runners, users } from '../../db/schema/index.js'
import { statement } from '../../db/statement.js'
import { notFound } from '../../failures.js'
import type { Commit } from '../../git/types.js'
import { groupedBy } from '../../lib/grouped-by.js'
import type { Keyset } from '../../lib/keyset.js'
import type { JobEnvironment, PlannedJob } from '../../rules/ci/types.js'
import type { PipelineState } from '../../rules/pipeline-states.js'
import { type Page, type Paging, pageFrom, rowFilters } from '../core/page.js'
import { userRefColumns } from '../identity/user-ref.js'
import { loadProjects, type ProjectRecord } from '../projects/load.js'
import { repositoryOf } from '../repository/repositories.js'
import { basicColumns, getPipeline, type PipelineBasicRecord } from './pipelines.js'
import { runnerRefColumns, type SeenRunnerRef, seenRunner } from './runners/runners.js'
import { type CommitStatusRecord, statusColumns } from './statuses.js'

export interface JobRecord {
  status: Omit<CommitStatusRecord, 'sha' | 'ref' | 'pipeline_id'>
  pipeline: PipelineBasicRecord & { tag: boolean }
  /** The position of its stage; that of statuses is the last. */
  stage_index: number
  /** It was not retried. */
  latest: boolean
  /** What a job has that a runner takes; null for statuses. */
  build: BuildFacts | null
  /** Null if the viewer may not read code, or if the commit does not exist. */
  commit: Commit | null
}

/** What a job for a runner has beside what statuses have. */
export interface BuildFacts {
  /** It triggers a pipeline, and no runner takes it. */
  isBridge: boolean
  /** What it waits for, by name; null: all earlier stages. */
  needs: string[] | null
  environment: Pick<JobEnvironment, 'name' | 'action'> | null
  tags: string[]
  trace_size: number
  erased_at: Date | null
  scheduled_at: Date | null
  runner: SeenRunnerRef | null
  artifacts: Pick<typeof artifacts.$inferSelect, 'file_type' | 'file_format' | 'filename' | 'size' | 'expires_at'>[]
}

export interface JobFilter extends Paging, Keyset {
  scope?: PipelineState[] | undefined
  /** Also attempts that were retried since. */
  include_retried?: boolean | undefined
  /** The newest first, as in the list of a project. */
  newestFirst?: boolean | undefined
  pipeline_id?: number | undefined
  ids?: number[] | undefined
  /** Only jobs that trigger a pipeline; they are left out by default. */
  bridges?: boolean | undefined
}

const FILTERS = {
  scope: { where: (states) => sql`${commitStatuses.status} = any(${states})`, value: ({ scope }) => (scope?.length ? scope : undefined) },
  pipeline_id: { where: (id) => eq(commitStatuses.pipeline_id, id), value: ({ pipeline_id }) => pipeline_id },
  ids: { where: (ids) => sql`${commitStatuses.id} = any(${ids}::bigint[])`, value: ({ ids }) => ids },
  jobs: { where: () => sql`${commitStatuses.kind} <> 'bridge'`, value: ({ bridges }) => (bridges === undefined ? true : undefined) },
  bridges: { where: () => sql`${commitStatuses.kind} = 'bridge'`, value: ({ bridges }) => bridges || undefined },
  latest: { where: () => sql`${commitStatuses.latest}`, value: ({ include_retried }) => (include_retried ? undefined : true) },
  ...rowFilters(commitStatuses.id),
} satisfies Filters<JobFilter & { latest?: boolean; jobs?: boolean }, 'latest' | 'jobs' | FilterNames<JobFilter, 'include_retried' | 'newestFirst'>>

/** One job, those with these ids, or the latest ones of a project that match the filters. */
type Shape = 'one' | { ids: true; newestFirst: boolean } | { filters: (keyof typeof FILTERS)[]; newestFirst: boolean }

/** Selects the ids of a page first, so that only its rows are joined with the displayed columns. */
const selectJobs = statement('jobs', (db, shape: Shape) => {
  const order = shape !== 'one' && shape.newestFirst ? desc(commitStatuses.id) : asc(commitStatuses.id)
  const page = db
    .select({ id: commitStatuses.id, total: sql<number>`count(*) over ()`.as('total') })
    .from(commitStatuses)
    .where(
      shape !== 'one' && 'ids' in shape
        ? inIds(commitStatuses.id)
        : and(
            eq(commitStatuses.project_id, sql.placeholder('project')),
            shape === 'one' ? eq(commitStatuses.id, sql.placeholder('id')) : and(...conditionsOf(FILTERS, shape.filters, null)),
          ),
    )
    .orderBy(order)
    .limit(sql.placeholder('limit'))
    .offset(sql.placeholder('offset'))
    .as('page')
  return db
    .select({
      status: statusColumns,
      author: userRefColumns(users),
      stage_index: commitStatuses.stage_index,
      latest: commitStatuses.latest,
      pipeline: { ...basicColumns, tag: pipelines.tag },
      build: {
        job_id: builds.job_id,
        // a definition may have a script of any length
        kind: sql<PlannedJob['kind']>`${builds.definition} ->> 'kind'`,
        tags: sql<PlannedJob['tags']>`${builds.definition} -> 'tags'`,
        environment: sql<PlannedJob['environment']>`${builds.definition} -> 'environment'`,
        needs: builds.needs,
        trace_size: builds.trace_size,
        erased_at: builds.erased_at,
        scheduled_at: builds.scheduled_at,
      },
      runner: runnerRefColumns,
      total: decoded(sql<number>`${page.total}`, Number),
    })
    .from(page)
    .innerJoin(commitStatuses, eq(commitStatuses.id, page.id))
    .innerJoin(pipelines, eq(pipelines.id, commitStatuses.pipeline_id))
    .innerJoin(users, eq(users.id, commitStatuses.user_id))
    .leftJoin(builds, eq(builds.job_id, commitStatuses.id))
    .leftJoin(runners, eq(runners.id, builds.runner_id))
    .orderBy(order)
})

const selectArtifacts = statement('artifacts of jobs', (db) =>
  db
    .select({
      job: artifacts.job_id,
      file_type: artifacts.file_type,
      file_format: artifacts.file_format,
      filename: artifacts.filename,
      size: artifacts.size,
      expires_at: artifacts.expires_at,
    })
    .from(artifacts)
    // a log is shown by its own size, wherever it is
    .where(and(inIds(artifacts.job_id), ne(artifacts.file_type, 'trace')))
    .orderBy(asc(artifacts.id)),
)

type Row = Awaited<ReturnType<ReturnType<typeof selectJobs>['execute']>>[number]

/** Adds the files of jobs, read at once. */
async function buildsOf(ctx: Context, rows: Row[]): Promise<(BuildFacts | null)[]> {
  const ids = rows.flatMap(({ build, status }) => (build ? [status.id] : []))
  const files = ids.length > 0 ? await selectArtifacts(ctx.db, null).execute({ ids }) : []
  return rows.map(({ build, runner, status }) => {
    if (!build) return null
    const { kind, needs, environment, tags, trace_size, erased_at, scheduled_at } = build
    return {
      isBridge: kind === 'bridge',
      needs,
      environment: environment && { name: environment.name, action: environment.action },
      tags,
      trace_size,
      erased_at,
      scheduled_at,
      runner: runner && seenRunner(ctx, runner),
      artifacts: files.filter(({ job }) => job === status.id),
    }
  })
}

/**
 * Adds the commits, read in one batch. Commit messages and addresses count as code: callers who may not download it see
 * jobs without commits (PL-11).
 */
async function complete(ctx: Context, { project, can }: ProjectSubject, rows: Row[]): Promise<JobRecord[]> {
  if (rows.length === 0) return []
  const shas = can('download_code') ? [...new Set(rows.map(({ pipeline }) => pipeline.sha))] : []
  const [commits, facts] = await Promise.all([shas.length > 0 ? repositoryOf(ctx, project).commits(shas) : [], buildsOf(ctx, rows)])
  const bySha = new Map(shas.map((sha, i) => [sha, commits[i] ?? null]))
  return rows.map((row, i) => recordOf(row, facts[i], bySha.get(row.pipeline.sha)))
}

const recordOf = ({ status, author, pipeline, stage_index, latest }: Row, build?: BuildFacts | null, commit?: Commit | null): JobRecord => ({
  status: { ...status, author },
  pipeline,
  stage_index,
  latest,
  build: build ?? null,
  commit: commit ?? null,
})

/** The latest statuses of a project (PL-11); replaced ones are only in the list of a commit's statuses (PL-2). */
export async function listJobs(ctx: Context, subject: ProjectSubject, filter: JobFilter): Promise<Page<JobRecord>> {
  const used = usedFilters(FILTERS, filter)
  const shape = { filters: used.names, newestFirst: filter.newestFirst ?? false }
  const { items, total } = await pageFrom(selectJobs(ctx.db, shape), { ...used.values, project: subject.project.id }, filter)
  return { items: await complete(ctx, subject, items), total }
}

/** The jobs of one pipeline (PL-10). */
export async function listPipelineJobs(ctx: Context, subject: ProjectSubject, pipelineId: number, filter: JobFilter): Promise<Page<JobRecord>> {
  await getPipeline(ctx, subject, pipelineId)
  return listJobs(ctx, subject, { ...filter, pipeline_id: pipelineId })
}

/** The most jobs of one pipeline that a list of pipelines shows, and of all pipelines, which share them equally. */
const MAX_JOBS_OF_ONE = 500
const MAX_JOBS_OF_ALL = 5_000

const selectJobIds = statement('ids of jobs of pipelines', (db) => {
  const numbered = db
    .select({
      id: commitStatuses.id,
      place: sql<number>`row_number() over (partition by ${commitStatuses.pipeline_id} order by ${commitStatuses.id})`.as('place'),
    })
    .from(commitStatuses)
    .where(and(inIds(commitStatuses.pipeline_id), commitStatuses.latest, ne(commitStatuses.kind, 'bridge')))
    .as('numbered')
  return db
    .select({ id: numbered.id })
    .from(numbered)
    .where(sql`${numbered.place} <= ${sql.placeholder('most')}::integer`)
})

/**
 * The latest jobs and statuses of pipelines of any projects, by pipeline, in their order, without commits; of each
 * pipeline the first 500, or as many as 5,000 for all of them leave. The caller must be allowed to see the pipelines.
 */
export async function jobsOfPipelines(ctx: Context, pipelineIds: number[]): Promise<Map<number, JobRecord[]>> {
  if (pipelineIds.length === 0) return new Map()
  const most = Math.min(MAX_JOBS_OF_ONE, Math.floor(MAX_JOBS_OF_ALL / pipelineIds.length))
  const ids = (await selectJobIds(ctx.db, null).execute({ ids: pipelineIds, most })).map(({ id }) => id)
  if (ids.length === 0) return new Map()
  const rows = await selectJobs(ctx.db, { ids: true, newestFirst: false }).execute({ ids, limit: ids.length, offset: 0 })
  const facts = await buildsOf(ctx, rows)
  return groupedBy(
    rows.map((row, i) => recordOf(row, facts[i])),
    ({ pipeline }) => pipeline.id,
  )
}

/** Jobs of a project by their ids; those that are not there are left out. */
export async function jobsByIds(ctx: Context, subject: ProjectSubject, ids: number[]): Promise<Map<number, JobRecord>> {
  if (ids.length === 0) return new Map()
  const { items } = await listJobs(ctx, subject, { ids, include_retried: true, bridges: false, page: 1, per_page: ids.length })
  return new Map(items.map((job) => [job.status.id, job]))
}

/** One job: any status, including replaced ones (PL-11). */
export async function getJob(ctx: Context, subject: ProjectSubject, id: number): Promise<JobRecord> {
  const rows = await selectJobs(ctx.db, 'one').execute({ project: subject.project.id, id, limit: 1, offset: 0 })
  const [job] = await complete(ctx, subject, rows)
  if (!job) throw notFound()
  return job
}

/** The level from which all jobs of a project are seen, with their commits. */
const READS = sql`${LEVELS.reporter}::integer`

/** A job of any project; without its commit, as a list of many projects opens no repository. */
export type RunnerJobRecord = Omit<JobRecord, 'commit'> & { project: ProjectRecord }

/** Jobs of a runner in the projects in which the viewer is a reporter, the newest first; administrators see all (CI-119). */
export async function listRunnerJobs(
  ctx: Context,
  viewer: ActorUser,
  runner: number,
  filter: Paging & { status?: PipelineState | undefined; sort?: 'asc' | 'desc' | undefined },
): Promise<Page<RunnerJobRecord>> {
  const order = filter.sort === 'asc' ? asc : desc
  const found = await ctx.db.read
    .select({ id: builds.job_id, project: commitStatuses.project_id, total: totalCount() })
    .from(builds)
    .innerJoin(commitStatuses, eq(commitStatuses.id, builds.job_id))
    .innerJoin(projects, eq(projects.id, commitStatuses.project_id))
    .where(
      and(
        eq(builds.runner_id, runner),
        filter.status && eq(commitStatuses.status, filter.status),
        viewer.admin ? undefined : withLevel(projects, sql`${viewer.id}::bigint`, READS),
      ),
    )
    .orderBy(order(builds.job_id))
    .limit(filter.per_page)
    .offset((filter.page - 1) * filter.per_page)
  if (found.length === 0) return { items: [], total: 0 }
  const ids = found.map(({ id }) => id)
  const [rows, shown] = await Promise.all([
    selectJobs(ctx.db, { ids: true, newestFirst: filter.sort !== 'asc' }).execute({ ids, limit: ids.length, offset: 0 }),
    loadProjects(ctx, viewer, [...new Set(found.map(({ project }) => project))]),
  ])
  const facts = await buildsOf(ctx, rows)
  const projectOf = new Map(found.map(({ id, project }) => [id, shown.find((each) => each.id === project)]))
  const items = rows.flatMap((row, i) => {
    const project = projectOf.get(row.status.id)
    return project ? [{ ...recordOf(row, facts[i]), project }] : []
  })
  return { items, total: found[0]?.total ?? 0 }
}
