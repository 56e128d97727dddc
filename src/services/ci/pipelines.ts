import { and, asc, desc, eq, inArray, type SQL, sql } from 'drizzle-orm'
import type { Caller, SignedIn } from '../../access/actor.js'
import type { ProjectSubject } from '../../access/rules.js'
import type { Context, PushEvent } from '../../context.js'
import type { Sender } from '../../db/client.js'
import { inIds } from '../../db/conditions.js'
import { decoded, totalCount } from '../../db/decoded.js'
import { isForeignKeyViolation, isUniqueViolation } from '../../db/errors.js'
import { conditionsOf, type FilterNames, type Filters, usedFilters } from '../../db/filters.js'
import { builds, commitStatuses, pipelines, users } from '../../db/schema/index.js'
import { batchStatement, statement } from '../../db/statement.js'
import { forbidden, notFound } from '../../failures.js'
import { type Oid, ZERO } from '../../git/types.js'
import type { Keyset } from '../../lib/keyset.js'
import { compositeStatus, type StateOfJob } from '../../rules/ci/states.js'
import { PIPELINE_STATES, type PipelineState } from '../../rules/pipeline-states.js'
import { nextIid } from '../core/iids.js'
import { type Page, type Paging, pageFrom, rowFilters } from '../core/page.js'
import { type UserRefRecord, userRefColumns } from '../identity/user-ref.js'
import { repositoryOf } from '../repository/repositories.js'
import { cancelAll } from './builds/cancel.js'
import { changeJobs } from './builds/change.js'
import { becomeHead, isNoChild, isOfRef } from './merge-requests/heads.js'
import { promptGroups } from './resource-groups/groups.js'
import { mayRunOn } from './target.js'
import { pipelineVariablesOf } from './variables.js'

export interface PipelineBasicRecord {
  id: number
  sha: string
  ref: string
  status: PipelineState
  project_id: number
  iid: number
  source: string
  created_at: Date
  updated_at: Date
}

export interface PipelineRecord extends PipelineBasicRecord {
  tag: boolean
  before_sha: string | null
  yaml_errors: string | null
  user: UserRefRecord | null
  started_at: Date | null
  /** Null until the pipeline has finished. */
  finished_at: Date | null
  /** Seconds in which any of its jobs ran (CI-334). Null until the pipeline has finished. */
  duration: number | null
  /** The mean coverage of the statuses that have one. */
  coverage: number | null
}

const ofProject = eq(pipelines.project_id, sql.placeholder('project'))

/** Selects a pipeline by commit and ref, or by its id, which must then match the commit and ref if these are given. */
export interface PipelineSelector {
  project: number
  sha: Oid | null
  ref: string | null
  id: number | null
}

/** What the SQL text of a query with a selector depends on. */
export const shapeOf = ({ sha, ref, id }: PipelineSelector) => ({ sha: sha !== null, ref: ref !== null, id: id !== null })
export type PipelineShape = ReturnType<typeof shapeOf>

/**
 * SQL condition for a selector, with placeholders for its parts: of several pipelines of a commit and ref the newest, as
 * one may be run again, on a schedule or by a trigger.
 */
export function matchesSelector({ sha, ref, id }: PipelineShape): SQL {
  const given = and(
    ofProject,
    sha ? eq(pipelines.sha, sql.placeholder('sha')) : undefined,
    ref ? eq(pipelines.ref, sql.placeholder('ref')) : undefined,
  )
  if (id) return and(given, eq(pipelines.id, sql.placeholder('id'))) as SQL
  return sql`${pipelines.id} = (select max(${pipelines.id}) from ${pipelines} where ${and(given, isNoChild, isOfRef)})`
}

const lock = batchStatement('lock a pipeline', (db, shape: PipelineShape) =>
  db.select({ id: pipelines.id }).from(pipelines).where(matchesSelector(shape)).for('no key update'),
)

/**
 * Locks a pipeline until the batch ends: later statements see all statuses posted before, and concurrent posts wait.
 */
export const lockPipeline = (on: Sender, at: PipelineSelector) => lock(on, shapeOf(at)).execute({ ...at })

