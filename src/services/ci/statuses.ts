import { and, asc, eq, sql } from 'drizzle-orm'
import type { SignedIn } from '../../access/actor.js'
import type { ProjectSubject } from '../../access/rules.js'
import type { Context } from '../../context.js'
import { decoded } from '../../db/decoded.js'
import { conditionsOf, type FilterNames, type Filters, usedFilters } from '../../db/filters.js'
import { commitStatuses, pipelines, users } from '../../db/schema/index.js'
import { batchStatement, statement } from '../../db/statement.js'
import { retryOnUniqueViolation } from '../../db/unique-violation.js'
import { invalidRecord, notFound, refused } from '../../failures.js'
import type { Oid } from '../../git/types.js'
import type { Keyset } from '../../lib/keyset.js'
import { isUrl } from '../../lib/url.js'
import { lengthOf, tooLong } from '../../rules/path.js'
import { type PipelineState, STAGE } from '../../rules/pipeline-states.js'
import { type Page, type Paging, pageFrom, rowFilters } from '../core/page.js'
import { type UserRefRecord, userRefColumns } from '../identity/user-ref.js'
import { getCommit } from '../repository/commits/read.js'
import { repositoryOf } from '../repository/repositories.js'
import { createExternalPipeline, lockPipeline, matchesSelector, type PipelineShape, shapeOf, updatePipelineStatus } from './pipelines.js'

export interface CommitStatusRecord {
  id: number
  sha: string
  ref: string
  status: PipelineState
  name: string
  target_url: string | null
  description: string | null
  coverage: number | null
  created_at: Date
  started_at: Date | null
  finished_at: Date | null
  stage: string
  allow_failure: boolean
  failure_reason: string | null
  queued_at: Date | null
  pipeline_id: number
  author: UserRefRecord
}

/**
 * The states that can be posted: the event that leads to each, and the states it may follow (ST-17, PL-3). A new status
 * starts from `created`; a finished one never changes.
 */
const TRANSITIONS = {
  pending: { event: 'enqueue', from: ['created'] },
  running: { event: 'run', from: ['created', 'pending'] },
  success: { event: 'success', from: ['created', 'pending', 'running'] },
  failed: { event: 'drop', from: ['created', 'pending', 'running'] },
  canceled: { event: 'cancel', from: ['created', 'pending', 'running'] },
} as const satisfies Record<string, { event: string; from: readonly PipelineState[] }>

export type PostedState = keyof typeof TRANSITIONS
export const POSTED_STATES = Object.keys(TRANSITIONS) as [PostedState, ...PostedState[]]

/** The message of a refused transition (ST-18). */
function refusal(from: PipelineState, to: PostedState) {
  const { event } = TRANSITIONS[to]
  return refused(`Cannot transition status via :${event} from :${from} (Reason(s): Status cannot transition via "${event}")`)
}

export interface NewStatus {
  sha: string
  state: PostedState
  ref?: string | undefined
  name?: string | undefined
  context?: string | undefined
  target_url?: string | undefined
  description?: string | undefined
  coverage?: number | undefined
  pipeline_id?: number | undefined
}

/** Maximum length of a name, a description or a URL in characters (SEC-63). */
const MAX_TEXT = 255
/**
 * Maximum length of a ref in bytes, the same as for path parameters (W-7): pushed branches can have longer names than
 * the API can create.
 */
const MAX_REF = 1_024
const URL_SCHEMES = ['http', 'https', 'ssh', 'git']

