import { sql } from 'drizzle-orm'
import { type AnyPgColumn, boolean, check, date, index, integer, pgTable, primaryKey, text, uniqueIndex } from 'drizzle-orm/pg-core'
import { id, moment, people, ref } from './columns.js'
import { namespaces } from './namespaces.js'
import { notes } from './notes.js'
import { projects } from './projects.js'
import { users } from './users.js'

/** A label of a project, or of a group for all projects below it. */
export const labels = pgTable(
  'labels',
  {
    id: id(),
    project_id: ref().references(() => projects.id, { onDelete: 'cascade' }),
    namespace_id: ref().references(() => namespaces.id, { onDelete: 'cascade' }),
    title: text().notNull(),
    color: text().notNull(),
    description: text(),
    /** The rendered description, updated with the description. */
    description_html: text().notNull().default(''),
    priority: integer(),
    created_at: moment().notNull(),
    updated_at: moment().notNull(),
  },
  (t) => [
    check('labels_one_source', sql`(${t.project_id} is null) <> (${t.namespace_id} is null)`),
    uniqueIndex('labels_project_id_title_key').on(t.project_id, t.title).where(sql`${t.project_id} is not null`),
    uniqueIndex('labels_namespace_id_title_key').on(t.namespace_id, t.title).where(sql`${t.namespace_id} is not null`),
    index('labels_title_idx').on(t.title),
  ],
)

/** A milestone of a project, or of a group for the projects directly in it (MI-8). */
export const milestones = pgTable(
  'milestones',
  {
    id: id(),
    project_id: ref().references(() => projects.id, { onDelete: 'cascade' }),
    namespace_id: ref().references(() => namespaces.id, { onDelete: 'cascade' }),
    iid: integer().notNull(),
    title: text().notNull(),
    description: text().notNull().default(''),
    state: text({ enum: ['active', 'closed'] })
      .notNull()
      .default('active'),
    start_date: date({ mode: 'string' }),
    due_date: date({ mode: 'string' }),
    created_at: moment().notNull(),
    updated_at: moment().notNull(),
  },
  (t) => [
    check('milestones_one_source', sql`(${t.project_id} is null) <> (${t.namespace_id} is null)`),
    uniqueIndex('milestones_project_id_title_key').on(t.project_id, t.title).where(sql`${t.project_id} is not null`),
    uniqueIndex('milestones_namespace_id_title_key').on(t.namespace_id, t.title).where(sql`${t.namespace_id} is not null`),
    uniqueIndex('milestones_project_id_iid_key').on(t.project_id, t.iid).where(sql`${t.project_id} is not null`),
    uniqueIndex('milestones_namespace_id_iid_key').on(t.namespace_id, t.iid).where(sql`${t.namespace_id} is not null`),
    index('milestones_title_idx').on(t.title),
    index('milestones_updated_at_idx').on(t.updated_at, t.id).where(sql`${t.project_id} is not null`),
  ],
)

/** The last internal id used in a group, like `iid_counters` for projects. */
export const groupIidCounters = pgTable(
  'group_iid_counters',
  {
    namespace_id: ref()
      .notNull()
      .references(() => namespaces.id, { onDelete: 'cascade' }),
    kind: text({ enum: ['milestone'] }).notNull(),
    last: integer().notNull(),
  },
  (t) => [primaryKey({ columns: [t.namespace_id, t.kind] })],
)