/** Creates the pipeline of a commit and ref if there is none yet (ST-13, PL-1). */
export async function createExternalPipeline(ctx: Context, { project }: ProjectSubject, caller: SignedIn, sha: Oid, ref: string): Promise<void> {
  const repository = repositoryOf(ctx, project)
  const [branch, tag] = await Promise.all([repository.ref(`refs/heads/${ref}`), repository.ref(`refs/tags/${ref}`)])
  await insertPipeline(ctx, { project_id: project.id, sha, ref, tag: tag !== null && branch === null, user_id: caller.user.id })
}

type NewPipeline = Pick<typeof pipelines.$inferInsert, 'project_id' | 'sha' | 'ref' | 'tag' | 'user_id' | 'status' | 'source'>

async function insertPipeline(ctx: Context, columns: NewPipeline): Promise<void> {
  const { project_id } = columns
  const now = ctx.now()
  try {
    await ctx.db.transaction(async (tx) => {
      const iid = await nextIid(tx, project_id, 'pipeline')
      await tx.insert(pipelines).values({ ...columns, iid, created_at: now, updated_at: now })
      await becomeHead(tx, columns, null)
    })
  } catch (error) {
    // created by a concurrent call, and the iid was rolled back; or the project has just been deleted
    if (!isUniqueViolation(error) && !isForeignKeyViolation(error)) throw error
  }
}

const BRANCH_OR_TAG = /^refs\/(heads|tags)\//
/** The most branches and tags of one push that get a skipped pipeline. */
const MAX_SKIPPED = 100

async function hasPipeline(ctx: Context, project_id: number, sha: Oid, ref: string): Promise<boolean> {
  const rows = await ctx.db.write
    .select({ id: pipelines.id })
    .from(pipelines)
    .where(and(eq(pipelines.project_id, project_id), eq(pipelines.sha, sha), eq(pipelines.ref, ref)))
    .limit(1)
  return rows.length > 0
}

/**
 * Gives the branches and tags of a push that skips CI a skipped pipeline, unless their commits have one already (PO-9).
 * Runs before merge requests look for the pipelines of their new heads.
 */
export async function skipPipelines(ctx: Context, { projectId, moves, actor, repository }: PushEvent): Promise<void> {
  const skipped = moves.filter(({ ref, new: to, skip_ci }) => skip_ci && to !== ZERO && BRANCH_OR_TAG.test(ref)).slice(0, MAX_SKIPPED)
  const git = skipped.length > 0 ? await repository() : null
  if (!git) return
  const shared = { project_id: projectId, user_id: await actor(), status: 'skipped', source: 'push' } as const
  for (const { ref, new: to } of skipped) {
    const sha = (await git.resolve(to))?.commit
    if (sha && (await git.commit(sha)) && !(await hasPipeline(ctx, projectId, sha, ref.replace(BRANCH_OR_TAG, ''))))
      await insertPipeline(ctx, { ...shared, sha, ref: ref.replace(BRANCH_OR_TAG, ''), tag: ref.startsWith('refs/tags/') })
  }
}

const ofLatest = sql`from ${commitStatuses} s where s.project_id = ${pipelines.project_id} and s.pipeline_id = ${pipelines.id} and s.latest`

/**
 * The status of a pipeline, from the states of its latest jobs and statuses, first match (PL-5, ST-20); `compositeStatus`
 * says the same of jobs that were read. It takes one index lookup per state, however many there are.
 */
