import { type SQL, sql } from 'drizzle-orm'
import { groupMembers, membershipCounts, shareCounts } from '../../access/roles.js'
import type { Context } from '../../context.js'
import {
  emails,
  issueLabels,
  issues,
  members,
  mentions,
  mergeRequestLabels,
  mergeRequests,
  namespaceAncestry,
  namespaces,
  notes,
  notificationSettings,
  pipelines,
  projectShares,
  projects,
  snippets,
  subscriptions,
  users,
} from '../../db/schema/index.js'
import type { NotificationLevel } from '../../rules/notifications.js'
import { findMentionedUsers, mentionedNames } from '../activity/mentions.js'
import { findActiveUser } from '../identity/acting-users.js'
import { repositoryOf } from '../repository/repositories.js'
import type { Notification, Reason } from './notification.js'
import { REASONS, settingOf } from './notification.js'
import type { NotificationWithMentions } from './notifications.js'

export interface Recipient {
  user: number
  reason: Reason
}

/** The most mails of one event (ML-9). */
const MAX_RECIPIENTS = 1_000
/** The most candidates that are considered, those with the strongest reasons first. */
const MAX_CANDIDATES = 10 * MAX_RECIPIENTS

/** A reason, and a query of the ids of users who have it. */
type ReasonQuery = [reason: Reason, userIds: SQL]
type ProjectRow = Pick<typeof projects.$inferSelect, 'id' | 'namespace_id' | 'storage'>

/**
 * The recipients, each with their strongest reason (ML-2 to ML-9). Whether they see the target is checked on sending.
 */
export async function recipientsOf(ctx: Context, { notification, newMentions }: NotificationWithMentions): Promise<Recipient[]> {
  const [project] = await ctx.db.write
    .select({ id: projects.id, namespace_id: projects.namespace_id, storage: projects.storage })
    .from(projects)
    .where(sql`${projects.id} = ${notification.project}`)
  if (!project) return []
  const groups = await groupsAbove(ctx, project.namespace_id)
  if (await isSilenced(ctx, project.id, groups)) return []
  const queries = [...(await reasonQueries(ctx, project, notification, newMentions)), ...watcherQueries(project, groups, notification)]
  if (queries.length === 0) return []
  const found = (await loadCandidates(ctx, project, groups, notification, queries)).flatMap((person) => reasonFor(person, notification) ?? [])
  if (found.length > MAX_RECIPIENTS)
    ctx.log.warn({ project: project.id, event: notification.event, people: found.length }, 'an event concerns too many people: not all are mailed')
  return found.sort((a, b) => REASONS.indexOf(a.reason) - REASONS.indexOf(b.reason)).slice(0, MAX_RECIPIENTS)
}

/** The group of a project and its ancestors, nearest first. */
async function groupsAbove({ db }: Context, namespaceId: number): Promise<number[]> {
  const { rows } = await db.write.execute<{ id: string }>(sql`select a.ancestor_id as id from ${namespaceAncestry} a
    where a.descendant_id = ${namespaceId}
    order by (select count(*) from ${namespaceAncestry} above where above.descendant_id = a.ancestor_id) desc`)
  return rows.map(({ id }) => Number(id))
}

/** Whether the project, its group or one above it has `emails_disabled` (PR-45, GR-53). */
async function isSilenced({ db }: Context, project: number, groups: number[]): Promise<boolean> {
  const { rows } = await db.write.execute(sql`select 1 from ${projects} where ${projects.id} = ${project} and ${projects.emails_disabled}
    union all select 1 from ${namespaces} where ${namespaces.id} = any(${array(groups)}) and ${namespaces.emails_disabled} limit 1`)
  return rows.length > 0
}

const oneOf = (ids: (number | null)[]) => sql`(select unnest(${sql.param(ids.filter((id) => id !== null))}::bigint[]) as user_id)`
const array = (ids: number[]) => sql`${sql.param(ids)}::bigint[]`

/** The queries for users who are related to the target. */
async function reasonQueries(ctx: Context, project: ProjectRow, notification: Notification, newMentions: string[]): Promise<ReasonQuery[]> {
  switch (notification.target) {
    case 'Issue':
    case 'MergeRequest':
      return issuableQueries(ctx, notification, newMentions)
    case 'Pipeline':
      return [
        [
          'own_pipeline',
          sql`(select p.user_id from ${pipelines} p where p.id = ${notification.id}
          union select r.author_id from ${mergeRequests} r where r.head_pipeline_id = ${notification.id} and r.state = 'opened' and r.deleted_at is null)`,
        ],
      ]
    case 'Release':
      return []
    default:
      return noteQueries(ctx, project, notification)
  }
}

