import { sql } from 'drizzle-orm'
import { check, index, jsonb, pgTable, text } from 'drizzle-orm/pg-core'
import { id, moment, ref } from './columns.js'
import { issues, labels, milestones } from './issues.js'
import { mergeRequests } from './merge-requests.js'
import { projects } from './projects.js'
import { users } from './users.js'

/**
 * The names by which lists of events are filtered; `actionName` of the entity turns them into the displayed names
 * (EV-5).
 */
export const EVENT_ACTIONS = [
  'created',
  'updated',
  'closed',
  'reopened',
  'pushed',
  'commented',
  'merged',
  'approved',
  'joined',
  'left',
  'destroyed',
  'expired',
] as const

export const EVENT_TARGETS = ['Issue', 'MergeRequest', 'Milestone', 'Note', 'DiffNote', 'DiscussionNote', 'Snippet', 'Project', 'User'] as const

/** Targets that are hidden from some of the users who can see the project. */
export const EVENT_SUBJECTS = ['Commit', 'Issue', 'MergeRequest', 'Snippet'] as const

/** The ref that a push updated, and the number of commits; `commit_title` is null if the ref was deleted. */
export interface PushData {
  commit_count: number
  action: 'created' | 'removed' | 'pushed'
  ref_type: 'branch' | 'tag'
  commit_from: string | null
  commit_to: string | null
  ref: string
  commit_title: string | null
}

/** An event of a project. Rows never change, and are deleted when they are old. */
export const events = pgTable(
  'events',
  {
    id: id(),
    project_id: ref()
      .notNull()
      .references(() => projects.id, { onDelete: 'cascade' }),
    author_id: ref()
      .notNull()
      .references(() => users.id),
    action: text({ enum: EVENT_ACTIONS }).notNull(),
    target_type: text({ enum: EVENT_TARGETS }),
    target_id: ref(),
    /** Set only for targets whose title never changes, such as commits. */
    target_title: text(),
    push: jsonb().$type<PushData>(),
    /**
     * The subject of the event or of its note: only users who can see it are shown the event (EV-4). Null: visible to
     * all.
     */
    about_type: text({ enum: EVENT_SUBJECTS }),
    /** Null for a commit. */
    about_id: ref(),
    created_at: moment().notNull(),
  },
  (t) => [
    check('events_push_data', sql`(${t.action} = 'pushed') = (${t.push} is not null)`),
    check(
      'events_about',
      sql`case when ${t.action} = 'pushed' then ${t.about_type} is not distinct from 'Commit'
        when ${t.target_type} in ('Issue', 'MergeRequest', 'Snippet') then (${t.about_type}, ${t.about_id}) is not distinct from (${t.target_type}, ${t.target_id})
        else true end`,
    ),
    // index-only scans count the lists
    index('events_project_id_created_at_idx').on(t.project_id, t.created_at, t.id, t.about_type, t.about_id),
    index('events_target_idx').on(t.target_type, t.target_id).where(sql`${t.target_id} is not null`),
    index('events_author_id_created_at_idx').on(t.author_id, t.created_at, t.id, t.project_id, t.about_type, t.about_id),
  ],
)

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