const computedStatus = (shape: PipelineShape) => sql`(select id, case
    when present = '{}' then case when warned then 'success' when ignored then 'skipped' else status end
    when present = '{skipped}' and not warned then 'skipped'
    when present <@ '{success,skipped}' then 'success'
    when present = '{created}' then 'created'
    when present = '{preparing}' then 'preparing'
    when present <@ '{success,skipped,canceled}' then 'canceled'
    when present <@ '{pending,created,skipped}' then 'pending'
    when present && '{running,pending}' then 'running'
    when present && '{waiting_for_resource}' then 'waiting_for_resource'
    when present && '{manual}' then 'manual'
    when present && '{scheduled}' then 'scheduled'
    when present && '{preparing}' then 'preparing'
    when present && '{created}' then 'running'
    else 'failed' end as status
  from (select ${pipelines.id}, ${pipelines.status},
      array(select state from unnest(${`{${PIPELINE_STATES.join(',')}}`}::text[]) state where exists (select 1 ${ofLatest}
        and s.status = state and not (s.allow_failure and state in ('failed', 'canceled', 'manual')))) as present,
      exists (select 1 ${ofLatest} and s.status in ('failed', 'canceled') and s.allow_failure) as warned,
      exists (select 1 ${ofLatest} and s.status = 'manual' and s.allow_failure) as ignored
    from ${pipelines} where ${matchesSelector(shape)}) found) computed`

const recompute = batchStatement('recompute a pipeline', (db, shape: PipelineShape) =>
  db
    .update(pipelines)
    .set({ status: sql`computed.status`, updated_at: sql`${sql.placeholder('now')}` })
    .from(computedStatus(shape))
    .where(sql`${pipelines.id} = computed.id and ${pipelines.status} <> computed.status`),
)

/** Updates the status of a locked pipeline, in the same batch, after statuses were added, changed or cancelled. */
export const updatePipelineStatus = (ctx: Pick<Context, 'now'>, on: Sender, at: PipelineSelector) => [
  recompute(on, shapeOf(at)).execute({ ...at, now: ctx.now().toISOString() }),
]

export const basicColumns = {
  id: pipelines.id,
  sha: pipelines.sha,
  ref: pipelines.ref,
  status: pipelines.status,
  project_id: pipelines.project_id,
  iid: pipelines.iid,
  source: pipelines.source,
  created_at: pipelines.created_at,
  updated_at: pipelines.updated_at,
}

const selectNewest = statement('newest pipeline of a commit', (db) =>
  db
    .select(basicColumns)
    .from(pipelines)
    .where(and(ofProject, eq(pipelines.sha, sql.placeholder('sha')), isNoChild))
    .orderBy(desc(pipelines.id))
    .limit(1),
)

/** The newest pipeline of a commit on any ref (C-7, PL-6). */
export async function lastPipelineOf(ctx: Context, { project }: ProjectSubject, sha: Oid): Promise<PipelineBasicRecord | null> {
  const [found] = await selectNewest(ctx.db, null).execute({ project: project.id, sha })
  return found ?? null
}

const selectOfSchedules = statement('last pipelines of schedules', (db) =>
  db
    .selectDistinctOn([pipelines.schedule_id], { ...basicColumns, schedule: pipelines.schedule_id })
    .from(pipelines)
    .where(and(ofProject, sql`${pipelines.schedule_id} = any(${sql.placeholder('schedules')}::bigint[])`))
    .orderBy(pipelines.schedule_id, desc(pipelines.id)),
)

/** The newest pipeline of each of these schedules that has made one. */
export async function lastOfSchedules(ctx: Context, { project }: ProjectSubject, schedules: number[]): Promise<Map<number, PipelineBasicRecord>> {
  if (schedules.length === 0) return new Map()
  const rows = await selectOfSchedules(ctx.db, null).execute({ project: project.id, schedules })
  return new Map(rows.map(({ schedule, ...pipeline }) => [schedule as number, pipeline]))
}

const selectByIds = statement('pipelines by id', (db) =>
  db
    .select(basicColumns)
    .from(pipelines)
    .where(and(ofProject, inIds(pipelines.id))),
)

/** Those pipelines of a project, by their ids. */
export async function pipelinesById(ctx: Context, { project }: ProjectSubject, ids: number[]): Promise<Map<number, PipelineBasicRecord>> {
  if (ids.length === 0) return new Map()
  const rows = await selectByIds(ctx.db, null).execute({ project: project.id, ids })
  return new Map(rows.map((row) => [row.id, row]))
}

