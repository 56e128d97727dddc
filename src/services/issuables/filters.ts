import { eq, type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import type { PgColumn, PgTable } from 'drizzle-orm/pg-core'
import { hasOneOf, hasPerson } from '../../db/conditions.js'
import type { Filters } from '../../db/filters.js'
import { awardEmoji, type issues, labels, type mergeRequests, milestones, projects, users } from '../../db/schema/index.js'
import { dayOf } from '../../lib/text/day.js'
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

/** The fields that a search reads. */
export const FIELDS = ['title', 'description'] as const

export const ORDER_COLUMNS = ['created_at', 'updated_at'] as const
/** The orders of lists: `title` and `merged_at` are those of merge requests, `due_date` that of issues which have one. */
export type IssuableOrder = (typeof ORDER_COLUMNS)[number] | 'title' | 'merged_at' | 'due_date'

/** Filters that lists of issues and of merge requests share. */
export interface IssuableFilter extends NegatableFilters, Paging {
  state: string
  /** Only what the caller opened, only what is assigned to them, only merge requests that they review, or everything. */
  scope: 'created_by_me' | 'assigned_to_me' | 'reviews_for_me' | 'all'
  search?: string | undefined
  in: (typeof FIELDS)[number][]
  /** Whether archived projects are left out. */
  non_archived?: boolean | undefined
  created_after?: Date | undefined
  created_before?: Date | undefined
  updated_after?: Date | undefined
  updated_before?: Date | undefined
  milestone_id?: number | undefined
  /** Only what is in projects directly in this group. */
  directly_in?: number | undefined
  /** Leaves out what has one of these milestones. */
  without_milestones?: number[] | undefined
  not?: NegatableFilters | undefined
  order_by: IssuableOrder
  sort: 'asc' | 'desc'
}

/** A filter, and the time with which dates of milestones and due dates are compared. */
export type At<Filter> = Filter & { now: Date }

type ColumnName =
  | 'project_id'
  | 'iid'
  | 'state'
  | 'title'
  | 'description'
  | 'author_id'
  | 'assignee_ids'
  | 'milestone_id'
  | (typeof ORDER_COLUMNS)[number]

/** The tables of one kind of issuable that filters use. */
export interface IssuableTables {
  type: 'Issue' | 'MergeRequest'
  issuables: PgTable & Record<ColumnName, PgColumn> & { id: typeof issues.id | typeof mergeRequests.id }
  /** The labels of issuables, and their columns. */
  issuableLabels: PgTable & Record<'label_id' | 'project_id', PgColumn>
  labelled_id: PgColumn
}

export const user = sql`${sql.placeholder('user')}::bigint`
export const idOf = (name: SQLWrapper) => sql`(select u.id from ${users} u where lower(u.username) = lower(${name}))`
const idsOf = (names: SQLWrapper) => sql`(select u.id from ${users} u where lower(u.username) = any(${names}::text[]))`
/** The ids of the users with these names, as an array. */
export const idArrayOf = (names: SQLWrapper) => sql`array${idsOf(names)}`
const titled = (title: SQLWrapper) => sql`(select m.id from ${milestones} m where m.title = ${title})`

/** A query of the ids of issuables that have a label for which `where` holds; `l` is the label. */
export const hasLabels = ({ issuableLabels, labelled_id }: IssuableTables, where: SQL) =>
  sql`select ${labelled_id} from ${issuableLabels} join ${labels} l on l.id = ${issuableLabels.label_id} where ${where}`

/** `Any`, or a negated `None`. */
export const any = (given: unknown, negated: unknown) => given === 'any' || negated === 'none' || undefined
/** `None`, or a negated `Any`. */
export const none = (given: unknown, negated: unknown) => given === 'none' || negated === 'any' || undefined

/** Each value once; names in lower case. */
export const distinct = (given: (string | number)[] | 'any' | 'none' | undefined) =>
  Array.isArray(given) ? [...new Set(given.map((each) => (typeof each === 'string' ? each.toLowerCase() : each)))] : undefined
/** The only value. It has a filter of its own, whose condition can use an index in list order. */
const one = (given: Parameters<typeof distinct>[0]) => {
  const values = distinct(given)
  return values?.length === 1 ? values[0] : undefined
}
/** All values unless there is only one. */
const many = (given: Parameters<typeof distinct>[0]) => {
  const values = distinct(given)
  return values?.length === 1 ? undefined : values
}

const titleIn = (given: MilestoneChoice | undefined) => (typeof given === 'object' ? given.title : undefined)
const EMOJI_WORDS: Record<string, 'any' | 'none'> = { Any: 'any', None: 'none' }
const emojiIn = (given: string | undefined) => EMOJI_WORDS[given ?? ''] ?? (given?.trim() || undefined)
/** An emoji by its main name (AE-3); an unknown name matches nothing. */
function emojiNameIn(given: string | undefined) {
  const emoji = emojiIn(given)
  return emoji === undefined || emoji === 'any' || emoji === 'none' ? undefined : (mainEmojiName(emoji) ?? emoji)
}

/** The filters that lists of issues and of merge requests share. */
export function filtersOf(tables: IssuableTables) {
  const { issuables, type, issuableLabels, labelled_id } = tables
  const hasAnyLabel = sql`exists (select 1 from ${issuableLabels} where ${labelled_id} = ${issuables.id})`
  const awarded = (where: SQL) => sql`${issuables.id} in (select e.awardable_id from ${awardEmoji} e
    where e.user_id = ${user} and e.awardable_type = ${type} and ${where})`
  const isStarted = (today: SQLWrapper) => sql`(${issuables.milestone_id} in (select m.id from ${milestones} m where m.start_date <= ${today}::date))`
  const isUpcoming = (
    today: SQLWrapper,
  ) => sql`(${issuables.milestone_id} is not null and ${issuables.milestone_id} = (select m.id from ${milestones} m
    join ${projects} p on p.id = m.project_id or p.namespace_id = m.namespace_id
    where p.id = ${issuables.project_id} and m.state = 'active' and m.due_date > ${today}::date order by m.due_date, m.id limit 1))`
  return {
    state: { where: (state) => eq(issuables.state, state), value: ({ state }) => (state === 'all' ? undefined : state) },
    mine: { where: () => sql`${issuables.author_id} = ${user}`, value: ({ scope }) => scope === 'created_by_me' || undefined },
    for_me: { where: () => hasPerson(issuables.assignee_ids, user), value: ({ scope }) => scope === 'assigned_to_me' || undefined },
    labels_any: { where: () => hasAnyLabel, value: ({ labels, not }) => any(labels, not?.labels) },
    labels_none: { where: () => sql`not ${hasAnyLabel}`, value: ({ labels, not }) => none(labels, not?.labels) },
    milestone: {
      where: (title) => sql`${issuables.milestone_id} in ${titled(title)}`,
      value: ({ milestone }) => titleIn(milestone),
      cacheable: false,
    },
    milestone_any: {
      where: () => sql`${issuables.milestone_id} is not null`,
      value: ({ milestone, not }) => any(milestone, not?.milestone),
    },
    milestone_none: { where: () => sql`${issuables.milestone_id} is null`, value: ({ milestone, not }) => none(milestone, not?.milestone) },
    milestone_id: { where: (id) => eq(issuables.milestone_id, id), value: ({ milestone_id }) => milestone_id },
    milestone_started: {
      where: isStarted,
      value: ({ milestone, now }) => (milestone === 'started' ? dayOf(now) : undefined),
      cacheable: false,
    },
    milestone_upcoming: {
      where: isUpcoming,
      value: ({ milestone, now }) => (milestone === 'upcoming' ? dayOf(now) : undefined),
      cacheable: false,
    },
    not_milestone_started: {
      where: (today) => sql`coalesce(not ${isStarted(today)}, true)`,
      value: ({ not, now }) => (not?.milestone === 'started' ? dayOf(now) : undefined),
      cacheable: false,
    },
    not_milestone_upcoming: {
      where: (today) => sql`coalesce(not ${isUpcoming(today)}, true)`,
      value: ({ not, now }) => (not?.milestone === 'upcoming' ? dayOf(now) : undefined),
      cacheable: false,
    },
    author_id: { where: (id) => eq(issuables.author_id, id), value: ({ author_id }) => one(author_id) },
    author_ids: { where: (ids) => sql`${issuables.author_id} = any(${ids}::bigint[])`, value: ({ author_id }) => many(author_id) },
    author_username: {
      where: (name) => sql`${issuables.author_id} = ${idOf(name)}`,
      value: ({ author_username }) => one(author_username),
      cacheable: false,
    },
    author_usernames: {
      where: (names) => sql`${issuables.author_id} in ${idsOf(names)}`,
      value: ({ author_username }) => many(author_username),
      cacheable: false,
    },
    assignee_id: { where: (id) => hasPerson(issuables.assignee_ids, id), value: ({ assignee_id }) => one(assignee_id) },
    assignee_ids: { where: (ids) => hasOneOf(issuables.assignee_ids, sql`${ids}::bigint[]`), value: ({ assignee_id }) => many(assignee_id) },
    assignee_any: { where: () => sql`${issuables.assignee_ids} <> '{}'`, value: ({ assignee_id, not }) => any(assignee_id, not?.assignee_id) },
    assignee_none: { where: () => sql`${issuables.assignee_ids} = '{}'`, value: ({ assignee_id, not }) => none(assignee_id, not?.assignee_id) },
    assignee_username: {
      where: (name) => hasPerson(issuables.assignee_ids, idOf(name)),
      value: ({ assignee_username }) => one(assignee_username),
      cacheable: false,
    },
    assignee_usernames: {
      where: (names) => hasOneOf(issuables.assignee_ids, idArrayOf(names)),
      value: ({ assignee_username }) => many(assignee_username),
      cacheable: false,
    },
    iids: { where: (iids) => sql`${issuables.iid} = any(${iids}::integer[])`, value: ({ iids }) => iids },
    emoji: {
      where: (name) => awarded(sql`e.name = ${name}`),
      value: ({ my_reaction_emoji }) => emojiNameIn(my_reaction_emoji),
      cacheable: false,
    },
    emoji_any: {
      where: () => awarded(sql`true`),
      value: ({ my_reaction_emoji, not }) => any(emojiIn(my_reaction_emoji), emojiIn(not?.my_reaction_emoji)),
      cacheable: false,
    },
    emoji_none: {
      where: () => sql`not ${awarded(sql`true`)}`,
      value: ({ my_reaction_emoji, not }) => none(emojiIn(my_reaction_emoji), emojiIn(not?.my_reaction_emoji)),
      cacheable: false,
    },
    non_archived: {
      where: () => sql`${issuables.project_id} not in (select p.id from ${projects} p where p.archived)`,
      value: ({ non_archived }) => non_archived || undefined,
      cacheable: false,
    },
    directly_in: {
      where: (group) => sql`${issuables.project_id} in (select p.id from ${projects} p where p.namespace_id = ${group})`,
      value: ({ directly_in }) => directly_in,
      cacheable: false,
    },
    created_after: {
      where: (time) => sql`${issuables.created_at} >= ${time}::timestamptz`,
      value: ({ created_after }) => created_after?.toISOString(),
    },
    created_before: {
      where: (time) => sql`${issuables.created_at} <= ${time}::timestamptz`,
      value: ({ created_before }) => created_before?.toISOString(),
    },
    updated_after: {
      where: (time) => sql`${issuables.updated_at} >= ${time}::timestamptz`,
      value: ({ updated_after }) => updated_after?.toISOString(),
      cacheable: false,
    },
    updated_before: {
      where: (time) => sql`${issuables.updated_at} <= ${time}::timestamptz`,
      value: ({ updated_before }) => updated_before?.toISOString(),
      cacheable: false,
    },
    not_labels: {
      where: (titles) => sql`${issuables.id} not in (${hasLabels(tables, sql`l.title = any(${titles}::text[])`)})`,
      value: ({ not }) => (Array.isArray(not?.labels) && not.labels.length > 0 ? not.labels : undefined),
      cacheable: false,
    },
    not_milestone: {
      where: (title) => sql`coalesce(${issuables.milestone_id} not in ${titled(title)}, true)`,
      value: ({ not }) => titleIn(not?.milestone),
      cacheable: false,
    },
    without_milestones: {
      where: (ids) => sql`coalesce(${issuables.milestone_id} <> all(${ids}::bigint[]), true)`,
      value: ({ without_milestones }) => (without_milestones?.length ? without_milestones : undefined),
    },
    not_author_id: { where: (id) => sql`${issuables.author_id} <> ${id}`, value: ({ not }) => one(not?.author_id) },
    not_author_ids: { where: (ids) => sql`${issuables.author_id} <> all(${ids}::bigint[])`, value: ({ not }) => many(not?.author_id) },
    not_author_username: {
      where: (name) => sql`${issuables.author_id} is distinct from ${idOf(name)}`,
      value: ({ not }) => one(not?.author_username),
      cacheable: false,
    },
    not_author_usernames: {
      where: (names) => sql`${issuables.author_id} not in ${idsOf(names)}`,
      value: ({ not }) => many(not?.author_username),
      cacheable: false,
    },
    not_assignee_id: { where: (id) => sql`not ${hasPerson(issuables.assignee_ids, id)}`, value: ({ not }) => one(not?.assignee_id) },
    not_assignee_ids: {
      where: (ids) => sql`not ${hasOneOf(issuables.assignee_ids, sql`${ids}::bigint[]`)}`,
      value: ({ not }) => many(not?.assignee_id),
    },
    not_assignee_username: {
      where: (name) => sql`not ${hasPerson(issuables.assignee_ids, idOf(name))}`,
      value: ({ not }) => one(not?.assignee_username),
      cacheable: false,
    },
    not_assignee_usernames: {
      where: (names) => sql`not ${hasOneOf(issuables.assignee_ids, idArrayOf(names))}`,
      value: ({ not }) => many(not?.assignee_username),
      cacheable: false,
    },
    not_iids: { where: (iids) => sql`${issuables.iid} <> all(${iids}::integer[])`, value: ({ not }) => not?.iids },
    not_emoji: {
      where: (name) => sql`not ${awarded(sql`e.name = ${name}`)}`,
      value: ({ not }) => emojiNameIn(not?.my_reaction_emoji),
      cacheable: false,
    },
  } satisfies Filters<At<IssuableFilter>>
}
