import { sql } from 'drizzle-orm'
import { check, index, pgTable, text } from 'drizzle-orm/pg-core'
import { id, moment, ref } from './columns.js'
import { issues, labels, milestones } from './issues.js'
import { mergeRequests } from './merge-requests.js'
import { projects } from './projects.js'
import { users } from './users.js'

/** That a label or milestone was set or removed, or the state changed, on an issue or merge request (EV-700). */
export const resourceEvents = pgTable(
  'resource_events',
  {
    id: id(),
    project_id: ref()
      .notNull()
      .references(() => projects.id, { onDelete: 'cascade' }),
    issue_id: ref().references(() => issues.id, { onDelete: 'cascade' }),
    merge_request_id: ref().references(() => mergeRequests.id, { onDelete: 'cascade' }),
    kind: text({ enum: ['label', 'milestone', 'state'] }).notNull(),
    user_id: ref()
      .notNull()
      .references(() => users.id),
    /** Of a label or milestone. */
    action: text({ enum: ['add', 'remove'] }),
    /** Null: the label is deleted. */
    label_id: ref().references(() => labels.id, { onDelete: 'set null' }),
    milestone_id: ref().references(() => milestones.id, { onDelete: 'cascade' }),
    /** What the state became. */
    state: text({ enum: ['closed', 'reopened', 'merged'] }),
    created_at: moment().notNull(),
  },
  (t) => [
    check('resource_events_one_subject', sql`num_nonnulls(${t.issue_id}, ${t.merge_request_id}) = 1`),
    check('resource_events_whole', sql`case when ${t.kind} = 'state' then ${t.state} is not null else ${t.action} is not null end`),
    index('resource_events_project_id_idx').on(t.project_id),
    index('resource_events_issue_id_idx').on(t.issue_id, t.kind, t.id).where(sql`${t.issue_id} is not null`),
    index('resource_events_merge_request_id_idx').on(t.merge_request_id, t.kind, t.id).where(sql`${t.merge_request_id} is not null`),
    index('resource_events_user_id_idx').on(t.user_id),
    index('resource_events_label_id_idx').on(t.label_id).where(sql`${t.label_id} is not null`),
    index('resource_events_milestone_id_idx').on(t.milestone_id).where(sql`${t.milestone_id} is not null`),
  ],
)