const selectStates = statement('last pipeline states of commits', (db) =>
  db
    .selectDistinctOn([pipelines.sha], { sha: pipelines.sha, id: pipelines.id, status: pipelines.status })
    .from(pipelines)
    .where(and(ofProject, sql`${pipelines.sha} = any(${sql.placeholder('shas')}::text[])`, isNoChild))
    .orderBy(pipelines.sha, desc(pipelines.id)),
)

/** The newest pipeline of each of these commits that has one. */
export async function lastPipelinesOf(
  ctx: Context,
  { project }: ProjectSubject,
  shas: Oid[],
): Promise<Map<Oid, { id: number; status: PipelineState }>> {
  const rows = await selectStates(ctx.db, null).execute({ project: project.id, shas })
  return new Map(rows.map(({ sha, id, status }) => [sha, { id, status }]))
}

export const SCOPES = ['running', 'pending', 'finished', 'branches', 'tags'] as const
export const ORDERS = ['id', 'status', 'ref', 'updated_at', 'user_id'] as const

export interface PipelineFilter extends Paging, Keyset {
  scope?: (typeof SCOPES)[number] | undefined
  status?: PipelineState | undefined
  ref?: string | undefined
  sha?: string | undefined
  iid?: number | undefined
  username?: string | undefined
  /** The name of the user. */
  name?: string | undefined
  yaml_errors?: boolean | undefined
  /** Those that this schedule has made. */
  schedule?: number | undefined
  source?: string | undefined
  updated_after?: Date | undefined
  updated_before?: Date | undefined
  order_by: (typeof ORDERS)[number]
  sort: 'asc' | 'desc'
}

interface ListShape {
  scope: PipelineFilter['scope'] | null
  order: PipelineFilter['order_by']
  descending: boolean
  filters: FilterNames<PipelineFilter, 'scope'>[]
}

const SCOPE_CONDITIONS: Record<(typeof SCOPES)[number], SQL> = {
  running: sql`${pipelines.status} = 'running'`,
  pending: sql`${pipelines.status} = 'pending'`,
  finished: sql`${pipelines.status} in ('success', 'failed', 'canceled')`,
  branches: sql`not ${pipelines.tag}`,
  tags: sql`${pipelines.tag}`,
}

const FILTERS = {
  ...rowFilters(sql`${pipelines.id}`),
  status: { where: (status) => eq(pipelines.status, status), value: ({ status }) => status },
  ref: { where: (ref) => eq(pipelines.ref, ref), value: ({ ref }) => ref || undefined },
  sha: { where: (sha) => eq(pipelines.sha, sha), value: ({ sha }) => sha || undefined },
  iid: { where: (iid) => eq(pipelines.iid, iid), value: ({ iid }) => iid },
  username: {
    where: (name) => sql`${pipelines.user_id} = (select u.id from ${users} u where lower(u.username) = lower(${name}))`,
    value: ({ username }) => username || undefined,
  },
  name: {
    where: (name) => sql`${pipelines.user_id} in (select u.id from ${users} u where u.name = ${name})`,
    value: ({ name }) => name || undefined,
  },
  yaml_errors: {
    where: (faulty) => sql`(${pipelines.yaml_errors} is not null) = ${faulty}::boolean`,
    value: ({ yaml_errors }) => (yaml_errors === undefined ? undefined : String(yaml_errors)),
  },
  schedule: { where: (schedule) => eq(pipelines.schedule_id, schedule), value: ({ schedule }) => schedule },
  source: { where: (source) => eq(pipelines.source, source), value: ({ source }) => source || undefined },
  updated_after: {
    where: (time) => sql`${pipelines.updated_at} >= ${time}::timestamptz`,
    value: ({ updated_after }) => updated_after?.toISOString(),
  },
  updated_before: {
    where: (time) => sql`${pipelines.updated_at} <= ${time}::timestamptz`,
    value: ({ updated_before }) => updated_before?.toISOString(),
  },
} satisfies Filters<PipelineFilter, FilterNames<PipelineFilter, 'scope'>>

