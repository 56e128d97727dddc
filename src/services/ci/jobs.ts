import { and, asc, eq, sql } from 'drizzle-orm'
import type { ProjectSubject } from '../../access/rules.js'
import type { Context } from '../../context.js'
import { decoded } from '../../db/decoded.js'
import { conditionsOf, type FilterNames, type Filters, usedFilters } from '../../db/filters.js'
import { commitStatuses, pipelines, users } from '../../db/schema/index.js'
import { statement } from '../../db/statement.js'
import { notFound } from '../../failures.js'
import type { Commit } from '../../git/types.js'
import type { Keyset } from '../../lib/keyset.js'
import type { PipelineState } from '../../rules/pipeline-states.js'
import { type Page, type Paging, pageFrom, rowFilters } from '../core/page.js'
import { userRefColumns } from '../identity/user-ref.js'
import { repositoryOf } from '../repository/repositories.js'
import { basicColumns, getPipeline, type PipelineBasicRecord } from './pipelines.js'
import { type CommitStatusRecord, statusColumns } from './statuses.js'

export interface JobRecord {
  status: Omit<CommitStatusRecord, 'sha' | 'ref' | 'pipeline_id'>
  pipeline: PipelineBasicRecord & { tag: boolean }
  /** Null if the viewer may not read code, or if the commit does not exist. */
  commit: Commit | null
}

export interface JobFilter extends Paging, Keyset {
  scope?: PipelineState[] | undefined
  pipeline_id?: number | undefined
}

const FILTERS = {
  scope: { where: (states) => sql`${commitStatuses.status} = any(${states})`, value: ({ scope }) => (scope?.length ? scope : undefined) },
  pipeline_id: { where: (id) => eq(commitStatuses.pipeline_id, id), value: ({ pipeline_id }) => pipeline_id },
  ...rowFilters(commitStatuses.id),
} satisfies Filters<JobFilter, FilterNames<JobFilter>>

/** One job, or the latest ones that match the filters. */
type Shape = 'one' | FilterNames<JobFilter>[]

/** Selects the ids of a page first, so that only its rows are joined with the displayed columns. */
const selectJobs = statement('jobs', (db, shape: Shape) => {
  const page = db
    .select({ id: commitStatuses.id, total: sql<number>`count(*) over ()`.as('total') })
    .from(commitStatuses)
    .where(
      and(
        eq(commitStatuses.project_id, sql.placeholder('project')),
        shape === 'one' ? eq(commitStatuses.id, sql.placeholder('id')) : and(sql`${commitStatuses.latest}`, ...conditionsOf(FILTERS, shape, null)),
      ),
    )
    .orderBy(asc(commitStatuses.id))
    .limit(sql.placeholder('limit'))
    .offset(sql.placeholder('offset'))
    .as('page')
  return db
    .select({
      status: statusColumns,
      author: userRefColumns(users),
      pipeline: { ...basicColumns, tag: pipelines.tag },
      total: decoded(sql<number>`${page.total}`, Number),
    })
    .from(page)
    .innerJoin(commitStatuses, eq(commitStatuses.id, page.id))
    .innerJoin(pipelines, eq(pipelines.id, commitStatuses.pipeline_id))
    .innerJoin(users, eq(users.id, commitStatuses.user_id))
    .orderBy(asc(commitStatuses.id))
})

type Row = Omit<JobRecord, 'commit' | 'status'> & { status: Omit<JobRecord['status'], 'author'>; author: JobRecord['status']['author'] }

/**
 * Adds the commits, read in one batch. Commit messages and addresses count as code: callers who may not download it see
 * jobs without commits (PL-11).
 */
async function withCommits(ctx: Context, { project, can }: ProjectSubject, rows: Row[]): Promise<JobRecord[]> {
  if (rows.length === 0) return []
  if (!can('download_code')) return rows.map(({ status, author, pipeline }) => ({ status: { ...status, author }, pipeline, commit: null }))
  const shas = [...new Set(rows.map(({ pipeline }) => pipeline.sha))]
  const commits = await repositoryOf(ctx, project).commits(shas)
  const bySha = new Map(shas.map((sha, i) => [sha, commits[i] ?? null]))
  return rows.map(({ status, author, pipeline }) => ({ status: { ...status, author }, pipeline, commit: bySha.get(pipeline.sha) ?? null }))
}

/** The latest statuses of a project (PL-11); replaced ones are only in the list of a commit's statuses (PL-2). */
export async function listJobs(ctx: Context, subject: ProjectSubject, filter: JobFilter): Promise<Page<JobRecord>> {
  const used = usedFilters(FILTERS, filter)
  const { items, total } = await pageFrom(selectJobs(ctx.db, used.names), { ...used.values, project: subject.project.id }, filter)
  return { items: await withCommits(ctx, subject, items), total }
}

/** The jobs of one pipeline (PL-10). */
export async function listPipelineJobs(ctx: Context, subject: ProjectSubject, pipelineId: number, filter: JobFilter): Promise<Page<JobRecord>> {
  await getPipeline(ctx, subject, pipelineId)
  return listJobs(ctx, subject, { ...filter, pipeline_id: pipelineId })
}

/** One job: any status, including replaced ones (PL-11). */
export async function getJob(ctx: Context, subject: ProjectSubject, id: number): Promise<JobRecord> {
  const rows = await selectJobs(ctx.db, 'one').execute({ project: subject.project.id, id, limit: 1, offset: 0 })
  const [job] = await withCommits(ctx, subject, rows)
  if (!job) throw notFound()
  return job
}
