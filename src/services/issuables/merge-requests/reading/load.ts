import { eq, type SQL, sql } from 'drizzle-orm'
import { alias, type SelectedFields } from 'drizzle-orm/pg-core'
import type { Caller, SignedIn } from '../../../../access/actor.js'
import type { MergeRequestSubject } from '../../../../access/merge-requests.js'
import { fullPathOf, type Project, type ProjectSubject } from '../../../../access/rules.js'
import type { Context } from '../../../../context.js'
import type { ReadDatabase } from '../../../../db/client.js'
import { inIds } from '../../../../db/conditions.js'
import { completeTexts, LONG_TEXTS, READ_COLUMNS } from '../../../../db/long-text.js'
import {
  labels,
  mergeRequestLabels,
  mergeRequestReviews,
  mergeRequests,
  mergeRequestVersions,
  milestones,
  namespaces,
  pipelines,
  projects,
  users,
} from '../../../../db/schema/index.js'
import { statement } from '../../../../db/statement.js'
import { notFound } from '../../../../failures.js'
import type { Keyset } from '../../../../lib/keyset.js'
import type { PipelineState } from '../../../../rules/pipeline-states.js'
import { isSubscribed } from '../../../activity/subscriptions.js'
import { getPipeline, type PipelineRecord } from '../../../ci/pipelines.js'
import { type Page, type Paging, pageFrom } from '../../../core/page.js'
import { findVisibleProject } from '../../../identity/acting-users.js'
import { type UserRefRecord, userRefColumns, userRefsIn } from '../../../identity/user-ref.js'
import { branchProtectionsOf, mayMergeInto, type Protections } from '../../../repository/protection.js'

type Request = typeof mergeRequests.$inferSelect

/** A merge request with everything that lists show. */
export interface MergeRequestRecord {
  request: Request
  /** Full path of its project. */
  path: string
  /** What its project requires before a merge. */
  rules: { pipeline_needed: boolean; skipped_counts: boolean; discussions_block: boolean } & Pick<Project, 'merge_method' | 'squash_option'>
  author: UserRefRecord
  assignees: UserRefRecord[]
  reviewers: UserRefRecord[]
  merged_by: UserRefRecord | null
  closed_by: UserRefRecord | null
  milestone: typeof milestones.$inferSelect | null
  /** Full path of the group that owns the milestone; null: the project owns it. */
  milestone_path: string | null
  /** By name. */
  labels: string[]
  /** Whether a reviewer requests changes (MR-603); of open ones, as the next. */
  changes_requested: boolean
  /** The status of the head pipeline. */
  pipeline_status: PipelineState | null
}

/** A merge request, and whether the caller is subscribed. */
export type MergeRequestWithSubscription = MergeRequestRecord & { subscribed: boolean }

/** A merge request with everything that its single view shows to one caller. */
export interface SingleMergeRequest extends MergeRequestWithSubscription {
  version: { start_commit_sha: string; base_commit_sha: string | null; head_commit_sha: string } | null
  /** Null also if the caller does not see it. */
  head_pipeline: PipelineRecord | null
  /** Full path of the project of the pipeline. */
  source_path: string | null
  can_merge: boolean
  /** The protected branches of its project. */
  protections: Protections
}

const mergers = alias(users, 'merger')
const closers = alias(users, 'closer')

const labelNames = sql<string[]>`(select coalesce(json_agg(l.title order by l.title), '[]') from ${mergeRequestLabels} ml
  join ${labels} l on l.id = ml.label_id where ml.merge_request_id = ${mergeRequests.id})`

/** Columns from other tables than those of merge requests and projects. */
const relatedColumns = {
  author: userRefColumns(users),
  assignees: userRefsIn(mergeRequests.assignee_ids),
  reviewers: userRefsIn(mergeRequests.reviewer_ids),
  merged_by: userRefColumns(mergers),
  closed_by: userRefColumns(closers),
  milestone: READ_COLUMNS.milestones,
  milestone_path: sql<string | null>`(select n.full_path from ${namespaces} n where n.id = ${milestones.namespace_id})`,
  labels: labelNames as SQL<string[]>,
  pipeline_status: sql<PipelineState | null>`case when ${mergeRequests.state} = 'opened' then
    (select ${pipelines.status} from ${pipelines} where ${pipelines.id} = ${mergeRequests.head_pipeline_id}) end`,
  changes_requested: sql<boolean>`${mergeRequests.state} = 'opened' and exists
    (select 1 from ${mergeRequestReviews} r where r.merge_request_id = ${mergeRequests.id} and r.state = 'requested_changes')`,
}