const selectPipelines = statement('pipelines', (db, { scope, order, descending, filters }: ListShape) => {
  const direction = descending ? desc : asc
  return db
    .select({ ...basicColumns, total: totalCount() })
    .from(pipelines)
    .where(
      and(
        ofProject,
        filters.includes('source') ? undefined : isNoChild,
        scope ? SCOPE_CONDITIONS[scope] : undefined,
        ...conditionsOf(FILTERS, filters, null),
      ),
    )
    .orderBy(direction(pipelines[order]), ...(order === 'id' ? [] : [direction(pipelines.id)]))
    .limit(sql.placeholder('limit'))
    .offset(sql.placeholder('offset'))
})

/** The pipelines of a project (PL-8); blank filters are ignored. */
export async function listPipelines(ctx: Context, { project }: ProjectSubject, filter: PipelineFilter): Promise<Page<PipelineBasicRecord>> {
  const { names: filters, values } = usedFilters(FILTERS, filter)
  const query = selectPipelines(ctx.db, { scope: filter.scope ?? null, order: filter.order_by, descending: filter.sort === 'desc', filters })
  return pageFrom(query, { ...values, project: project.id }, filter)
}

/** A stage of a pipeline, with its state. */
export interface StageState {
  name: string
  state: PipelineState
}

const selectStages = statement('states of stages', (db) =>
  db
    .selectDistinct({
      pipeline: commitStatuses.pipeline_id,
      index: commitStatuses.stage_index,
      name: commitStatuses.stage,
      state: commitStatuses.status,
      allow_failure: commitStatuses.allow_failure,
    })
    .from(commitStatuses)
    .where(and(eq(commitStatuses.project_id, sql.placeholder('project')), inIds(commitStatuses.pipeline_id), commitStatuses.latest))
    .orderBy(commitStatuses.pipeline_id, commitStatuses.stage_index),
)

/** The stages of these pipelines of a project, in their order, by the id of the pipeline. */
export async function stagesOf(ctx: Context, { project }: ProjectSubject, ids: number[]): Promise<Map<number, StageState[]>> {
  const rows = ids.length > 0 ? await selectStages(ctx.db, null).execute({ project: project.id, ids }) : []
  const found = new Map<number, { index: number; name: string; jobs: StateOfJob[] }[]>()
  for (const { pipeline, index, name, ...job } of rows) {
    const stages = found.get(pipeline) ?? []
    found.set(pipeline, stages)
    const last = stages.at(-1)
    if (last?.index === index) last.jobs.push(job)
    else stages.push({ index, name, jobs: [job] })
  }
  return new Map([...found].map(([id, stages]) => [id, stages.map(({ name, jobs }) => ({ name, state: compositeStatus(jobs) as PipelineState }))]))
}

const hasFinished = sql`${pipelines.status} in ('success', 'failed', 'canceled', 'skipped')`
/** Of times that overlap each counts once, and what lies between them does not (CI-334). */
const secondsOfJobs = sql`select case when periods is not null then
    (select round(coalesce(extract(epoch from sum(upper(period) - lower(period))), 0)) from unnest(periods) period) end
  from (select range_agg(tstzrange(s.started_at, greatest(s.started_at, s.finished_at))) periods ${ofLatest}
    and s.started_at is not null and s.finished_at is not null) found`

const selectPipeline = statement('pipeline', (db, by: 'id' | 'ref' | 'ids') => {
  const found = db
    .select({
      ...basicColumns,
      tag: pipelines.tag,
      before_sha: pipelines.before_sha,
      yaml_errors: pipelines.yaml_errors,
      user: userRefColumns(users),
      started_at: decoded(sql<Date | null>`(select min(s.started_at) ${ofLatest})`, pipelines.created_at),
      finished_at: decoded(sql<Date | null>`case when ${hasFinished} then (select max(s.finished_at) ${ofLatest}) end`, pipelines.created_at),
      duration: decoded(sql<number | null>`case when ${hasFinished} then (${secondsOfJobs}) end`, Number),
      coverage: decoded(sql<number | null>`(select avg(s.coverage) ${ofLatest})`, Number),
    })
    .from(pipelines)
    .leftJoin(users, eq(users.id, pipelines.user_id))
  if (by === 'ids') return found.where(inIds(pipelines.id))
  return found
    .where(and(ofProject, by === 'id' ? eq(pipelines.id, sql.placeholder('id')) : and(eq(pipelines.ref, sql.placeholder('ref')), isNoChild, isOfRef)))
    .orderBy(desc(pipelines.id))
    .limit(1)
})

