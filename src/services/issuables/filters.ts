import { eq, type SQL, sql } from 'drizzle-orm'
import { awardEmoji, type issueLabels, type issues, labels, milestones, projects, users } from '../../db/schema/index.js'
import { mainEmojiName } from '../../lib/text/emoji.js'
import type { Paging } from '../core/page.js'

/** User ids of which one must match, or `any`, or `none`. */
export type Assignees = number[] | 'any' | 'none'

/** A milestone by its title, or any, none, the one due next in each project, or those that have started (MR-17). */
export type MilestoneWanted = { title: string } | 'any' | 'none' | 'upcoming' | 'started'

/** Filters that `not[…]` accepts as well. */
export interface Traits {
  labels?: string[] | 'any' | 'none' | undefined
  milestone?: MilestoneWanted | undefined
  author_id?: number[] | undefined
  author_username?: string[] | undefined
  assignee_id?: Assignees | undefined
  assignee_username?: string[] | undefined
  iids?: number[] | undefined
  my_reaction_emoji?: string | undefined
}

export const ORDERS = ['created_at', 'updated_at'] as const

/** Filters that lists of issues and of merge requests share. */
export interface IssuableFilter extends Traits, Paging {
  state: string
  /** Only what the caller opened, or what is assigned to them. */
  scope: 'created_by_me' | 'assigned_to_me' | 'all'
  search?: string | undefined
  in: ('title' | 'description')[]
  created_after?: Date | undefined
  created_before?: Date | undefined
  updated_after?: Date | undefined
  updated_before?: Date | undefined
  milestone_id?: number | undefined
  not?: Traits | undefined
  order_by: (typeof ORDERS)[number]
  sort: 'asc' | 'desc'
}

export type Conditions = Record<string, () => SQL>

/** The tables of one kind of thing, as far as filters use them. */
export interface Tables {
  type: 'Issue' | 'MergeRequest'
  thing: typeof issues
  labelling: Pick<typeof issueLabels, 'label_id' | 'project_id' | 'issue_id'>
}

const user = sql`${sql.placeholder('user')}::bigint`
const value = (name: string) => sql.placeholder(name)
const idOf = (name: string) => sql`(select u.id from ${users} u where lower(u.username) = lower(${value(name)}))`
const idsOf = (name: string) => sql`(select u.id from ${users} u where lower(u.username) = any(${value(name)}::text[]))`
const titled = (name: string) => sql`(select m.id from ${milestones} m where m.title = ${value(name)})`

/** Ids of the things with labels for which `where` holds; `l` is the label. */
export const hasLabels = ({ labelling }: Tables, where: SQL) =>
  sql`select ${labelling.issue_id} from ${labelling.issue_id.table} join ${labels} l on l.id = ${labelling.label_id} where ${where}`

