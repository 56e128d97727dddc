import { and, asc, desc, eq, type SQL, sql } from 'drizzle-orm'
import { alias, type PgTable } from 'drizzle-orm/pg-core'
import type { Caller, SignedIn } from '../../access/actor.js'
import { type IssueReach, type NoteReach, noteReach } from '../../access/can.js'
import { ANY_LEVEL, projectsWithLevel } from '../../access/roles.js'
import type { GroupSubject, ProjectSubject } from '../../access/rules.js'
import {
  hasIssuables,
  issuesInReach,
  mergeRequestAccess,
  mergeRequestsInReach,
  readableCode,
  snippetsOpenTo,
  type ViewerKind,
  viewerKindOf,
  visibleIssues,
  visibleMergeRequests,
  visibleProjects,
  visibleSnippets,
} from '../../access/visible.js'
import type { Context } from '../../context.js'
import type { Transaction } from '../../db/client.js'
import { count, decoded } from '../../db/decoded.js'
import { conditionsOf, type FilterNames, type Filters, usedFilters } from '../../db/filters.js'
import { completeTexts, LONG_TEXTS, READ_COLUMNS } from '../../db/long-text.js'
import {
  EVENT_ACTIONS,
  EVENT_SUBJECTS,
  events,
  issues,
  mergeRequests,
  milestones,
  namespaceAncestry,
  notes,
  projects,
  snippets,
  users,
} from '../../db/schema/index.js'
import { statement } from '../../db/statement.js'
import { notFound } from '../../failures.js'
import { numericId } from '../../lib/numeric-id.js'
import { VISIBILITY_LEVEL } from '../../rules/visibility.js'
import { type Page, type Paging, pageAndTotal } from '../core/page.js'
import { isRestricted, readSettings } from '../core/settings.js'
import { userRefColumns } from '../identity/user-ref.js'
import { findUserByName, getUser } from '../identity/users.js'

type Row = typeof events.$inferInsert

/** An event as lists show it. */
export type EventRecord = Awaited<ReturnType<ReturnType<typeof selectEvents>['execute']>>[number]

/**
 * Records an event and updates the project's last activity (EV-7, G-86). A confidential event does not update it,
 * because every reader of the project sees it: SEC-35 takes precedence over G-86.
 */
export async function recordEvent(
  tx: Pick<Transaction, 'insert' | 'update'>,
  { confidential = false, ...event }: Omit<Row, 'push' | 'about_type' | 'about_id'> & { confidential?: boolean },
): Promise<void> {
  const { project_id, created_at } = event
  const activity = () =>
    tx
      .update(projects)
      .set({ last_activity_at: sql`greatest(${projects.last_activity_at}, ${created_at.toISOString()}::timestamptz)` })
      .where(eq(projects.id, project_id))
  await Promise.all([tx.insert(events).values({ ...event, ...aboutTarget(event) }), ...(confidential ? [] : [activity()])])
}

/** The subject that decides who may see an event; events about milestones, the project and members have none. */
function aboutTarget({ target_type, target_id }: Pick<Row, 'target_type' | 'target_id'>): Pick<Row, 'about_type' | 'about_id'> {
  const about_type = EVENT_SUBJECTS.find((type) => type === target_type)
  return about_type ? { about_type, about_id: target_id } : {}
}

export { EVENT_ACTIONS }

/** The values of the `target_type` filter, and the target types they select. */
const TARGETS = {
  issue: ['Issue'],
  milestone: ['Milestone'],
  merge_request: ['MergeRequest'],
  note: ['Note', 'DiffNote', 'DiscussionNote'],
  project: ['Project'],
  snippet: ['Snippet'],
  user: ['User'],
} as const

export type EventTarget = keyof typeof TARGETS
export const EVENT_TARGETS = Object.keys(TARGETS) as [EventTarget, ...EventTarget[]]