export const issues = pgTable(
  'issues',
  {
    id: id(),
    project_id: ref()
      .notNull()
      .references(() => projects.id, { onDelete: 'cascade' }),
    iid: integer().notNull(),
    title: text().notNull(),
    description: text().notNull().default(''),
    state: text({ enum: ['opened', 'closed'] })
      .notNull()
      .default('opened'),
    author_id: ref()
      .notNull()
      .references(() => users.id),
    /** At most one (section 15). */
    assignee_ids: people(),
    milestone_id: ref().references(() => milestones.id, { onDelete: 'set null' }),
    confidential: boolean().notNull().default(false),
    /** Null until the first value is set. */
    discussion_locked: boolean(),
    due_date: date({ mode: 'string' }),
    closed_at: moment(),
    closed_by_id: ref().references(() => users.id, { onDelete: 'set null' }),
    moved_to_id: ref().references((): AnyPgColumn => issues.id, { onDelete: 'set null' }),
    /** Seconds. */
    time_estimate: integer().notNull().default(0),
    total_time_spent: integer().notNull().default(0),
    /** Task list items in the description, and how many of them are checked. */
    task_count: integer().notNull().default(0),
    task_completed_count: integer().notNull().default(0),
    /** Notes by users, without system notes (NT-7). */
    user_notes_count: integer().notNull().default(0),
    upvotes: integer().notNull().default(0),
    downvotes: integer().notNull().default(0),
    merge_requests_count: integer().notNull().default(0),
    created_at: moment().notNull(),
    updated_at: moment().notNull(),
  },
  (t) => [
    uniqueIndex('issues_project_id_iid_key').on(t.project_id, t.iid),
    index('issues_project_id_created_at_idx').on(t.project_id, t.created_at, t.id),
    index('issues_project_id_updated_at_idx').on(t.project_id, t.updated_at, t.id),
    index('issues_project_id_state_idx').on(t.project_id, t.state, t.created_at, t.id),
    index('issues_project_id_due_date_idx').on(t.project_id, t.due_date).where(sql`${t.due_date} is not null`),
    index('issues_project_id_confidential_idx').on(t.project_id, t.author_id).where(sql`${t.confidential}`),
    index('issues_created_at_idx').on(t.created_at, t.id),
    index('issues_updated_at_idx').on(t.updated_at, t.id),
    index('issues_author_id_idx').on(t.author_id, t.created_at, t.id),
    index('issues_assignee_ids_idx').using('gin', t.assignee_ids).with({ fastupdate: false }).where(sql`${t.assignee_ids} <> '{}'`),
    index('issues_milestone_id_idx').on(t.milestone_id, t.created_at, t.id).where(sql`${t.milestone_id} is not null`),
    index('issues_closed_by_id_idx').on(t.closed_by_id).where(sql`${t.closed_by_id} is not null`),
    index('issues_moved_to_id_idx').on(t.moved_to_id).where(sql`${t.moved_to_id} is not null`),
  ],
)

export const issueLabels = pgTable(
  'issue_labels',
  {
    /** The issue's project; the row is deleted with the issue. */
    project_id: ref().notNull(),
    issue_id: ref()
      .notNull()
      .references(() => issues.id, { onDelete: 'cascade' }),
    label_id: ref()
      .notNull()
      .references(() => labels.id, { onDelete: 'cascade' }),
  },
  (t) => [primaryKey({ columns: [t.issue_id, t.label_id] }), index('issue_labels_label_id_idx').on(t.label_id, t.project_id, t.issue_id)],
)

/** What users can subscribe to and be notified about. */
export const TARGETS = ['Issue', 'MergeRequest'] as const

/** That two issues have to do with each other, of one or two projects, in the order in which they were named (PT-20). */
export const issueLinks = pgTable(
  'issue_links',
  {
    id: id(),
    source_id: ref()
      .notNull()
      .references(() => issues.id, { onDelete: 'cascade' }),
    target_id: ref()
      .notNull()
      .references(() => issues.id, { onDelete: 'cascade' }),
    created_at: moment().notNull(),
  },
  (t) => [
    check('issue_links_of_two', sql`${t.source_id} <> ${t.target_id}`),
    uniqueIndex('issue_links_pair_key').on(sql`least(${t.source_id}, ${t.target_id})`, sql`greatest(${t.source_id}, ${t.target_id})`),
    index('issue_links_source_id_idx').on(t.source_id),
    index('issue_links_target_id_idx').on(t.target_id),
  ],
)

/**
 * Explicit choices to get notifications or not; they override participation (SB-1). The code that deletes the target
 * deletes these rows.
 */
export const subscriptions = pgTable(
  'subscriptions',
  {
    /** Null for a label of a group. */
    project_id: ref().references(() => projects.id, { onDelete: 'cascade' }),
    target_type: text({ enum: [...TARGETS, 'Label'] }).notNull(),
    target_id: ref().notNull(),
    user_id: ref()
      .notNull()
      .references(() => users.id, { onDelete: 'cascade' }),
    subscribed: boolean().notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.target_type, t.target_id, t.user_id] }),
    index('subscriptions_user_id_idx').on(t.user_id),
    index('subscriptions_project_id_idx').on(t.project_id),
  ],
)