/** Refuses invalid URLs and overlong texts (ST-23, ST-24, SEC-63). */
function checkTexts({
  name,
  ref,
  target_url,
  description,
}: {
  name: string
  ref: string | null
  target_url: string | null
  description: string | null
}) {
  const faults: Record<string, string[]> = {}
  if (lengthOf(name) > MAX_TEXT) faults['name'] = [tooLong(MAX_TEXT)]
  if (ref !== null && Buffer.byteLength(ref) > MAX_REF) faults['ref'] = [tooLong(MAX_REF)]
  if (target_url !== null) {
    const texts = isUrl(target_url, URL_SCHEMES) ? [] : ['must be a valid URL']
    if (lengthOf(target_url) > MAX_TEXT) texts.push(tooLong(MAX_TEXT))
    if (texts.length > 0) faults['target_url'] = texts
  }
  if (description !== null && lengthOf(description) > MAX_TEXT) faults['description'] = [tooLong(MAX_TEXT)]
  if (Object.keys(faults).length > 0) throw invalidRecord(faults)
}

const userColumns = userRefColumns(users)

/** The columns of a status that are shown both for a commit status and for a job. */
export const statusColumns = {
  id: commitStatuses.id,
  status: commitStatuses.status,
  name: commitStatuses.name,
  target_url: commitStatuses.target_url,
  description: commitStatuses.description,
  coverage: commitStatuses.coverage,
  created_at: commitStatuses.created_at,
  started_at: commitStatuses.started_at,
  finished_at: commitStatuses.finished_at,
  stage: commitStatuses.stage,
  allow_failure: commitStatuses.allow_failure,
  failure_reason: commitStatuses.failure_reason,
  queued_at: commitStatuses.queued_at,
}

const placeholder = (name: string) => sql`${sql.placeholder(name)}`

/**
 * Updates the poster's unfinished status of that name, if the transition is allowed (ST-14, ST-15). If there is none,
 * adds one and marks older ones as replaced (ST-16). Returns one row: the poster and, where they exist, the pipeline,
 * the unfinished status and the written one.
 */
const post = batchStatement('post a status', (db, at: PipelineShape) => {
  const pipeline = db.$with('pipeline').as(db.select({ id: pipelines.id, ref: pipelines.ref }).from(pipelines).where(matchesSelector(at)))
  const ofName = sql`s.project_id = ${placeholder('project')} and s.pipeline_id = (select id from pipeline) and s.name = ${placeholder('name')} and s.kind = 'status'`
  const open = db.$with('open', {}).as(sql`select s.id, s.status from ${commitStatuses} s
    where ${ofName} and s.user_id = ${placeholder('user')} and s.status in ('pending', 'running') and not s.orphaned`)
  const changed = db.$with('changed', {}).as(sql`update ${commitStatuses} s set status = ${placeholder('status')},
      target_url = coalesce(${placeholder('target_url')}, s.target_url), description = coalesce(${placeholder('description')}, s.description),
      coverage = coalesce(${placeholder('coverage')}, s.coverage), started_at = coalesce(${placeholder('started_at')}, s.started_at),
      finished_at = ${placeholder('finished_at')}
    from open where s.id = open.id and open.status = any(${placeholder('from')}) returning s.*`)
  const replaced = db.$with('replaced', {}).as(sql`update ${commitStatuses} s set latest = false
    where ${ofName} and s.latest and not exists (select 1 from open) returning s.id`)
  // the count orders the insert after `replaced`: only one status of a name may be the latest
  const added = db.$with('added', {}).as(sql`insert into ${commitStatuses}
      (project_id, pipeline_id, user_id, name, status, target_url, description, coverage, created_at, started_at, finished_at)
    select ${placeholder('project')}, pipeline.id, poster.id, ${placeholder('name')}, ${placeholder('status')}, ${placeholder('target_url')}, ${placeholder('description')},
      ${placeholder('coverage')}, ${placeholder('created_at')}::timestamptz, ${placeholder('started_at')}::timestamptz, ${placeholder('finished_at')}::timestamptz
    from pipeline, ${users} poster, (select count(*) from replaced) older
    where poster.id = ${placeholder('user')} and not exists (select 1 from open) returning *`)
  const written = sql`(select * from changed union all select * from added) written`
  return db
    .with(pipeline, open, changed, replaced, added)
    .select({
      author: userColumns,
      pipeline: decoded(sql<number | null>`pipeline.id`, Number),
      ref: sql<string | null>`pipeline.ref`,
      open: sql<PipelineState | null>`open.status`,
      id: decoded(sql<number | null>`written.id`, Number),
      target_url: sql<string | null>`written.target_url`,
      description: sql<string | null>`written.description`,
      coverage: sql<number | null>`written.coverage`,
      created_at: decoded(sql<Date>`written.created_at`, commitStatuses.created_at),
      started_at: decoded(sql<Date | null>`written.started_at`, commitStatuses.started_at),
      finished_at: decoded(sql<Date | null>`written.finished_at`, commitStatuses.finished_at),
    })
    .from(users)
    .leftJoin(pipeline, sql`true`)
    .leftJoin(sql`open`, sql`true`)
    .leftJoin(written, sql`true`)
    .where(eq(users.id, sql.placeholder('user')))
})