/** The condition of each filter; its values are placeholders of the same name. */
export function conditionsOf(tables: Tables): Conditions {
  const { thing, type, labelling } = tables
  const wears = sql`exists (select 1 from ${labelling.issue_id.table} where ${labelling.issue_id} = ${thing.id})`
  const awarded = (where: SQL) => sql`${thing.id} in (select e.awardable_id from ${awardEmoji} e
    where e.user_id = ${user} and e.awardable_type = ${type} and ${where})`
  return {
    state: () => eq(thing.state, value('state')),
    labels_any: () => wears,
    labels_none: () => sql`not ${wears}`,
    milestone: () => sql`${thing.milestone_id} in ${titled('milestone')}`,
    milestone_any: () => sql`${thing.milestone_id} is not null`,
    milestone_none: () => sql`${thing.milestone_id} is null`,
    milestone_id: () => eq(thing.milestone_id, value('milestone_id')),
    milestone_started: () =>
      sql`${thing.milestone_id} in (select m.id from ${milestones} m where m.start_date <= ${value('milestone_started')}::date)`,
    milestone_upcoming: () => sql`(${thing.milestone_id} is not null and ${thing.milestone_id} = (select m.id from ${milestones} m
      join ${projects} p on p.id = m.project_id or p.namespace_id = m.namespace_id
      where p.id = ${thing.project_id} and m.state = 'active' and m.due_date > ${value('milestone_upcoming')}::date order by m.due_date, m.id limit 1))`,
    author_id: () => eq(thing.author_id, value('author_id')),
    author_ids: () => sql`${thing.author_id} = any(${value('author_ids')}::bigint[])`,
    mine: () => sql`${thing.author_id} = ${user}`,
    for_me: () => sql`${thing.assignee_id} = ${user}`,
    author_username: () => sql`${thing.author_id} = ${idOf('author_username')}`,
    author_usernames: () => sql`${thing.author_id} in ${idsOf('author_usernames')}`,
    assignee_id: () => eq(thing.assignee_id, value('assignee_id')),
    assignee_ids: () => sql`${thing.assignee_id} = any(${value('assignee_ids')}::bigint[])`,
    assignee_any: () => sql`${thing.assignee_id} is not null`,
    assignee_none: () => sql`${thing.assignee_id} is null`,
    assignee_username: () => sql`${thing.assignee_id} = ${idOf('assignee_username')}`,
    assignee_usernames: () => sql`${thing.assignee_id} in ${idsOf('assignee_usernames')}`,
    iids: () => sql`${thing.iid} = any(${value('iids')}::integer[])`,
    emoji: () => awarded(sql`e.name = ${value('emoji')}`),
    emoji_any: () => awarded(sql`true`),
    emoji_none: () => sql`not ${awarded(sql`true`)}`,
    created_after: () => sql`${thing.created_at} >= ${value('created_after')}::timestamptz`,
    created_before: () => sql`${thing.created_at} <= ${value('created_before')}::timestamptz`,
    updated_after: () => sql`${thing.updated_at} >= ${value('updated_after')}::timestamptz`,
    updated_before: () => sql`${thing.updated_at} <= ${value('updated_before')}::timestamptz`,
    not_labels: () => sql`${thing.id} not in (${hasLabels(tables, sql`l.title = any(${value('not_labels')}::text[])`)})`,
    not_milestone: () => sql`coalesce(${thing.milestone_id} not in ${titled('not_milestone')}, true)`,
    not_author_id: () => sql`${thing.author_id} <> ${value('not_author_id')}`,
    not_author_ids: () => sql`${thing.author_id} <> all(${value('not_author_ids')}::bigint[])`,
    not_author_usernames: () => sql`${thing.author_id} not in ${idsOf('not_author_usernames')}`,
    not_assignee_ids: () => sql`coalesce(${thing.assignee_id} <> all(${value('not_assignee_ids')}::bigint[]), true)`,
    not_assignee_usernames: () => sql`(${thing.assignee_id} is null or ${thing.assignee_id} not in ${idsOf('not_assignee_usernames')})`,
    not_author_username: () => sql`${thing.author_id} is distinct from ${idOf('not_author_username')}`,
    not_assignee_id: () => sql`${thing.assignee_id} is distinct from ${value('not_assignee_id')}::bigint`,
    not_assignee_username: () => sql`(${thing.assignee_id} is null or ${thing.assignee_id} is distinct from ${idOf('not_assignee_username')})`,
    not_iids: () => sql`${thing.iid} <> all(${value('not_iids')}::integer[])`,
    not_emoji: () => sql`not ${awarded(sql`e.name = ${value('not_emoji')}`)}`,
  }
}

/** Filters whose results change without a change of the list's version, such as titles of milestones. */
export const UNKEPT = [
  'milestone',
  'not_milestone',
  'not_labels',
  'updated_after',
  'updated_before',
  'author_username',
  'assignee_username',
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

/** `None` and `Any` become filters of their own; negated, they swap. */
const anyOrNone = (name: string, given: unknown, negated = false) =>
  given === 'any' || given === 'none' ? { [`${name}_${(given === 'any') !== negated ? 'any' : 'none'}`]: true } : {}

/** A single value has a condition of its own, which an index can answer in order; several have that of the plural. */
const oneOrMore = <T extends string | number>(name: string, given: T[] | 'any' | 'none' | undefined) => {
  if (!Array.isArray(given)) return {}
  const values = [...new Set(given.map((each) => (typeof each === 'string' ? each.toLowerCase() : each)))]
  return values.length === 1 ? { [name]: values[0] } : { [`${name}s`]: values }
}
const titleIn = (given: MilestoneWanted | undefined) => (typeof given === 'object' ? given.title : undefined)
const textIn = (given: string | undefined) => given?.trim() || undefined
const EMOJI_WORDS: Record<string, 'any' | 'none'> = { Any: 'any', None: 'none' }
const emojiIn = (given: string | undefined) => EMOJI_WORDS[given ?? ''] ?? textIn(given)
/** An emoji by its main name (AE-3); an unknown name matches nothing. */
const named = (given: string | undefined) =>
  given === undefined || given === 'any' || given === 'none' ? undefined : (mainEmojiName(given) ?? given)

/** The given filters with their values; `today` is the day that milestones are compared with. */
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
    emoji: named(emojiIn(filter.my_reaction_emoji)),
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
    not_emoji: named(emojiIn(not.my_reaction_emoji)),
  }
}
