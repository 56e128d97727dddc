import { eq, sql } from 'drizzle-orm'
import { decoded } from '../../../db/decoded.js'
import { READ_COLUMNS } from '../../../db/long-text.js'
import {
  events,
  iidCounters,
  issueLabels,
  issues,
  mentions,
  milestones,
  namespaces,
  projects,
  resourceEvents,
  todos,
  userAgentDetails,
  users,
} from '../../../db/schema/index.js'
import { setForTransaction } from '../../../db/sql/names.js'
import { batchStatement } from '../../../db/statement.js'
import { insertCrossReferences } from '../../activity/cross-references.js'
import { type UserRefRecord, userRefColumns, userRefsIn } from '../../identity/user-ref.js'
import { insertMissingLabels, selectLabelsByTitle } from '../labels.js'

const value = (name: string) => sql`${sql.placeholder(name)}`
const id = (name: string) => sql`${sql.placeholder(name)}::bigint`
const ids = (name: string) => sql`${sql.placeholder(name)}::bigint[]`
const now = sql`${sql.placeholder('now')}::timestamptz`

/** Which parts the insert statement has. Parts that are not needed are left out. */
interface Shape {
  /** Whether the caller chose its number. */
  chosenIid: boolean
  /** Whether it has labels, and whether missing ones are created. */
  labels: 'none' | 'known' | 'created'
  milestone: boolean
  assignees: boolean
  /** Whether people are mentioned or get todos. */
  people: boolean
  references: boolean
  /** Whether the address and user agent of the call are known. */
  origin: boolean
}

/**
 * Allocates the next iid, or the chosen one if it is above all iids given so far (SEC-165). Otherwise no iid is
 * allocated, and the insert violates the `not null` constraint.
 */
const nextIid = (chosenIid: boolean) => sql`insert into ${iidCounters} as c (project_id, kind, last)
  values (${id('project')}, 'issue', ${chosenIid ? sql`${value('iid')}::integer` : sql`1`})
  on conflict (project_id, kind) do update set last = ${chosenIid ? sql`excluded.last where c.last < excluded.last` : sql`c.last + 1`} returning last`

const INSERT_ISSUE = sql`insert into ${issues} (project_id, iid, title, description, task_count, task_completed_count, author_id, assignee_ids,
    milestone_id, confidential, due_date, discussion_locked, created_at, updated_at)
  select ${value('project')}, (select last from counter), ${value('title')}, ${value('description')}, ${value('task_count')}, ${value('task_completed_count')},
    ${value('author')}, ${ids('assignees')}, ${value('milestone')}, ${value('confidential')}, ${value('due_date')}, ${value('discussion_locked')}, ${value('created_at')}, ${value('created_at')}
  from (select ${setForTransaction('actor', sql`${value('author')}::text`)}) actor
  returning id, iid`

/** Inserts an issue with everything it entails, and returns what its single view shows beside its own columns. */
export const insertIssue = batchStatement('create an issue', (db, shape: Shape) => {
  const counter = db.$with('counter', {}).as(nextIid(shape.chosenIid))
  const issue = db.$with('issue', {}).as(INSERT_ISSUE)
  const found = db.$with('found', {}).as(selectLabelsByTitle)
  const made = db.$with('made', {}).as(insertMissingLabels)
  const applied = db
    .$with('applied', {})
    .as(sql`select id, title from found ${shape.labels === 'created' ? sql`union all select id, title from made` : sql``}`)
  const labelled = db.$with('labelled', {}).as(sql`insert into ${issueLabels} (project_id, issue_id, label_id)
    select ${id('project')}, issue.id, applied.id from issue, applied order by applied.id`)
  const labelEvents = db
    .$with('label_events', {})
    .as(sql`insert into ${resourceEvents} (project_id, issue_id, kind, user_id, action, label_id, created_at)
    select ${id('project')}, issue.id, 'label', ${id('author')}, 'add', applied.id, ${now} from issue, applied order by applied.id`)
  const milestoneEvent = db
    .$with('milestone_event', {})
    .as(sql`insert into ${resourceEvents} (project_id, issue_id, kind, user_id, action, milestone_id, created_at)
    select ${id('project')}, issue.id, 'milestone', ${id('author')}, 'add', ${id('milestone')}, ${now} from issue`)
  const event = db
    .$with('event', {})
    .as(sql`insert into ${events} (project_id, author_id, action, target_type, target_id, about_type, about_id, created_at)
    select ${value('project')}, ${value('author')}, 'created', 'Issue', id, 'Issue', id, ${now} from issue`)
  const origin = db.$with('origin', {}).as(sql`insert into ${userAgentDetails} (issue_id, user_id, user_agent, ip_address, created_at)
    select id, ${value('author')}, ${value('user_agent')}, ${value('ip_address')}, ${now} from issue`)
  const named = db.$with('named', {}).as(sql`insert into ${mentions} (project_id, target_type, target_id, user_id)
    select ${value('project')}, 'Issue', issue.id, who from issue, unnest(${ids('named')}) who`)
  const notified = db
    .$with('notified', {})
    .as(sql`insert into ${todos} (user_id, author_id, project_id, target_type, target_id, action, created_at, updated_at)
    select who, ${value('author')}, ${value('project')}, 'Issue', issue.id, action, ${now}, ${now}
    from issue, unnest(${ids('notified')}, ${value('actions')}::text[]) as news (who, action) on conflict do nothing`)
  const referred = db.$with('referred', {}).as(insertCrossReferences(value('references'), id('author'), now, sql`(select id from issue)`))
  const optional = [
    ...{ none: [], known: [found, applied, labelled, labelEvents], created: [found, made, applied, labelled, labelEvents] }[shape.labels],
    ...(shape.milestone ? [milestoneEvent] : []),
    ...(shape.origin ? [origin] : []),
    ...(shape.people ? [named, notified] : []),
    ...(shape.references ? [referred] : []),
  ]
  return db
    .with(counter, issue, event, ...optional)
    .select({
      id: decoded(sql<number>`issue.id`, Number),
      iid: sql<number>`issue.iid`,
      author: userRefColumns(users),
      assignees: shape.assignees ? userRefsIn(ids('assignees')) : sql<UserRefRecord[]>`'[]'::json`,
      milestone: READ_COLUMNS.milestones,
      milestone_path: sql<string | null>`(select n.full_path from ${namespaces} n where n.id = ${milestones.namespace_id})`,
      labels:
        shape.labels === 'none' ? sql<string[]>`'[]'::json` : sql<string[]>`(select coalesce(json_agg(title order by title), '[]') from applied)`,
    })
    .from(users)
    .innerJoin(sql`issue`, sql`true`)
    .leftJoin(milestones, shape.milestone ? eq(milestones.id, sql.placeholder('milestone')) : sql`false`)
    .where(eq(users.id, sql.placeholder('author')))
})

/** Counts a new issue on its project. A confidential one does not change `last_activity_at` (SEC-35 over G-86). */
export const countIssue = batchStatement('count a new issue', (db, confidential: boolean) =>
  db
    .update(projects)
    .set(
      confidential
        ? { open_confidential_issues_count: sql`${projects.open_confidential_issues_count} + 1` }
        : { open_issues_count: sql`${projects.open_issues_count} + 1`, last_activity_at: sql`greatest(${projects.last_activity_at}, ${now})` },
    )
    .where(eq(projects.id, sql.placeholder('project'))),
)