const columns = {
  request: READ_COLUMNS.mergeRequests,
  path: sql<string>`${namespaces.full_path} || '/' || ${projects.path}`,
  rules: {
    pipeline_needed: projects.only_allow_merge_if_pipeline_succeeds,
    skipped_counts: projects.allow_merge_on_skipped_pipeline,
    discussions_block: projects.only_allow_merge_if_all_discussions_are_resolved,
    merge_method: projects.merge_method,
    squash_option: projects.squash_option,
  },
}

/** Selects `relatedColumns` and extra columns. */
const relatedQuery = <Extra extends SelectedFields>(db: ReadDatabase, extra: Extra) =>
  db
    .select({ ...relatedColumns, ...extra })
    .from(mergeRequests)
    .innerJoin(users, eq(users.id, mergeRequests.author_id))
    .leftJoin(mergers, eq(mergers.id, mergeRequests.merged_by_id))
    .leftJoin(closers, eq(closers.id, mergeRequests.closed_by_id))
    .leftJoin(milestones, eq(milestones.id, mergeRequests.milestone_id))

const requestsQuery = <Extra extends Record<string, SQL>>(db: ReadDatabase, extra: Extra) =>
  relatedQuery(db, { ...columns, ...extra })
    .innerJoin(projects, eq(projects.id, mergeRequests.project_id))
    .innerJoin(namespaces, eq(namespaces.id, projects.namespace_id))

const subscribed = isSubscribed('MergeRequest', mergeRequests, sql`${sql.placeholder('user')}::bigint`)

const selectRequests = statement('merge requests by id', (db) => requestsQuery(db, {}).where(inIds(mergeRequests.id)))

const selectRequestsWithSubscription = statement('followed merge requests by id', (db) =>
  requestsQuery(db, { subscribed }).where(inIds(mergeRequests.id)),
)

async function completeRequests(ctx: Context, records: Pick<MergeRequestRecord, 'request' | 'milestone'>[], size: 'whole' | 'page'): Promise<void> {
  const descriptions = records.map(({ request }) => request)
  await Promise.all([completeTexts(ctx, LONG_TEXTS.mergeRequests, descriptions, size), completeMilestones(ctx, records, size)])
}

const completeMilestones = (ctx: Context, records: Pick<MergeRequestRecord, 'milestone'>[], size: 'whole' | 'page') =>
  completeTexts(
    ctx,
    LONG_TEXTS.milestones,
    records.flatMap(({ milestone }) => milestone ?? []),
    size,
  )

/** Merge requests as lists show them, in the order of `ids`. The caller must already be authorised to read them. */
export async function loadListed(ctx: Context, ids: number[]): Promise<MergeRequestRecord[]> {
  if (ids.length === 0) return []
  const records = (await selectRequests(ctx.db, null).execute({ ids })) as MergeRequestRecord[]
  await completeRequests(ctx, records, 'page')
  const byId = new Map(records.map((record) => [record.request.id, record]))
  return ids.flatMap((id) => byId.get(id) ?? [])
}

/** Loads a page of merge requests from a statement that finds their ids and the total. */
export async function loadPage(
  ctx: Context,
  query: Parameters<typeof pageFrom<{ id: number; total: number }>>[0],
  values: Record<string, unknown>,
  paging: Paging & Keyset,
): Promise<Page<MergeRequestRecord>> {
  const { items, total } = await pageFrom(query, values, paging)
  const ids = items.map(({ id }) => id)
  return { items: await loadListed(ctx, ids), total }
}

/** Merge requests as todos show them, in no particular order. */
export async function loadWithSubscription(ctx: Context, { user }: SignedIn, ids: number[]): Promise<MergeRequestWithSubscription[]> {
  if (ids.length === 0) return []
  const records = (await selectRequestsWithSubscription(ctx.db, null).execute({ ids, user: user.id })) as MergeRequestWithSubscription[]
  await completeRequests(ctx, records, 'page')
  return records
}

/** Columns that show whether a row has changed since it was read. */
const CHANGE_MARKERS = ['state', 'updated_at', 'version_id', 'head_pipeline_id'] as const
type ChangeMarkers = Pick<Request, (typeof CHANGE_MARKERS)[number]>