const blankToNull = (text: string | undefined) => (text === undefined || text.trim() === '' ? null : text)

/**
 * Records a status of a commit (ST-9 to ST-24, PL-1 to PL-4): updates the poster's unfinished status of that name, or
 * adds a new one that replaces older ones.
 */
export async function postStatus(ctx: Context, subject: ProjectSubject, caller: SignedIn, posted: NewStatus): Promise<CommitStatusRecord> {
  const sha = await commitOf(ctx, subject, posted.sha)
  const id = posted.pipeline_id ?? null
  // a given pipeline determines the ref
  const ref = blankToNull(posted.ref) ?? (id === null ? await refOf(ctx, subject, sha) : null)
  const name = blankToNull(posted.name) ?? blankToNull(posted.context) ?? 'default'
  const status = posted.state
  const texts = { name, ref, target_url: blankToNull(posted.target_url), description: blankToNull(posted.description) }
  checkTexts(texts)

  const now = ctx.now().toISOString()
  const at = { project: subject.project.id, sha, ref, id }
  const values = {
    ...at,
    ...texts,
    user: caller.user.id,
    status,
    from: TRANSITIONS[status].from,
    coverage: posted.coverage ?? null,
    created_at: now,
    // set when the status starts to run and when it finishes (ST-19)
    started_at: status === 'running' ? now : null,
    finished_at: status === 'pending' || status === 'running' ? null : now,
  }
  // another process may create the pipeline and its first status after the lock has found none
  const write = () => retryOnUniqueViolation(writeOnce)
  const writeOnce = async () => {
    const [, [row]] = await ctx.db.batch((on) => [lockPipeline(on, at), post(on, shapeOf(at)).execute(values), ...updatePipelineStatus(ctx, on, at)])
    return row
  }
  let row = await write()
  if (row?.pipeline === null && id === null && ref !== null) {
    await createExternalPipeline(ctx, subject, caller, sha, ref)
    row = await write()
  }
  if (!row || row.pipeline === null || row.ref === null) throw notFound()
  if (row.id === null) throw refusal(row.open as PipelineState, status)
  for (const follow of ctx.listeners.status) await follow(ctx, { caller, projectId: subject.project.id, sha, pipeline: row.pipeline, status })
  const facts = { stage: STAGE, allow_failure: false, failure_reason: null, queued_at: null }
  return { ...row, ...facts, id: row.id, sha, ref: row.ref, pipeline_id: row.pipeline, status, name }
}

/** The full id of the commit in the path; for full ids the cache is used. */
async function commitOf(ctx: Context, subject: ProjectSubject, revision: string): Promise<Oid> {
  const known = /^[0-9a-f]{40}$/.test(revision) && (await repositoryOf(ctx, subject.project).commit(revision))
  return (known || (await getCommit(ctx, subject, revision))).oid
}

const HEADS = 'refs/heads/'

/** Whether the default branch contains a commit. */
async function inDefaultBranch(ctx: Context, { project }: ProjectSubject, sha: Oid): Promise<boolean> {
  const repository = repositoryOf(ctx, project)
  const head = await repository.ref(HEADS + project.default_branch)
  return Boolean(head && (head === sha || (await repository.isAncestor(sha, head))))
}