/** The active users with these names, and the members of groups with these names that the author sees. */
async function usersNamed(ctx: Context, actor: number | null, names: string[]): Promise<number[]> {
  const caller = actor === null ? null : await findActiveUser(ctx, actor)
  if (!caller || names.length === 0) return []
  const active = async (condition: SQL) => {
    const { rows } = await ctx.db.write.execute<{ id: string }>(
      sql`select u.id from ${users} u where ${condition} and u.state = 'active' limit ${MAX_RECIPIENTS}`,
    )
    return rows.map(({ id }) => Number(id))
  }
  return (await findMentionedUsers(caller, { all: names, direct: [] }, active)).users
}

async function issuableQueries(ctx: Context, notification: Notification, newMentions: string[]): Promise<ReasonQuery[]> {
  const { event, target, id, project, actor, note, people } = notification
  const thing = target === 'Issue' ? issues : mergeRequests
  const about = sql`project_id = ${project} and target_type = ${target} and target_id = ${id}`
  const labelSubscribers = (which: SQL): ReasonQuery => [
    'label_subscribed',
    sql`(select s.user_id from ${subscriptions} s where s.target_type = 'Label' and s.target_id in ${which} and s.subscribed)`,
  ]
  const isNew = event === 'new_issue' || event === 'new_merge_request'
  const inNotes = event === 'review' ? sql`note_id = any(${array(notification.notes)})` : sql`note_id is not distinct from ${note}::bigint`
  const mentioned: ReasonQuery = ['mentioned', sql`(select user_id from ${mentions} where ${about} and ${inNotes})`]
  const assigned: ReasonQuery = [
    'assigned',
    isNew ? sql`(select unnest(t.assignee_ids) as user_id from ${thing} t where t.id = ${id})` : oneOf(people),
  ]
  const reviewers = target === 'Issue' ? sql`` : sql`union select unnest(t.reviewer_ids) from ${thing} t where t.id = ${id}`
  const reviewing: ReasonQuery = [
    'review_requested',
    isNew ? sql`(select unnest(t.reviewer_ids) as user_id from ${mergeRequests} t where t.id = ${id})` : oneOf(people),
  ]
  if (event === 'relabel') return [labelSubscribers(sql`(select unnest(${array(notification.labels)}))`)]
  if (event === 'mention') return [['mentioned', oneOf(await usersNamed(ctx, actor, newMentions))]]
  const [table, key] = target === 'Issue' ? [issueLabels, sql`issue_id`] : [mergeRequestLabels, sql`merge_request_id`]
  return [
    ['subscribed', sql`(select s.user_id from ${subscriptions} s where s.target_type = ${target} and s.target_id = ${id} and s.subscribed)`],
    [
      'participating',
      sql`(select t.author_id as user_id from ${thing} t where t.id = ${id} union select unnest(t.assignee_ids) from ${thing} t where t.id = ${id}
        ${reviewers} union select n.author_id from ${notes} n where n.project_id = ${project} and n.noteable_type = ${target} and n.noteable_id = ${id}
          and n.mentioned_in_type is null
        union select user_id from ${mentions} where ${about})`,
    ],
    ...(isNew || event === 'new_note' || event === 'review' ? [mentioned] : []),
    ...(isNew || event.startsWith('reassign_') ? [assigned] : []),
    ...(event === 'new_merge_request' || event === 'change_reviewer_merge_request' ? [reviewing] : []),
    ...(isNew ? [labelSubscribers(sql`(select label_id from ${table} where ${key} = ${id})`)] : []),
  ]
}

/** The queries for notes on commits and snippets, which have no subscriptions. */
async function noteQueries(ctx: Context, project: ProjectRow, { target, id, sha, note, actor }: Notification): Promise<ReasonQuery[]> {
  const [row] = (await ctx.db.write.execute<{ note: string }>(sql`select note from ${notes} where id = ${note}`)).rows
  if (!row) return []
  const mentioned: ReasonQuery = ['mentioned', oneOf(await usersNamed(ctx, actor, (await mentionedNames(ctx.cpu.slices, row.note)).all))]
  const noteAuthors = (about: SQL) =>
    sql`select n.author_id as user_id from ${notes} n where n.project_id = ${project.id} and n.noteable_type = ${target} and ${about} and not n.system`
  if (target === 'Snippet')
    return [
      mentioned,
      ['participating', sql`(${noteAuthors(sql`n.noteable_id = ${id}`)} union select s.author_id from ${snippets} s where s.id = ${id})`],
    ]
  const author = (await repositoryOf(ctx, project).commit(sha ?? ''))?.author.email.trim().toLowerCase() ?? ''
  return [
    mentioned,
    [
      'participating',
      sql`(${noteAuthors(sql`n.commit_id = ${sha}`)}
        union select u.id from ${users} u where lower(u.email) = ${author} and u.confirmed_at is not null
        union select e.user_id from ${emails} e where lower(e.email) = ${author} and e.confirmed_at is not null)`,
    ],
  ]
}