/** Pipelines of any projects by their ids, in any order. The caller must be allowed to see them. */
export const loadPipelines = async (ctx: Context, ids: number[]): Promise<PipelineRecord[]> =>
  ids.length === 0 ? [] : selectPipeline(ctx.db, 'ids').execute({ ids })

/** One pipeline (PL-9). */
export async function getPipeline(ctx: Context, { project }: ProjectSubject, id: number): Promise<PipelineRecord> {
  const [found] = await selectPipeline(ctx.db, 'id').execute({ project: project.id, id })
  if (!found) throw notFound()
  return found
}

/** What was given with a pipeline; null for those who may not read it (CI-227). */
export async function findPipelineVariables(ctx: Context, { user }: Caller, subject: ProjectSubject, pipeline: PipelineRecord) {
  const isOwn = user !== null && pipeline.user?.id === user.id && subject.can('update_build')
  const may = subject.can('admin_pipeline') || (isOwn && (await mayRunOn(ctx, subject, pipeline)))
  return may ? pipelineVariablesOf(ctx, pipeline.id) : null
}

export async function variablesOfPipeline(ctx: Context, caller: Caller, subject: ProjectSubject, id: number) {
  const found = await findPipelineVariables(ctx, caller, subject, await getPipeline(ctx, subject, id))
  if (!found) throw forbidden()
  return found
}

/** The newest pipeline of a ref, by default the default branch (PL-9). */
export async function latestPipeline(ctx: Context, { project }: ProjectSubject, ref: string | undefined): Promise<PipelineRecord> {
  const [found] = await selectPipeline(ctx.db, 'ref').execute({ project: project.id, ref: ref || project.default_branch })
  if (!found) throw notFound()
  return found
}

/**
 * Cancels all unfinished jobs and statuses of a pipeline, including replaced ones (PL-12). A finished one is not changed.
 * Throws 403 where the caller may not run its jobs (CI-228).
 */
export async function cancelPipeline(ctx: Context, subject: ProjectSubject, id: number): Promise<PipelineRecord> {
  const known = await getPipeline(ctx, subject, id)
  if (known.source !== 'external' && !(await mayRunOn(ctx, subject, known))) throw forbidden()
  const changed = await changeJobs(ctx, id, async (tx, pipeline) => {
    if (pipeline.project_id !== subject.project.id) return null
    await cancelAll(ctx, tx, pipeline)
    return true
  })
  if (!changed) throw notFound()
  return getPipeline(ctx, subject, id)
}

/** Deletes a pipeline with its jobs, statuses and logs, and its child pipelines (PL-14, CI-307). */
export async function deletePipeline(ctx: Context, { project }: ProjectSubject, id: number): Promise<void> {
  await ctx.db.transaction(async (tx) => {
    const { rows } = await tx.execute<{ id: string; groups: string[] }>(sql`with recursive family as (
        select p.id from ${pipelines} p where p.project_id = ${project.id} and p.id = ${id}
        union select p.id from family f join ${commitStatuses} s on s.project_id = ${project.id} and s.pipeline_id = f.id and s.kind = 'bridge'
          join ${pipelines} p on p.bridge_id = s.id where p.source = 'parent_pipeline')
      select f.id, array(select distinct b.resource_group_id from ${commitStatuses} s join ${builds} b on b.job_id = s.id
        where s.project_id = ${project.id} and s.pipeline_id = f.id and b.resource_group_id is not null) as groups from family f`)
    if (rows.length === 0) throw notFound()
    await tx.delete(pipelines).where(
      inArray(
        pipelines.id,
        rows.map((row) => Number(row.id)),
      ),
    )
    await promptGroups(tx, [...new Set(rows.flatMap(({ groups }) => groups.map(Number)))])
  })
}
