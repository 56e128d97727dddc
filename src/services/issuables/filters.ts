import { eq, type SQL, sql } from 'drizzle-orm'
import { awardEmoji, type issueLabels, type issues, labels, milestones, projects, users } from '../../db/schema/index.js'
import { mainEmojiName } from '../../lib/text/emoji.js'
import type { Paging } from '../core/page.js'

/** Matches any of these user ids, or any assignee, or no assignee. */
export type Assignees = number[] | 'any' | 'none'

/** A milestone by title, any, none, the next one due in each project, or all that have started (MR-17). */
export type MilestoneChoice = { title: string } | 'any' | 'none' | 'upcoming' | 'started'

/** Filters that `not[…]` accepts as well. */
export interface NegatableFilters {
  labels?: string[] | 'any' | 'none' | undefined
  milestone?: MilestoneChoice | undefined
  author_id?: number[] | undefined
  author_username?: string[] | undefined
  assignee_id?: Assignees | undefined
  assignee_username?: string[] | undefined
  iids?: number[] | undefined
  my_reaction_emoji?: string | undefined
}

export const ORDER_COLUMNS = ['created_at', 'updated_at'] as const

/** Filters that lists of issues and of merge requests share. */
export interface IssuableFilter extends NegatableFilters, Paging {
  state: string
  /** Only what the caller opened, only what is assigned to them, only merge requests that they review, or everything. */
  scope: 'created_by_me' | 'assigned_to_me' | 'reviews_for_me' | 'all'
  search?: string | undefined
  in: ('title' | 'description')[]
  created_after?: Date | undefined
  created_before?: Date | undefined
  updated_after?: Date | undefined
  updated_before?: Date | undefined
  milestone_id?: number | undefined
  not?: NegatableFilters | undefined
  order_by: (typeof ORDER_COLUMNS)[number]
  sort: 'asc' | 'desc'
}

export type Conditions = Record<string, () => SQL>

/** The tables of one kind of issuable that filters use. Those of merge requests have the same relevant columns. */
export interface IssuableTables {
  type: 'Issue' | 'MergeRequest'
  issuables: typeof issues
  issuableLabels: Pick<typeof issueLabels, 'label_id' | 'project_id' | 'issue_id'>
}

const user = sql`${sql.placeholder('user')}::bigint`
const value = (name: string) => sql.placeholder(name)
const idOf = (name: string) => sql`(select u.id from ${users} u where lower(u.username) = lower(${value(name)}))`
const idsOf = (name: string) => sql`(select u.id from ${users} u where lower(u.username) = any(${value(name)}::text[]))`
const titled = (name: string) => sql`(select m.id from ${milestones} m where m.title = ${value(name)})`

/** A query of the ids of issuables that have a label for which `where` holds; `l` is the label. */
export const hasLabels = ({ issuableLabels }: IssuableTables, where: SQL) =>
  sql`select ${issuableLabels.issue_id} from ${issuableLabels.issue_id.table} join ${labels} l on l.id = ${issuableLabels.label_id} where ${where}`