const { state, updated_at, version_id, head_pipeline_id } = mergeRequests

const selectRequest = statement('merge request', (db, row: 'whole' | 'markers') =>
  relatedQuery(db, {
    request: row === 'whole' ? READ_COLUMNS.mergeRequests : { state, updated_at, version_id, head_pipeline_id },
    subscribed,
    // of merged and closed ones, too
    pipeline_status: sql<PipelineState | null>`(select ${pipelines.status} from ${pipelines} where ${pipelines.id} = ${mergeRequests.head_pipeline_id})`,
    version: sql<
      SingleMergeRequest['version']
    >`(select json_build_object('start_commit_sha', v.start_commit_sha, 'base_commit_sha', v.base_commit_sha,
        'head_commit_sha', v.head_commit_sha) from ${mergeRequestVersions} v where v.id = ${mergeRequests.version_id})`,
  }).where(eq(mergeRequests.id, sql.placeholder('id'))),
)

/** A row of `selectRequest`. */
type Single<Row> = Omit<SingleMergeRequest, 'request' | 'path' | 'rules' | 'head_pipeline' | 'source_path' | 'can_merge' | 'protections'> & {
  request: Row
}

/**
 * Loads the single view of a merge request. The caller must already be authorised to read it; `subject` is its project.
 */
export async function loadMergeRequest(ctx: Context, caller: SignedIn, subject: ProjectSubject, id: number): Promise<SingleMergeRequest> {
  const [[row], protections] = await Promise.all([
    selectRequest(ctx.db, 'whole').execute({ id, user: caller.user.id }) as Promise<Single<Request>[]>,
    branchProtectionsOf(ctx, subject.project.id),
  ])
  // it existed when the call began
  if (!row) throw notFound()
  await completeRequests(ctx, [row], 'whole')
  return toSingle(ctx, caller, subject, row, protections)
}

/** Completes a merge request that the access rule has just loaded to its single view, without reading the row again. */
export async function completeMergeRequest(ctx: Context, caller: SignedIn, subject: MergeRequestSubject): Promise<SingleMergeRequest> {
  const { request } = subject
  const [[row], protections] = await Promise.all([
    selectRequest(ctx.db, 'markers').execute({ id: request.id, user: caller.user.id }) as Promise<Single<ChangeMarkers>[]>,
    branchProtectionsOf(ctx, subject.project.id),
  ])
  const unchanged = row && CHANGE_MARKERS.every((name) => row.request[name]?.valueOf() === request[name]?.valueOf())
  if (!unchanged) return loadMergeRequest(ctx, caller, subject, request.id)
  await completeMilestones(ctx, [row], 'whole')
  return toSingle(ctx, caller, subject, { ...row, request }, protections)
}

async function toSingle(
  ctx: Context,
  caller: SignedIn,
  subject: ProjectSubject,
  row: Single<Request>,
  protections: Protections,
): Promise<SingleMergeRequest> {
  const { project } = subject
  const source = row.request.head_pipeline_id === null ? null : await sourceOf(ctx, caller, subject, row.request)
  const shown = source?.can('read_pipeline') ? source : null
  return {
    ...row,
    path: fullPathOf(project),
    rules: {
      pipeline_needed: project.only_allow_merge_if_pipeline_succeeds,
      skipped_counts: project.allow_merge_on_skipped_pipeline,
      discussions_block: project.only_allow_merge_if_all_discussions_are_resolved,
      merge_method: project.merge_method,
      squash_option: project.squash_option,
    },
    head_pipeline: shown && (await getPipeline(ctx, shown, row.request.head_pipeline_id as number)),
    source_path: shown && fullPathOf(shown.project),
    can_merge: mayMergeInto(subject, protections, row.request.target_branch),
    protections,
  }
}

/** The source project with the caller's abilities; null when it is gone or they do not see it (SEC-42). */
export async function sourceOf(
  ctx: Context,
  caller: Pick<Caller, 'user'>,
  subject: ProjectSubject,
  { source_project_id }: MergeRequestRecord['request'],
): Promise<ProjectSubject | null> {
  if (source_project_id === null) return null
  return source_project_id === subject.project.id ? subject : findVisibleProject(ctx, caller, source_project_id)
}