/** Up to this many branches are checked one by one, with caching; for more, a single git process is run. */
const MAX_BRANCHES_CHECKED = 50

/**
 * The branch of a status that is posted without ref: the default branch if it contains the commit, otherwise the first
 * by name that does (ST-11).
 */
async function refOf(ctx: Context, subject: ProjectSubject, sha: Oid): Promise<string> {
  const { project } = subject
  if (await inDefaultBranch(ctx, subject, sha)) return project.default_branch
  const repository = repositoryOf(ctx, project)
  const contains = async (head: Oid) => head === sha || repository.isAncestor(sha, head)
  const branches = await repository.refs(HEADS)
  if (branches.length > MAX_BRANCHES_CHECKED) {
    const [first] = await repository.refsContaining(sha, HEADS)
    if (first) return first.slice(HEADS.length)
  } else {
    for (const { name, oid } of branches) if (await contains(oid)) return name.slice(HEADS.length)
  }
  throw notFound('References for commit')
}

export interface StatusFilter extends Paging, Keyset {
  sha: string
  ref?: string | undefined
  stage?: string | undefined
  name?: string | undefined
  all?: boolean | undefined
}

const FILTERS = {
  ref: { where: (ref) => eq(pipelines.ref, ref), value: ({ ref }) => ref || undefined },
  stage: { where: (stage) => eq(commitStatuses.stage, stage), value: ({ stage }) => stage || undefined },
  name: { where: (name) => eq(commitStatuses.name, name), value: ({ name }) => name || undefined },
  all: { where: () => sql`${commitStatuses.latest}`, value: ({ all }) => (all ? undefined : true) },
  ...rowFilters(commitStatuses.id),
} satisfies Filters<StatusFilter, FilterNames<StatusFilter, 'sha'>>

/** Selects the ids of a page first, so that only its rows are joined with their authors. */
const selectStatuses = statement('commit statuses', (db, filters: (keyof typeof FILTERS)[]) => {
  const page = db
    .select({ id: commitStatuses.id, sha: pipelines.sha, ref: pipelines.ref, total: sql<number>`count(*) over ()`.as('total') })
    .from(pipelines)
    .innerJoin(commitStatuses, and(eq(commitStatuses.project_id, pipelines.project_id), eq(commitStatuses.pipeline_id, pipelines.id)))
    .where(
      and(eq(pipelines.project_id, sql.placeholder('project')), eq(pipelines.sha, sql.placeholder('sha')), ...conditionsOf(FILTERS, filters, null)),
    )
    .orderBy(asc(commitStatuses.id))
    .limit(sql.placeholder('limit'))
    .offset(sql.placeholder('offset'))
    .as('page')
  return db
    .select({
      ...statusColumns,
      pipeline_id: commitStatuses.pipeline_id,
      sha: page.sha,
      ref: page.ref,
      author: userColumns,
      total: decoded(sql<number>`${page.total}`, Number),
    })
    .from(page)
    .innerJoin(commitStatuses, eq(commitStatuses.id, page.id))
    .innerJoin(users, eq(users.id, commitStatuses.user_id))
    .orderBy(asc(commitStatuses.id))
})

/** The statuses of a commit, given by id, abbreviation, branch or tag (ST-1 to ST-8). */
export async function listStatuses(ctx: Context, subject: ProjectSubject, filter: StatusFilter): Promise<Page<CommitStatusRecord>> {
  const { project } = subject
  const sha = await commitOf(ctx, subject, filter.sha)
  // for a commit that is not on the default branch, all refs are listed (ST-5)
  const ref = filter.ref || ((await inDefaultBranch(ctx, subject, sha)) ? project.default_branch : '')
  const given: StatusFilter = { ...filter, ref }
  const used = usedFilters(FILTERS, given)
  return pageFrom(selectStatuses(ctx.db, used.names), { ...used.values, project: project.id, sha }, filter)
}