/** The SQL condition of each filter. A condition's values are placeholders named after the filter. */
export function conditionsOf(tables: IssuableTables): Conditions {
  const { issuables, type, issuableLabels } = tables
  const hasAnyLabel = sql`exists (select 1 from ${issuableLabels.issue_id.table} where ${issuableLabels.issue_id} = ${issuables.id})`
  const awarded = (where: SQL) => sql`${issuables.id} in (select e.awardable_id from ${awardEmoji} e
    where e.user_id = ${user} and e.awardable_type = ${type} and ${where})`
  return {
    state: () => eq(issuables.state, value('state')),
    labels_any: () => hasAnyLabel,
    labels_none: () => sql`not ${hasAnyLabel}`,
    milestone: () => sql`${issuables.milestone_id} in ${titled('milestone')}`,
    milestone_any: () => sql`${issuables.milestone_id} is not null`,
    milestone_none: () => sql`${issuables.milestone_id} is null`,
    milestone_id: () => eq(issuables.milestone_id, value('milestone_id')),
    milestone_started: () =>
      sql`${issuables.milestone_id} in (select m.id from ${milestones} m where m.start_date <= ${value('milestone_started')}::date)`,
    milestone_upcoming: () => sql`(${issuables.milestone_id} is not null and ${issuables.milestone_id} = (select m.id from ${milestones} m
      join ${projects} p on p.id = m.project_id or p.namespace_id = m.namespace_id
      where p.id = ${issuables.project_id} and m.state = 'active' and m.due_date > ${value('milestone_upcoming')}::date order by m.due_date, m.id limit 1))`,
    author_id: () => eq(issuables.author_id, value('author_id')),
    author_ids: () => sql`${issuables.author_id} = any(${value('author_ids')}::bigint[])`,
    mine: () => sql`${issuables.author_id} = ${user}`,
    for_me: () => sql`${issuables.assignee_id} = ${user}`,
    author_username: () => sql`${issuables.author_id} = ${idOf('author_username')}`,
    author_usernames: () => sql`${issuables.author_id} in ${idsOf('author_usernames')}`,
    assignee_id: () => eq(issuables.assignee_id, value('assignee_id')),
    assignee_ids: () => sql`${issuables.assignee_id} = any(${value('assignee_ids')}::bigint[])`,
    assignee_any: () => sql`${issuables.assignee_id} is not null`,
    assignee_none: () => sql`${issuables.assignee_id} is null`,
    assignee_username: () => sql`${issuables.assignee_id} = ${idOf('assignee_username')}`,
    assignee_usernames: () => sql`${issuables.assignee_id} in ${idsOf('assignee_usernames')}`,
    iids: () => sql`${issuables.iid} = any(${value('iids')}::integer[])`,
    emoji: () => awarded(sql`e.name = ${value('emoji')}`),
    emoji_any: () => awarded(sql`true`),
    emoji_none: () => sql`not ${awarded(sql`true`)}`,
    created_after: () => sql`${issuables.created_at} >= ${value('created_after')}::timestamptz`,
    created_before: () => sql`${issuables.created_at} <= ${value('created_before')}::timestamptz`,
    updated_after: () => sql`${issuables.updated_at} >= ${value('updated_after')}::timestamptz`,
    updated_before: () => sql`${issuables.updated_at} <= ${value('updated_before')}::timestamptz`,
    not_labels: () => sql`${issuables.id} not in (${hasLabels(tables, sql`l.title = any(${value('not_labels')}::text[])`)})`,
    not_milestone: () => sql`coalesce(${issuables.milestone_id} not in ${titled('not_milestone')}, true)`,
    not_author_id: () => sql`${issuables.author_id} <> ${value('not_author_id')}`,
    not_author_ids: () => sql`${issuables.author_id} <> all(${value('not_author_ids')}::bigint[])`,
    not_author_usernames: () => sql`${issuables.author_id} not in ${idsOf('not_author_usernames')}`,
    not_assignee_ids: () => sql`coalesce(${issuables.assignee_id} <> all(${value('not_assignee_ids')}::bigint[]), true)`,
    not_assignee_usernames: () => sql`(${issuables.assignee_id} is null or ${issuables.assignee_id} not in ${idsOf('not_assignee_usernames')})`,
    not_author_username: () => sql`${issuables.author_id} is distinct from ${idOf('not_author_username')}`,
    not_assignee_id: () => sql`${issuables.assignee_id} is distinct from ${value('not_assignee_id')}::bigint`,
    not_assignee_username: () =>
      sql`(${issuables.assignee_id} is null or ${issuables.assignee_id} is distinct from ${idOf('not_assignee_username')})`,
    not_iids: () => sql`${issuables.iid} <> all(${value('not_iids')}::integer[])`,
    not_emoji: () => sql`not ${awarded(sql`e.name = ${value('not_emoji')}`)}`,
  }
}