/** Users mentioned in the text of an issue, merge request or commit, or in a note on it; updated with the text. */
export const mentions = pgTable(
  'mentions',
  {
    id: id(),
    project_id: ref()
      .notNull()
      .references(() => projects.id, { onDelete: 'cascade' }),
    target_type: text({ enum: TARGETS }).notNull(),
    target_id: ref().notNull(),
    /** Null if the mention is in the description or title. */
    note_id: ref().references(() => notes.id, { onDelete: 'cascade' }),
    user_id: ref()
      .notNull()
      .references(() => users.id, { onDelete: 'cascade' }),
  },
  (t) => [
    index('mentions_target_idx').on(t.project_id, t.target_type, t.target_id, t.user_id),
    index('mentions_note_id_idx').on(t.note_id).where(sql`${t.note_id} is not null`),
    index('mentions_user_id_idx').on(t.user_id),
  ],
)

export const TODO_ACTIONS = ['assigned', 'review_requested', 'mentioned', 'build_failed', 'marked', 'unmergeable', 'directly_addressed'] as const

/** A to-do item of a user (TO-5). Its body is that of the note or, without a note, of the target. */
export const todos = pgTable(
  'todos',
  {
    id: id(),
    user_id: ref()
      .notNull()
      .references(() => users.id, { onDelete: 'cascade' }),
    author_id: ref()
      .notNull()
      .references(() => users.id),
    project_id: ref()
      .notNull()
      .references(() => projects.id, { onDelete: 'cascade' }),
    target_type: text({ enum: [...TARGETS, 'Commit'] }).notNull(),
    /** Null for a commit. */
    target_id: ref(),
    commit_id: text(),
    note_id: ref().references(() => notes.id, { onDelete: 'cascade' }),
    action: text({ enum: TODO_ACTIONS }).notNull(),
    state: text({ enum: ['pending', 'done'] })
      .notNull()
      .default('pending'),
    created_at: moment().notNull(),
    updated_at: moment().notNull(),
  },
  (t) => [
    check('todos_one_target', sql`case ${t.target_type} when 'Commit' then ${t.commit_id} is not null else ${t.target_id} is not null end`),
    uniqueIndex('todos_pending_key')
      .on(
        t.user_id,
        t.project_id,
        t.target_type,
        sql`coalesce(${t.target_id}, 0)`,
        sql`coalesce(${t.commit_id}, '')`,
        t.action,
        sql`coalesce(${t.note_id}, 0)`,
      )
      .where(sql`${t.state} = 'pending'`),
    index('todos_user_id_idx').on(t.user_id, t.state, t.id),
    index('todos_target_idx').on(t.project_id, t.target_type, t.target_id),
    index('todos_author_id_idx').on(t.author_id),
    index('todos_note_id_idx').on(t.note_id).where(sql`${t.note_id} is not null`),
  ],
)

/** A board of the issues of a project, or of those in a group. */
export const boards = pgTable(
  'boards',
  {
    id: id(),
    project_id: ref().references(() => projects.id, { onDelete: 'cascade' }),
    namespace_id: ref().references(() => namespaces.id, { onDelete: 'cascade' }),
    name: text().notNull(),
    created_at: moment().notNull(),
    updated_at: moment().notNull(),
  },
  (t) => [
    check('boards_one_source', sql`(${t.project_id} is null) <> (${t.namespace_id} is null)`),
    index('boards_project_id_idx').on(t.project_id, t.id).where(sql`${t.project_id} is not null`),
    index('boards_namespace_id_idx').on(t.namespace_id, t.id).where(sql`${t.namespace_id} is not null`),
  ],
)

/** A list of a board: the issues with its label, of its assignee or of its milestone. */
export const boardLists = pgTable(
  'board_lists',
  {
    id: id(),
    board_id: ref()
      .notNull()
      .references(() => boards.id, { onDelete: 'cascade' }),
    label_id: ref().references(() => labels.id, { onDelete: 'cascade' }),
    user_id: ref().references(() => users.id, { onDelete: 'cascade' }),
    milestone_id: ref().references(() => milestones.id, { onDelete: 'cascade' }),
    position: integer().notNull(),
    created_at: moment().notNull(),
    updated_at: moment().notNull(),
  },
  (t) => [
    check('board_lists_one_kind', sql`num_nonnulls(${t.label_id}, ${t.user_id}, ${t.milestone_id}) = 1`),
    index('board_lists_board_id_idx').on(t.board_id, t.position, t.id),
    uniqueIndex('board_lists_label_id_key').on(t.label_id, t.board_id).where(sql`${t.label_id} is not null`),
    uniqueIndex('board_lists_user_id_key').on(t.user_id, t.board_id).where(sql`${t.user_id} is not null`),
    uniqueIndex('board_lists_milestone_id_key').on(t.milestone_id, t.board_id).where(sql`${t.milestone_id} is not null`),
  ],
)