export interface EventFilter extends Paging {
  action?: (typeof EVENT_ACTIONS)[number] | undefined
  target_type?: EventTarget | undefined
  /** Dates, both exclusive. */
  before?: string | null | undefined
  after?: string | null | undefined
  sort: 'asc' | 'desc'
}

/** What of one project the caller may read. */
type EventReach = NoteReach & { milestones: boolean }

/** Which events: those of one user, of one project, of a group's projects, or of all that the caller is a member of. */
type EventScope = 'author' | 'project' | 'group' | 'memberships'

interface Shape {
  of: EventScope
  viewerKind: ViewerKind
  /** What the caller sees in the one project; null when it is decided per project. */
  reach: EventReach | null
  filters: FilterNames<EventFilter>[]
  descending: boolean
}

const user = sql`${sql.placeholder('user')}::bigint`

const FILTERS = {
  action: { where: (action) => eq(events.action, action), value: ({ action }) => action },
  target_type: {
    where: (types) => sql`${events.target_type} = any(${types}::text[])`,
    value: ({ target_type }) => target_type && [...TARGETS[target_type]],
  },
  before: { where: (day) => sql`${events.created_at} < ${day}::date`, value: ({ before }) => before ?? undefined },
  after: { where: (day) => sql`${events.created_at} >= ${day}::date + 1`, value: ({ after }) => after ?? undefined },
} satisfies Filters<EventFilter, FilterNames<EventFilter>>

const SCOPES: Record<EventScope, () => SQL> = {
  author: () => eq(events.author_id, sql.placeholder('of')),
  project: () => eq(events.project_id, sql.placeholder('of')),
  group: () =>
    sql`${events.project_id} in (select p.id from ${projects} p join ${namespaceAncestry} a on a.descendant_id = p.namespace_id
      where a.ancestor_id = ${sql.placeholder('of')})`,
  memberships: () => sql`${events.project_id} in ${projectsWithLevel(user, ANY_LEVEL)}`,
}

type About = (typeof EVENT_SUBJECTS)[number]
/** For each kind of subject, which of its events are visible. Of deleted subjects only merge requests have events. */
type Shown = Record<About, SQL>

/** Within one project, by the caller's reach there; the few hidden subjects are collected once. */
function shownInProject({ issues: issueReach, merge_requests, commits, snippets: snippetReach }: NoteReach, viewerKind: ViewerKind): Shown {
  const idsOf = (table: PgTable, where: SQL) => sql`(select id from ${table} where project_id = ${sql.placeholder('of')} and ${where})`
  const not = sql`${events.about_id} not in`
  return {
    Commit: commits ? sql`true` : sql`false`,
    Issue:
      hidesNone(issueReach) ??
      sql`${not} ${idsOf(issues, sql`${issues.confidential} and ${issuesInReach(issueReach as IssueReach, user)} is not true`)}`,
    MergeRequest:
      merge_requests === 'own'
        ? sql`${events.about_id} in ${idsOf(mergeRequests, mergeRequestsInReach('own', user))}`
        : (hidesAll(merge_requests) ?? sql`${not} ${idsOf(mergeRequests, sql`${mergeRequests.deleted_at} is not null`)}`),
    Snippet: hidesNone(snippetReach) ?? sql`${events.about_id} in ${idsOf(snippets, snippetsOpenTo(viewerKind, user))}`,
  }
}

const hidesAll = (reach: string | null) => (reach === null ? sql`false` : undefined)
const hidesNone = (reach: string | null) => (reach === 'all' ? sql`true` : hidesAll(reach))