/** Filters whose results can change while the list's version stays the same, so that totals cannot be cached. */
export const UNCACHEABLE_FILTERS = [
  'milestone',
  'not_milestone',
  'not_labels',
  'updated_after',
  'updated_before',
  'author_username',
  'assignee_username',
  'reviewer_username',
  'approved_by_usernames',
  'author_usernames',
  'assignee_usernames',
  'not_author_username',
  'not_assignee_username',
  'not_author_usernames',
  'not_assignee_usernames',
  'emoji',
  'emoji_any',
  'emoji_none',
  'not_emoji',
  'milestone_started',
  'milestone_upcoming',
]

/** Turns `Any` and `None` into the filters `…_any` and `…_none`; a negated filter swaps them. */
export const anyOrNone = (name: string, given: unknown, negated = false) =>
  given === 'any' || given === 'none' ? { [`${name}_${(given === 'any') !== negated ? 'any' : 'none'}`]: true } : {}

/** A single value uses `name`, whose condition can use an index in list order; several values use the plural. */
const oneOrMore = <T extends string | number>(name: string, given: T[] | 'any' | 'none' | undefined) => {
  if (!Array.isArray(given)) return {}
  const values = [...new Set(given.map((each) => (typeof each === 'string' ? each.toLowerCase() : each)))]
  return values.length === 1 ? { [name]: values[0] } : { [`${name}s`]: values }
}
const titleIn = (given: MilestoneChoice | undefined) => (typeof given === 'object' ? given.title : undefined)
const textIn = (given: string | undefined) => given?.trim() || undefined
const EMOJI_WORDS: Record<string, 'any' | 'none'> = { Any: 'any', None: 'none' }
const emojiIn = (given: string | undefined) => EMOJI_WORDS[given ?? ''] ?? textIn(given)
/** An emoji by its main name (AE-3); an unknown name matches nothing. */
const emojiNameIn = (given: string | undefined) =>
  given === undefined || given === 'any' || given === 'none' ? undefined : (mainEmojiName(given) ?? given)

/** The values of the given filters, by name of the condition; `today` is compared with the dates of milestones. */
export function valuesOf(filter: IssuableFilter, today: string): Record<string, unknown> {
  const { not = {} } = filter
  return {
    state: filter.state === 'all' ? undefined : filter.state,
    mine: filter.scope === 'created_by_me' || undefined,
    for_me: filter.scope === 'assigned_to_me' || undefined,
    ...anyOrNone('labels', filter.labels),
    ...anyOrNone('labels', not.labels, true),
    milestone: titleIn(filter.milestone),
    milestone_started: filter.milestone === 'started' ? today : undefined,
    milestone_upcoming: filter.milestone === 'upcoming' ? today : undefined,
    ...anyOrNone('milestone', filter.milestone),
    ...anyOrNone('milestone', not.milestone, true),
    milestone_id: filter.milestone_id,
    ...oneOrMore('author_id', filter.author_id),
    ...oneOrMore('author_username', filter.author_username),
    ...oneOrMore('assignee_id', filter.assignee_id),
    ...anyOrNone('assignee', filter.assignee_id),
    ...anyOrNone('assignee', not.assignee_id, true),
    ...oneOrMore('assignee_username', filter.assignee_username),
    iids: filter.iids,
    emoji: emojiNameIn(emojiIn(filter.my_reaction_emoji)),
    ...anyOrNone('emoji', emojiIn(filter.my_reaction_emoji)),
    ...anyOrNone('emoji', emojiIn(not.my_reaction_emoji), true),
    created_after: filter.created_after?.toISOString(),
    created_before: filter.created_before?.toISOString(),
    updated_after: filter.updated_after?.toISOString(),
    updated_before: filter.updated_before?.toISOString(),
    not_labels: Array.isArray(not.labels) && not.labels.length > 0 ? not.labels : undefined,
    not_milestone: titleIn(not.milestone),
    ...oneOrMore('not_author_id', not.author_id),
    ...oneOrMore('not_author_username', not.author_username),
    ...oneOrMore('not_assignee_id', not.assignee_id),
    ...oneOrMore('not_assignee_username', not.assignee_username),
    not_iids: not.iids,
    not_emoji: emojiNameIn(emojiIn(not.my_reaction_emoji)),
  }
}
