import { and, asc, count, desc, eq, getTableColumns, type SQL, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/pg-core'
import type { Caller } from '../../access/actor.js'
import { type IssueReach, issueReach } from '../../access/can.js'
import type { GroupSubject, ProjectSubject } from '../../access/rules.js'
import { type Eyes, eyesOf, issuesInReach, visibleIssues } from '../../access/visible.js'
import type { Context } from '../../context.js'
import type { ReadDatabase } from '../../db/client.js'
import { type Fuzzy, fuzzy, fuzzyMatch } from '../../db/fuzzy.js'
import { awardEmoji, issueLabels, issues, labels, milestones, namespaceAncestry, namespaces, projects, users } from '../../db/schema/index.js'
import { statement } from '../../db/statement.js'
import type { UserRefRecord } from '../../entities/user.js'
import { dayOf } from '../../lib/day.js'
import { mainEmojiName } from '../../lib/emoji.js'
import { limits, type Page, type Paging } from '../page.js'
import { projectVersionOf } from '../project-lists.js'
import { isSubscribed } from '../subscriptions.js'

/** What an issue shows of each of its labels. */
export interface IssueLabel {
  id: number
  name: string
  color: string
  description: string | null
  description_html: string
}

/** An issue with all that its views show. */
export interface IssueRecord {
  issue: typeof issues.$inferSelect
  /** Full path of its project. */
  path: string
  author: UserRefRecord
  assignee: UserRefRecord | null
  closed_by: UserRefRecord | null
  milestone: typeof milestones.$inferSelect | null
  /** Full path of the group whose milestone it is; null: the project's own. */
  milestone_path: string | null
  /** By name; names alone unless the details were asked for. */
  labels: IssueLabel[] | string[]
  /** Of the caller; single views alone tell it. */
  subscribed?: boolean
}

const assignees = alias(users, 'assignee')
const closers = alias(users, 'closer')
const person = (table: typeof users | typeof assignees | typeof closers) => ({
  id: table.id,
  name: table.name,
  username: table.username,
  state: table.state,
  avatar: table.avatar,
})

const labelsOf = (what: SQL) =>
  sql`(select coalesce(json_agg(${what} order by l.title), '[]') from ${issueLabels} il join ${labels} l on l.id = il.label_id where il.issue_id = ${issues.id})`
const labelNames = labelsOf(sql`l.title`) as SQL<string[]>
const labelDetails = labelsOf(
  sql`json_build_object('id', l.id, 'name', l.title, 'color', l.color, 'description', l.description, 'description_html', l.description_html)`,
) as SQL<IssueLabel[]>

const user = sql`${sql.placeholder('user')}::bigint`

/** All that is shown of issues, to be joined with the ids of those that are meant. */
function shown<More extends Record<string, SQL>>(db: ReadDatabase, details: boolean, more: More) {
  return db
    .select({
      issue: getTableColumns(issues),
      path: sql<string>`${namespaces.full_path} || '/' || ${projects.path}`,
      author: person(users),
      assignee: person(assignees),
      closed_by: person(closers),
      milestone: getTableColumns(milestones),
      milestone_path: sql<string | null>`(select n.full_path from ${namespaces} n where n.id = ${milestones.namespace_id})`,
      labels: (details ? labelDetails : labelNames) as SQL<IssueLabel[] | string[]>,
      ...more,
    })
    .from(issues)
    .innerJoin(projects, eq(projects.id, issues.project_id))
    .innerJoin(namespaces, eq(namespaces.id, projects.namespace_id))
    .innerJoin(users, eq(users.id, issues.author_id))
    .leftJoin(assignees, eq(assignees.id, issues.assignee_id))
    .leftJoin(closers, eq(closers.id, issues.closed_by_id))
    .leftJoin(milestones, eq(milestones.id, issues.milestone_id))
}

const loaded = statement('issues by id', (db, view: 'single' | 'list' | 'list with details') =>
  shown(db, view === 'list with details', view === 'single' ? { subscribed: isSubscribed('Issue', issues, user) } : {}).where(
    sql`${issues.id} = any(${sql.placeholder('ids')}::bigint[])`,
  ),
)

/** Issues as their single views show them, in no order. The caller must already be known to see them. */
export async function loadIssues(ctx: Context, { user: viewer }: Pick<Caller, 'user'>, ids: number[]): Promise<IssueRecord[]> {
  return ids.length === 0 ? [] : ((await loaded(ctx.db, 'single').execute({ ids, user: viewer?.id ?? 0 })) as IssueRecord[])
}

/** One issue as its single view shows it. */
export async function loadIssue(ctx: Context, caller: Pick<Caller, 'user'>, id: number): Promise<IssueRecord> {
  const [record] = await loadIssues(ctx, caller, [id])
  if (!record) throw new Error(`issue ${id} vanished while it was loaded`)
  return record
}

export const ISSUE_ORDERS = ['created_at', 'updated_at'] as const

/** Somebody's id, or `any`, or `none`. */
export type Assignee = number | 'any' | 'none'

/** What may also stand in `not[…]`. */
export interface IssueTraits {
  labels?: string[] | 'any' | 'none' | undefined
  milestone?: { title: string } | 'any' | 'none' | undefined
  author_id?: number | undefined
  author_username?: string | undefined
  assignee_id?: Assignee | undefined
  assignee_username?: string | undefined
  iids?: number[] | undefined
  my_reaction_emoji?: string | undefined
}

export interface IssueFilter extends IssueTraits, Paging {
  state: 'opened' | 'closed' | 'all'
  /** Only what the caller made, or what is assigned to him. */
  scope: 'created_by_me' | 'assigned_to_me' | 'all'
  search?: string | undefined
  in: ('title' | 'description')[]
  created_after?: Date | undefined
  created_before?: Date | undefined
  updated_after?: Date | undefined
  updated_before?: Date | undefined
  confidential?: boolean | undefined
  due_date?: '0' | 'overdue' | 'week' | 'month' | undefined
  milestone_id?: number | undefined
  not?: IssueTraits | undefined
  order_by: (typeof ISSUE_ORDERS)[number]
  sort: 'asc' | 'desc'
  with_labels_details: boolean
}

/** The issues of one project, of the projects of a group and its descendants, or of all. */
export type IssuePlace = { project: ProjectSubject } | { group: GroupSubject } | 'everywhere'

/** What the text of the list query depends on. */
interface Shape {
  in: 'project' | 'group' | 'everywhere'
  sight: IssueReach | Eyes
  filters: string[]
  /** How many labels must all be there. */
  labels: number
  search: Fuzzy['shape']
  fields: ('title' | 'description')[]
}

const idOf = (name: string) => sql`(select u.id from ${users} u where lower(u.username) = lower(${sql.placeholder(name)}))`
const value = (name: string) => sql.placeholder(name)
const wearing = (where: SQL) => sql`select il.issue_id from ${issueLabels} il join ${labels} l on l.id = il.label_id where ${where}`
const titled = (name: string) => sql`(select m.id from ${milestones} m where m.title = ${value(name)})`

/** Issues that the caller gave an emoji to (AE-5). */
const reacted = (name = sql``) => sql`select a.awardable_id from ${awardEmoji} a where a.user_id = ${user} and a.awardable_type = 'Issue' ${name}`

/** Each filter's condition; its values are placeholders of the same name. */
const FILTERS: Record<string, () => SQL> = {
  state: () => eq(issues.state, value('state')),
  labels_any: () => sql`exists (select 1 from ${issueLabels} il where il.issue_id = ${issues.id})`,
  labels_none: () => sql`not exists (select 1 from ${issueLabels} il where il.issue_id = ${issues.id})`,
  milestone: () => sql`${issues.milestone_id} in ${titled('milestone')}`,
  milestone_any: () => sql`${issues.milestone_id} is not null`,
  milestone_none: () => sql`${issues.milestone_id} is null`,
  milestone_id: () => eq(issues.milestone_id, value('milestone_id')),
  author_id: () => eq(issues.author_id, value('author_id')),
  mine: () => sql`${issues.author_id} = ${user}`,
  for_me: () => sql`${issues.assignee_id} = ${user}`,
  author_username: () => sql`${issues.author_id} = ${idOf('author_username')}`,
  assignee_id: () => eq(issues.assignee_id, value('assignee_id')),
  assignee_any: () => sql`${issues.assignee_id} is not null`,
  assignee_none: () => sql`${issues.assignee_id} is null`,
  assignee_username: () => sql`${issues.assignee_id} = ${idOf('assignee_username')}`,
  iids: () => sql`${issues.iid} = any(${value('iids')}::integer[])`,
  reaction: () => sql`${issues.id} in (${reacted(sql`and a.name = ${value('reaction')}`)})`,
  reaction_any: () => sql`${issues.id} in (${reacted()})`,
  reaction_none: () => sql`${issues.id} not in (${reacted()})`,
  not_reaction: () => sql`${issues.id} not in (${reacted(sql`and a.name = ${value('not_reaction')}`)})`,
  created_after: () => sql`${issues.created_at} >= ${value('created_after')}::timestamptz`,
  created_before: () => sql`${issues.created_at} <= ${value('created_before')}::timestamptz`,
  updated_after: () => sql`${issues.updated_at} >= ${value('updated_after')}::timestamptz`,
  updated_before: () => sql`${issues.updated_at} <= ${value('updated_before')}::timestamptz`,
  confidential: () => eq(issues.confidential, value('confidential')),
  due_none: () => sql`${issues.due_date} is null`,
  due_from: () => sql`${issues.due_date} >= ${value('due_from')}::date`,
  due_to: () => sql`${issues.due_date} <= ${value('due_to')}::date`,
  not_labels: () => sql`${issues.id} not in (${wearing(sql`l.title = any(${value('not_labels')}::text[])`)})`,
  not_milestone: () => sql`coalesce(${issues.milestone_id} not in ${titled('not_milestone')}, true)`,
  not_author_id: () => sql`${issues.author_id} <> ${value('not_author_id')}`,
  not_author_username: () => sql`${issues.author_id} is distinct from ${idOf('not_author_username')}`,
  not_assignee_id: () => sql`${issues.assignee_id} is distinct from ${value('not_assignee_id')}::bigint`,
  not_assignee_username: () => sql`(${issues.assignee_id} is null or ${issues.assignee_id} is distinct from ${idOf('not_assignee_username')})`,
  not_iids: () => sql`${issues.iid} <> all(${value('not_iids')}::integer[])`,
}

function conditions({ in: place, sight, filters, labels: worn, search, fields }: Shape) {
  return and(
    place === 'project' ? eq(issues.project_id, value('place')) : visibleIssues(sight as Eyes, user),
    place === 'project' ? issuesInReach(sight as IssueReach, user) : undefined,
    place === 'group'
      ? sql`${projects.namespace_id} in (select a.descendant_id from ${namespaceAncestry} a where a.ancestor_id = ${value('place')})`
      : undefined,
    ...filters.map((name) => FILTERS[name]?.()),
    ...Array.from({ length: worn }, (_, i) =>
      place === 'project'
        ? sql`${issues.id} in (select il.issue_id from ${issueLabels} il where il.label_id = any(${value(`label${i}`)}::bigint[]))`
        : sql`${issues.id} in (${wearing(sql`l.title = ${value(`label${i}`)}`)})`,
    ),
    fuzzyMatch(
      fields.map((field) => issues[field]),
      search,
    ),
  )
}

const versionIn = (place: Shape['in']) =>
  place === 'project' ? projectVersionOf('issues', sql`${value('place')}::bigint`) : sql<number | null>`null::bigint`

/** The ids of one page, by the filters alone. What is shown of them is joined in a statement of its own: in one with this, Postgres would plan seven joins anew for each call, which takes longer than to run them. */
const listed = statement('ids of issues', (db, { order, descending, ...shape }: Shape & { order: IssueFilter['order_by']; descending: boolean }) => {
  const direction = descending ? desc : asc
  const from = db
    .select({ id: issues.id, version: versionIn(shape.in) })
    .from(issues)
    .$dynamic()
  return (shape.in === 'project' ? from : from.innerJoin(projects, eq(projects.id, issues.project_id)))
    .where(conditions(shape))
    .orderBy(direction(issues[order]), direction(issues.id))
    .limit(value('limit'))
    .offset(value('offset'))
})

const counted = statement('number of issues', (db, shape: Shape) => {
  const from = db
    .select({ total: count(), version: versionIn(shape.in) })
    .from(issues)
    .$dynamic()
  return (shape.in === 'project' ? from : from.innerJoin(projects, eq(projects.id, issues.project_id))).where(conditions(shape))
})

const labelIds = statement('labels worn in a project', (db) =>
  db
    .select({ id: labels.id, title: labels.title })
    .from(labels)
    .where(
      sql`${labels.title} = any(${value('titles')}::text[]) and (${labels.project_id} = ${value('project')}
        or ${labels.namespace_id} is not null and exists (select 1 from ${issueLabels} il where il.label_id = ${labels.id} and il.project_id = ${value('project')}))`,
    ),
)

/** Values of the label filters: within one project ids, of which Postgres knows how many wear them. Null: there is no such label, so no issue wears it. */
async function labelValues(ctx: Context, at: IssuePlace, titles: string[]): Promise<Record<string, unknown> | null> {
  if (at === 'everywhere' || 'group' in at || titles.length === 0) return Object.fromEntries(titles.map((title, i) => [`label${i}`, title]))
  const known = await labelIds(ctx.db, null).execute({ titles, project: at.project.project.id })
  const ids = titles.map((title) => known.filter((label) => label.title === title).map((label) => label.id))
  return ids.some((list) => list.length === 0) ? null : Object.fromEntries(ids.map((list, i) => [`label${i}`, list]))
}

/** Filters whose answer changes without a word to the list's version. */
const UNKEPT = [
  'updated_after',
  'updated_before',
  'author_username',
  'assignee_username',
  'not_author_username',
  'not_assignee_username',
  'reaction',
  'reaction_any',
  'reaction_none',
  'not_reaction',
]

const place = (at: IssuePlace, viewer: Caller['user']): Pick<Shape, 'in' | 'sight'> & { id: number } => {
  if (at === 'everywhere') return { in: 'everywhere', sight: eyesOf(viewer), id: 0 }
  if ('group' in at) return { in: 'group', sight: eyesOf(viewer), id: at.group.group.id }
  return { in: 'project', sight: issueReach(at.project), id: at.project.project.id }
}

/** First and last day of what `due_date` names. */
function dueDays(due: IssueFilter['due_date'], now: Date): { due_none?: true; due_from?: string; due_to?: string } {
  const at = (year: number, month: number, date: number) => dayOf(new Date(Date.UTC(year, month, date)))
  const [year, month, date] = [now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate()]
  const monday = date - ((now.getUTCDay() + 6) % 7)
  switch (due) {
    case '0':
      return { due_none: true }
    case 'overdue':
      return { due_to: at(year, month, date - 1) }
    case 'week':
      return { due_from: at(year, month, monday), due_to: at(year, month, monday + 6) }
    case 'month':
      return { due_from: at(year, month, 1), due_to: at(year, month + 1, 0) }
    default:
      return {}
  }
}

/** `None` and `Any` become filters of their own; for a negated one they swap. */
const anyOrNone = (name: string, given: unknown, negated = false) =>
  given === 'any' || given === 'none' ? { [`${name}_${(given === 'any') !== negated ? 'any' : 'none'}`]: true } : {}

const plain = (given: Assignee | undefined) => (typeof given === 'number' ? given : undefined)

const titleOf = (given: IssueTraits['milestone']) => (typeof given === 'object' ? given.title : undefined)

/** A name that is none is nobody's reaction. */
const emojiName = (given: string | undefined) => (given && !/^(any|none)$/i.test(given) ? (mainEmojiName(given) ?? given) : undefined)

/** The filters that are given, each with its value. */
function valuesOf(filter: IssueFilter, now: Date): Record<string, unknown> {
  const { not = {} } = filter
  const text = (given: string | undefined) => given?.trim() || undefined
  return {
    state: filter.state === 'all' ? undefined : filter.state,
    mine: filter.scope === 'created_by_me' || undefined,
    for_me: filter.scope === 'assigned_to_me' || undefined,
    ...anyOrNone('labels', filter.labels),
    ...anyOrNone('labels', not.labels, true),
    milestone: titleOf(filter.milestone),
    ...anyOrNone('milestone', filter.milestone),
    ...anyOrNone('milestone', not.milestone, true),
    milestone_id: filter.milestone_id,
    author_id: filter.author_id,
    author_username: text(filter.author_username),
    assignee_id: plain(filter.assignee_id),
    ...anyOrNone('assignee', filter.assignee_id),
    ...anyOrNone('assignee', not.assignee_id, true),
    assignee_username: text(filter.assignee_username),
    iids: filter.iids,
    reaction: emojiName(filter.my_reaction_emoji),
    ...anyOrNone('reaction', filter.my_reaction_emoji?.toLowerCase()),
    ...anyOrNone('reaction', not.my_reaction_emoji?.toLowerCase(), true),
    not_reaction: emojiName(not.my_reaction_emoji),
    created_after: filter.created_after?.toISOString(),
    created_before: filter.created_before?.toISOString(),
    updated_after: filter.updated_after?.toISOString(),
    updated_before: filter.updated_before?.toISOString(),
    confidential: filter.confidential,
    ...dueDays(filter.due_date, now),
    not_labels: Array.isArray(not.labels) && not.labels.length > 0 ? not.labels : undefined,
    not_milestone: titleOf(not.milestone),
    not_author_id: not.author_id,
    not_author_username: text(not.author_username),
    not_assignee_id: plain(not.assignee_id),
    not_assignee_username: text(not.assignee_username),
    not_iids: not.iids,
  }
}

/** The issues of a place that the caller sees and the filters let through (IS-1 to IS-3); the caller must be known to see the place and, for one project, to read issues there. */
export async function listIssues(
  ctx: Context,
  { user: viewer }: Pick<Caller, 'user'>,
  at: IssuePlace,
  filter: IssueFilter,
): Promise<Page<IssueRecord>> {
  if (!viewer && filter.scope !== 'all') return { items: [], total: 0 }
  const { id, ...where } = place(at, viewer)
  const words = fuzzy(filter.search)
  const given = valuesOf(filter, ctx.now())
  const filters = Object.keys(given).filter((name) => given[name] !== undefined)
  const worn = Array.isArray(filter.labels) ? [...new Set(filter.labels)] : []
  const shape: Shape = { ...where, filters, labels: worn.length, search: words.shape, fields: words.shape === 'all' ? [] : filter.in }
  const wearers = await labelValues(ctx, at, worn)
  if (!wearers) return { items: [], total: 0 }
  const values = { ...given, ...words.values, ...wearers, place: id, user: viewer?.id ?? 0 }
  const rows = await listed(ctx.db, { ...shape, order: filter.order_by, descending: filter.sort === 'desc' }).execute({
    ...values,
    ...limits(filter),
  })
  const key = where.in === 'project' && !filters.some((name) => UNKEPT.includes(name)) ? JSON.stringify([shape, values]) : null
  const [{ total }, items] = await Promise.all([
    ctx.totals.page('issues', key, rows, filter, () => counted(ctx.db, shape).execute(values)),
    inOrder(
      ctx,
      rows.map((row) => row.id),
      filter.with_labels_details,
    ),
  ])
  return { items, total }
}

async function inOrder(ctx: Context, ids: number[], details: boolean): Promise<IssueRecord[]> {
  if (ids.length === 0) return []
  const records = (await loaded(ctx.db, details ? 'list with details' : 'list').execute({ ids })) as IssueRecord[]
  const byId = new Map(records.map((record) => [record.issue.id, record]))
  return ids.map((id) => byId.get(id)).filter((record) => record !== undefined)
}