/** Across projects (EV-4, SEC-35, SEC-36). */
function shownAnywhere(viewerKind: ViewerKind): Shown {
  const exists = (table: PgTable, where: SQL) => sql`exists (select 1 from ${table} where ${table}.id = ${events.about_id} and ${where})`
  // for administrators visibility depends on the project alone, except for the few deleted merge requests
  const admin = viewerKind === 'admin'
  const notDeleted = sql`${events.about_id} not in (select id from ${mergeRequests} where ${mergeRequests.deleted_at} is not null)`
  return {
    Commit: readableCode(viewerKind, user),
    Issue: admin ? visibleIssues(viewerKind, user) : exists(issues, visibleIssues(viewerKind, user)),
    MergeRequest: admin ? sql`(${notDeleted} and ${mergeRequestAccess} >= 10)` : exists(mergeRequests, visibleMergeRequests(viewerKind, user)),
    Snippet: admin ? visibleSnippets(viewerKind, user) : exists(snippets, visibleSnippets(viewerKind, user)),
  }
}

/** SQL condition: the events visible to the caller. Without a `reach` the query must join `projects`. */
function shownTo({ viewerKind, reach }: Pick<Shape, 'viewerKind' | 'reach'>): SQL {
  const shown = reach ? shownInProject(reach, viewerKind) : shownAnywhere(viewerKind)
  const about = EVENT_SUBJECTS.map((type) => sql`when ${type} then ${shown[type]}`)
  const milestones = reach ? (reach.milestones ? sql`true` : sql`false`) : hasIssuables(viewerKind, user)
  const visible = sql`case ${events.about_type} ${sql.join(about, sql` `)} else ${events.target_type} is distinct from 'Milestone' or ${milestones} end`
  return reach ? visible : sql`(${visibleProjects(viewerKind, user)} and ${visible})`
}

const matchesFilters = ({ of, filters }: Pick<Shape, 'of' | 'filters'>) => and(SCOPES[of](), ...conditionsOf(FILTERS, filters, null))

const selectTotal = statement('count of events', (db, shape: Omit<Shape, 'descending'>) => {
  const query = db.select({ total: count() }).from(events)
  return (shape.reach ? query : query.innerJoin(projects, eq(projects.id, events.project_id))).where(and(matchesFilters(shape), shownTo(shape)))
})

const resolvers = alias(users, 'resolver')
const NOTEABLE_TYPES = new Map<unknown, string>([
  [issues, 'Issue'],
  [mergeRequests, 'MergeRequest'],
  [snippets, 'Snippet'],
])

/** A column of the noteable of a note, as it is now. */
const noteableColumn = <T>(column: SQL, tables: PgTable[]): SQL<T | null> =>
  sql`case ${notes.noteable_type} ${sql.join(tables.map((table) => sql`when ${NOTEABLE_TYPES.get(table)} then (select ${column} from ${table} t where t.id = ${notes.noteable_id})`))} end`

/**
 * Selects the ids of one page first, so that only their rows are joined with the displayed columns. The ids are read in
 * index order up to the end of the page; a join with projects would read and sort all events.
 */
const selectEvents = statement('events', (db, { descending, ...shape }: Shape) => {
  const direction = descending ? desc : asc
  const shown = shape.reach ? shownTo(shape) : sql`(select ${shownTo(shape)} from ${projects} where ${projects.id} = ${events.project_id})`
  const page = db
    .select({ id: events.id })
    .from(events)
    .where(and(matchesFilters(shape), shown))
    .orderBy(direction(events.created_at), direction(events.id))
    .limit(sql.placeholder('limit'))
    .offset(sql.placeholder('offset'))
    .as('page')
  return db
    .select({
      event: events,
      author: userRefColumns(users),
      project: { name: projects.name },
      issue: { iid: issues.iid, title: issues.title },
      request: { iid: mergeRequests.iid, title: mergeRequests.title },
      milestone: { iid: milestones.iid, title: milestones.title },
      note: READ_COLUMNS.notes,
      resolver: userRefColumns(resolvers),
      noteable_iid: decoded(noteableColumn<number>(sql`iid`, [issues, mergeRequests]), (iid) => (iid === null ? null : Number(iid))),
      noteable_title: noteableColumn<string>(sql`title`, [issues, mergeRequests, snippets]),
    })
    .from(events)
    .innerJoin(page, eq(page.id, events.id))
    .innerJoin(users, eq(users.id, events.author_id))
    .innerJoin(projects, eq(projects.id, events.project_id))
    .leftJoin(notes, and(eq(notes.id, events.target_id), eq(events.action, 'commented')))
    .leftJoin(resolvers, eq(resolvers.id, notes.resolved_by_id))
    .leftJoin(issues, and(eq(issues.id, events.target_id), eq(events.target_type, 'Issue')))
    .leftJoin(mergeRequests, and(eq(mergeRequests.id, events.target_id), eq(events.target_type, 'MergeRequest')))
    .leftJoin(milestones, and(eq(milestones.id, events.target_id), eq(events.target_type, 'Milestone')))
    .orderBy(direction(events.created_at), direction(events.id))
})