/** The queries for users who watch the project or have switched the event on (ML-3, ML-5). */
function watcherQueries(project: ProjectRow, groups: number[], { event, target }: Notification): ReasonQuery[] {
  // results of pipelines are mailed to their owners only
  if (event === 'mention' || event === 'relabel' || target === 'Pipeline') return []
  const among = sql`select m.user_id from ${members} m where m.project_id = ${project.id} and ${membershipCounts}
    union select m.user_id from ${groupMembers} m where m.namespace_id = any(${array(groups)}) and ${membershipCounts}
    union select n.owner_id from ${namespaces} n where n.id = ${project.namespace_id}
    union select m.user_id from ${projectShares} s join ${namespaceAncestry} a on a.descendant_id = s.group_id
      join ${members} m on m.namespace_id = a.ancestor_id where s.project_id = ${project.id} and ${shareCounts} and ${membershipCounts}`
  const wanting = (level: SQL) => sql`(select s.user_id from ${notificationSettings} s where ${level}
    and (s.project_id = ${project.id} or s.namespace_id = any(${array(groups)})
      or s.project_id is null and s.namespace_id is null and s.user_id in (${among})))`
  const custom: ReasonQuery = ['custom', wanting(sql`s.level = 'custom' and ${settingOf({ event })} = any(s.events)`)]
  return target === 'Release' ? [custom] : [['watching', wanting(sql`s.level = 'watch'`)], custom]
}

interface Candidate {
  user: number
  reasons: Reason[]
  level: NotificationLevel
  events: string[]
  /** Explicit subscription to the target; null: no choice. */
  subscribed: boolean | null
}

/** The active users that the queries find, with their effective setting for the project (ML-2). */
async function loadCandidates(
  ctx: Context,
  project: ProjectRow,
  groups: number[],
  { target, id, actor }: Notification,
  queries: ReasonQuery[],
): Promise<Candidate[]> {
  const all = sql.join(
    queries.map(([reason, people]) => sql`select w.user_id, ${reason}::text as reason, ${REASONS.indexOf(reason)}::int as rank from ${people} w`),
    sql` union all `,
  )
  // in SQL: the union depends on the event, and the builder's has a fixed number of parts
  const { rows } = await ctx.db.write.execute<Omit<Candidate, 'user'> & { user_id: string }>(sql`with people as (
      select w.user_id, array_agg(distinct w.reason) as reasons, min(w.rank) as rank from (${all}) w
      join ${users} u on u.id = w.user_id and u.state = 'active' and u.kind = 'human'
      where w.user_id is distinct from ${target === 'Pipeline' ? null : actor}::bigint
      group by w.user_id order by min(w.rank), w.user_id limit ${MAX_CANDIDATES})
    select p.user_id, p.reasons, coalesce(s.level, 'participating') as level, coalesce(s.events, '{}') as events, x.subscribed from people p
    left join lateral (select n.level, n.events from ${notificationSettings} n
      where n.user_id = p.user_id and n.level <> 'global' and (n.project_id = ${project.id}
        or n.project_id is null and (n.namespace_id is null or n.namespace_id = any(${array(groups)})))
      order by case when n.project_id is not null then 0 else coalesce(array_position(${array(groups)}, n.namespace_id), 1000000) end limit 1) s on true
    left join ${subscriptions} x on x.target_type = ${target} and x.target_id = ${id}::bigint and x.user_id = p.user_id
    order by p.rank, p.user_id`)
  return rows.map((row) => ({ ...row, user: Number(row.user_id) }))
}

/** The strongest reason for which the candidate's settings allow the mail; null: none does (ML-3, ML-4). */
function reasonFor({ user, reasons, level, events, subscribed }: Candidate, notification: Notification): Recipient | null {
  if (subscribed === false) return null
  const event = settingOf(notification)
  const wants: Record<Reason, boolean> = {
    subscribed: true,
    label_subscribed: true,
    assigned: level !== 'disabled',
    review_requested: level !== 'disabled',
    mentioned: level !== 'disabled',
    participating: ['participating', 'watch', 'custom'].includes(level),
    watching: level === 'watch',
    custom: level === 'custom' && events.includes(event),
    own_pipeline: (event === 'failed_pipeline' && ['participating', 'watch'].includes(level)) || (level === 'custom' && events.includes(event)),
  }
  const reason = REASONS.find((one) => reasons.includes(one) && wants[one])
  return reason === undefined ? null : { user, reason }
}
