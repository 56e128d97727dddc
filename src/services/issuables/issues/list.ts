import { eq, type SQL, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/pg-core'
import type { Caller } from '../../../access/actor.js'
import { type IssueReach, issueReach } from '../../../access/can.js'
import { issuesInReach, visibleIssues } from '../../../access/visible.js'
import type { Context } from '../../../context.js'
import type { ReadDatabase } from '../../../db/client.js'
import { inIds } from '../../../db/conditions.js'
import { completeTexts, LONG_TEXTS, READ_COLUMNS } from '../../../db/long-text.js'
import { issueLabels, issues, labels, milestones, namespaces, projects, users } from '../../../db/schema/index.js'
import { statement } from '../../../db/statement.js'
import { dayOf } from '../../../lib/text/day.js'
import { isSubscribed } from '../../activity/subscriptions.js'
import type { Page } from '../../core/page.js'
import { type UserRefRecord, userRefColumns, userRefsIn } from '../../identity/user-ref.js'
import type { IssuableFilter } from '../filters.js'
import { type IssuableSource, listerOf } from '../list.js'

/** A label as an issue shows it with `with_labels_details`. */
export interface IssueLabel {
  id: number
  name: string
  color: string
  description: string | null
  description_html: string
}

/** An issue with everything its views show. */
export interface IssueRecord {
  issue: typeof issues.$inferSelect
  /** Full path of its project. */
  path: string
  author: UserRefRecord
  assignees: UserRefRecord[]
  closed_by: UserRefRecord | null
  milestone: typeof milestones.$inferSelect | null
  /** Full path of the group that owns the milestone; null: the project owns it. */
  milestone_path: string | null
  /** By name; only names unless the details were asked for. */
  labels: IssueLabel[] | string[]
  /** Whether the caller is subscribed; in single views only. */
  subscribed?: boolean
}

const closers = alias(users, 'closer')

const labelsOf = (what: SQL) =>
  sql`(select coalesce(json_agg(${what} order by l.title), '[]') from ${issueLabels} il join ${labels} l on l.id = il.label_id where il.issue_id = ${issues.id})`
const labelNames = labelsOf(sql`l.title`) as SQL<string[]>
/**
 * Issues have any number of labels, so their descriptions are cut here, to fewer characters than in lists of labels.
 */
const truncatedText = (text: SQL) => sql`case when char_length(${text}) > 1024 then left(${text}, 1024) || '...' else ${text} end`
const labelDetails = labelsOf(
  sql`json_build_object('id', l.id, 'name', l.title, 'color', l.color, 'description', ${truncatedText(sql`l.description`)}, 'description_html', ${truncatedText(sql`l.description_html`)})`,
) as SQL<IssueLabel[]>

const user = sql`${sql.placeholder('user')}::bigint`

/** Selects everything that is shown of issues; the caller adds the condition. */
function issuesQuery<More extends Record<string, SQL>>(db: ReadDatabase, details: boolean, extra: More) {
  return db
    .select({
      issue: READ_COLUMNS.issues,
      path: sql<string>`${namespaces.full_path} || '/' || ${projects.path}`,
      author: userRefColumns(users),
      assignees: userRefsIn(issues.assignee_ids),
      closed_by: userRefColumns(closers),
      milestone: READ_COLUMNS.milestones,
      milestone_path: sql<string | null>`(select n.full_path from ${namespaces} n where n.id = ${milestones.namespace_id})`,
      labels: (details ? labelDetails : labelNames) as SQL<IssueLabel[] | string[]>,
      ...extra,
    })
    .from(issues)
    .innerJoin(projects, eq(projects.id, issues.project_id))
    .innerJoin(namespaces, eq(namespaces.id, projects.namespace_id))
    .innerJoin(users, eq(users.id, issues.author_id))
    .leftJoin(closers, eq(closers.id, issues.closed_by_id))
    .leftJoin(milestones, eq(milestones.id, issues.milestone_id))
}

const selectIssues = statement('issues by id', (db, view: 'single' | 'list' | 'list with details') =>
  issuesQuery(db, view === 'list with details', view === 'single' ? { subscribed: isSubscribed('Issue', issues, user) } : {}).where(inIds(issues.id)),
)

/**
 * Issues with everything their single views show, in no particular order; long texts are cut as in a list. The caller
 * must already be authorised to see them.
 */
export async function loadIssues(ctx: Context, { user: viewer }: Pick<Caller, 'user'>, ids: number[]): Promise<IssueRecord[]> {
  if (ids.length === 0) return []
  return withTexts(ctx, (await selectIssues(ctx.db, 'single').execute({ ids, user: viewer?.id ?? 0 })) as IssueRecord[], 'page')
}

async function withTexts(ctx: Context, records: IssueRecord[], size: 'whole' | 'page'): Promise<IssueRecord[]> {
  const descriptions = records.map(({ issue }) => issue)
  const attached = records.flatMap(({ milestone }) => milestone ?? [])
  await Promise.all([completeTexts(ctx, LONG_TEXTS.issues, descriptions, size), completeTexts(ctx, LONG_TEXTS.milestones, attached, size)])
  return records
}

/** One issue as its single view shows it. */
export async function loadIssue(ctx: Context, caller: Pick<Caller, 'user'>, id: number): Promise<IssueRecord> {
  const found = (await selectIssues(ctx.db, 'single').execute({ ids: [id], user: caller.user?.id ?? 0 })) as IssueRecord[]
  const [record] = await withTexts(ctx, found, 'whole')
  if (!record) throw new Error(`issue ${id} vanished while it was loaded`)
  return record
}

/** Periods of due dates that lists take, and `0` for issues without one. */
export const DUE_DATES = ['0', 'any', 'today', 'tomorrow', 'overdue', 'week', 'month', 'next_month_and_previous_two_weeks'] as const

export interface IssueFilter extends IssuableFilter {
  state: 'opened' | 'closed' | 'all'
  confidential?: boolean | undefined
  due_date?: (typeof DUE_DATES)[number] | undefined
  with_labels_details: boolean
}

const list = listerOf<IssueReach, IssueFilter>({
  type: 'Issue',
  list: 'issues',
  issuables: issues,
  issuableLabels: issueLabels,
  labelled_id: issueLabels.issue_id,
  reach: issueReach,
  inReach: issuesInReach,
  visible: visibleIssues,
  orderKey: (by) => (by === 'due_date' ? sql`${issues.due_date}` : undefined),
  filters: {
    confidential: { where: (confidential) => eq(issues.confidential, confidential), value: ({ confidential }) => confidential },
    due_none: { where: () => sql`${issues.due_date} is null`, value: ({ due_date }) => due_date === '0' || undefined },
    due_any: { where: () => sql`${issues.due_date} is not null`, value: ({ due_date }) => due_date === 'any' || undefined },
    due_from: { where: (day) => sql`${issues.due_date} >= ${day}::date`, value: ({ due_date, now }) => dueDays(due_date, now).from },
    due_to: { where: (day) => sql`${issues.due_date} <= ${day}::date`, value: ({ due_date, now }) => dueDays(due_date, now).to },
  },
})

/** The first and the last day of the period that `due_date` names. */
function dueDays(due: IssueFilter['due_date'], now: Date): { from?: string; to?: string } {
  const at = (year: number, month: number, date: number) => dayOf(new Date(Date.UTC(year, month, date)))
  const [year, month, date] = [now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate()]
  const monday = date - ((now.getUTCDay() + 6) % 7)
  switch (due) {
    case 'today':
      return { from: at(year, month, date), to: at(year, month, date) }
    case 'tomorrow':
      return { from: at(year, month, date + 1), to: at(year, month, date + 1) }
    case 'next_month_and_previous_two_weeks':
      return { from: at(year, month, date - 14), to: at(year, month + 2, 0) }
    case 'overdue':
      return { to: at(year, month, date - 1) }
    case 'week':
      return { from: at(year, month, monday), to: at(year, month, monday + 6) }
    case 'month':
      return { from: at(year, month, 1), to: at(year, month + 1, 0) }
    default:
      return {}
  }
}

/**
 * The issues that the caller sees and that match the filters (IS-1 to IS-3). The caller must already be authorised to
 * see the source and, in a project, to read its issues.
 */
export const listIssues = (ctx: Context, caller: Pick<Caller, 'user'>, at: IssuableSource, filter: IssueFilter): Promise<Page<IssueRecord>> =>
  list(ctx, caller, at, filter, (ids) => loadInOrder(ctx, ids, filter.with_labels_details))

const selectDue = statement('due issues by id', (db) =>
  db
    .select({
      id: issues.id,
      iid: issues.iid,
      title: issues.title,
      due_date: issues.due_date,
      updated_at: issues.updated_at,
      path: sql<string>`${namespaces.full_path} || '/' || ${projects.path}`,
    })
    .from(issues)
    .innerJoin(projects, eq(projects.id, issues.project_id))
    .innerJoin(namespaces, eq(namespaces.id, projects.namespace_id))
    .where(inIds(issues.id)),
)

/** What a calendar shows of an issue. */
export interface DueIssue {
  id: number
  iid: number
  title: string
  due_date: string | null
  updated_at: Date
  path: string
}

/** The issues of a list, with what a calendar shows of them; authorised as for `listIssues`. */
export const listDueIssues = (ctx: Context, caller: Pick<Caller, 'user'>, at: IssuableSource, filter: IssueFilter): Promise<Page<DueIssue>> =>
  list(ctx, caller, at, filter, async (ids) => {
    const found = new Map((ids.length > 0 ? await selectDue(ctx.db, null).execute({ ids }) : []).map((each) => [each.id, each]))
    return ids.flatMap((id) => found.get(id) ?? [])
  })

/** How many there are of them. */
export const countIssues = async (ctx: Context, caller: Pick<Caller, 'user'>, at: IssuableSource, filter: IssueFilter): Promise<number> =>
  (await list(ctx, caller, at, { ...filter, page: 1, per_page: 1 }, async () => [])).total

async function loadInOrder(ctx: Context, ids: number[], details: boolean): Promise<IssueRecord[]> {
  if (ids.length === 0) return []
  const records = await withTexts(ctx, (await selectIssues(ctx.db, details ? 'list with details' : 'list').execute({ ids })) as IssueRecord[], 'page')
  const byId = new Map(records.map((record) => [record.issue.id, record]))
  return ids.map((id) => byId.get(id)).filter((record) => record !== undefined)
}