interface ScopeRef {
  of: EventScope
  id: number
  reach?: EventReach | null
}

async function list(
  ctx: Context,
  { user: viewer }: Pick<Caller, 'user'>,
  { of, id, reach = null }: ScopeRef,
  filter: EventFilter,
): Promise<Page<EventRecord>> {
  const used = usedFilters(FILTERS, filter)
  const shape: Omit<Shape, 'descending'> = { of, viewerKind: viewerKindOf(viewer), reach, filters: used.names }
  const values = { ...used.values, of: id, user: viewer?.id ?? 0 }
  const query = selectEvents(ctx.db, { ...shape, descending: filter.sort === 'desc' })
  const page = await pageAndTotal(query, selectTotal(ctx.db, shape), values, filter)
  const texts = page.items.flatMap(({ note }) => note ?? [])
  await completeTexts(ctx, LONG_TEXTS.notes, texts, 'page')
  return page
}

/** The caller's own events or, with `all`, those of the projects they are a member of (EV-1). */
export const listOwnEvents = (ctx: Context, caller: SignedIn, { all, ...filter }: EventFilter & { all: boolean }) =>
  list(ctx, caller, { of: all ? 'memberships' : 'author', id: caller.user.id }, filter)

/**
 * The events of a user, by id or username (EV-2); anonymous callers get 404 when the public level is restricted (U-17).
 */
export async function listEventsOfUser(ctx: Context, caller: Pick<Caller, 'user'>, named: string, filter: EventFilter): Promise<Page<EventRecord>> {
  if (!caller.user && isRestricted(await readSettings(ctx), VISIBILITY_LEVEL.public)) throw notFound('User')
  const id = numericId(named)
  const author = id === null ? await findUserByName(ctx, named) : await getUser(ctx, id)
  // a private profile does not show what the user did (US-61)
  if (!author || (author.private_profile && author.id !== caller.user?.id && !caller.user?.admin)) throw notFound('User')
  return list(ctx, caller, { of: 'author', id: author.id }, filter)
}

/** The events of a project (EV-3). */
export function listEventsOfProject(ctx: Context, caller: Pick<Caller, 'user'>, subject: ProjectSubject, filter: EventFilter) {
  const reach = { ...noteReach(subject), milestones: subject.can('read_milestone') }
  // anonymous callers do not see merge requests and snippets (SN-12, G-8)
  const shown = caller.user ? reach : { ...reach, merge_requests: null, snippets: null }
  return list(ctx, caller, { of: 'project', id: subject.project.id, reach: shown }, filter)
}

/** The events of the projects of a group and of the groups below it, as far as the caller sees them. */
export const listEventsOfGroup = (ctx: Context, caller: Pick<Caller, 'user'>, { group }: GroupSubject, filter: EventFilter) =>
  list(ctx, caller, { of: 'group', id: group.id }, filter)

/** How long events are kept (EV-5). */
const EVENT_RETENTION = '2 years'

/** Deletes a project's events after the retention period. */
export async function dropOldEvents(ctx: Context, projectId: number): Promise<void> {
  await ctx.db.write
    .delete(events)
    .where(sql`${events.project_id} = ${projectId} and ${events.created_at} < ${ctx.now().toISOString()}::timestamptz - ${EVENT_RETENTION}::interval`)
}
