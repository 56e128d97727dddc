import { sql } from 'drizzle-orm'
import { type AnyPgColumn, bigint, boolean, index, integer, pgTable, primaryKey, text, uniqueIndex } from 'drizzle-orm/pg-core'
import { id, moment, people, ref } from './columns.js'
import { issues, labels, milestones } from './issues.js'
import { pipelines } from './pipelines.js'
import { projects } from './projects.js'
import { users } from './users.js'

/**
 * A merge request; it belongs to the project of the target branch. Git data that lists and views show is stored in the
 * row (MR-5, MR-7, MR-8).
 */
export const mergeRequests = pgTable(
  'merge_requests',
  {
    id: id(),
    /** The target project. */
    project_id: ref()
      .notNull()
      .references(() => projects.id, { onDelete: 'cascade' }),
    iid: integer().notNull(),
    /** Null if the fork was deleted. */
    source_project_id: ref().references(() => projects.id, { onDelete: 'set null' }),
    /** The same id, kept when the fork is deleted: the displayed id is never null (G-90), and ids are never reused. */
    original_source_project_id: ref().notNull(),
    source_branch: text().notNull(),
    target_branch: text().notNull(),
    title: text().notNull(),
    description: text().notNull().default(''),
    state: text({ enum: ['opened', 'closed', 'merged'] })
      .notNull()
      .default('opened'),
    author_id: ref()
      .notNull()
      .references(() => users.id),
    assignee_ids: people(),
    reviewer_ids: people(),
    /** When each of the reviewers was asked, in their order. */
    reviews_requested_at: moment().array().notNull().default(sql`'{}'`),
    milestone_id: ref().references(() => milestones.id, { onDelete: 'set null' }),
    merge_status: text({ enum: ['unchecked', 'can_be_merged', 'cannot_be_merged'] })
      .notNull()
      .default('unchecked'),
    /**
     * Incremented when `merge_status` becomes unknown; the result of a check is stored only if this has not changed
     * since the check began.
     */
    merge_checks: integer().notNull().default(0),
    /** Set when the target branch has moved in a way that needs a new version (MR-72). */
    version_due: boolean().notNull().default(false),
    /** The user who requested a rebase, while the source branch is being rebased. */
    rebase_user_id: ref().references(() => users.id, { onDelete: 'set null' }),
    /** Why the last merge or rebase in the background failed. */
    merge_error: text(),
    /** Whether the target branch has commits that the source branch lacks; known when `merge_status` is. */
    behind_target: boolean().notNull().default(false),
    /** The newest version, its head and the number of files it changes: null and `0` before the first version. */
    version_id: ref().references((): AnyPgColumn => mergeRequestVersions.id, { onDelete: 'set null' }),
    sha: text(),
    changes_count: text().notNull().default('0'),
    head_pipeline_id: ref().references(() => pipelines.id, { onDelete: 'set null' }),
    /** A deferred merge (MR-65): the user who requested it, and their commit messages. */
    merge_when_pipeline_succeeds: boolean().notNull().default(false),
    merge_user_id: ref().references(() => users.id, { onDelete: 'set null' }),
    merge_commit_message: text(),
    squash_commit_message: text(),
    /** As requested with the merge, immediate or deferred; null if not given. */
    should_remove_source_branch: boolean(),
    /** As requested when the merge request was created or updated. */
    force_remove_source_branch: boolean().notNull().default(false),
    squash: boolean().notNull().default(false),
    allow_collaboration: boolean().notNull().default(false),
    /** Set when its texts, target or commits have changed and `merge_request_issues` is not up to date yet. */
    links_due: boolean().notNull().default(true),
    /** Null until the first value is set. */
    discussion_locked: boolean(),
    /** Null until it is merged, and also when a push merged it (MR-6) or the target was fast-forwarded (MR-95). */
    merge_commit_sha: text(),
    /** The single commit that the API merged in place of the commits of the source (MR-96). */
    squash_commit_sha: text(),
    /** The head of the source that the API merged. */
    merged_head_sha: text(),
    merged_by_id: ref().references(() => users.id, { onDelete: 'set null' }),
    merged_at: moment(),
    closed_by_id: ref().references(() => users.id, { onDelete: 'set null' }),
    closed_at: moment(),
    /** Seconds. */
    time_estimate: integer().notNull().default(0),
    total_time_spent: integer().notNull().default(0),
    /** Task list items in the description, and how many of them are checked. */
    task_count: integer().notNull().default(0),
    task_completed_count: integer().notNull().default(0),
    /** Notes by users, without system notes (MR-9). */
    user_notes_count: integer().notNull().default(0),
    upvotes: integer().notNull().default(0),
    downvotes: integer().notNull().default(0),
    /** The number of unresolved discussions. */
    unresolved_discussions_count: integer().notNull().default(0),
    /** Set when the merge request is deleted; the row is kept (MR-58). */
    deleted_at: moment(),
    created_at: moment().notNull(),
    updated_at: moment().notNull(),
  },
  (t) => [
    uniqueIndex('merge_requests_project_id_iid_key').on(t.project_id, t.iid),
    /** Only one open merge request for the same branches (MR-32). */
    uniqueIndex('merge_requests_open_key')
      .on(t.project_id, t.target_branch, t.source_project_id, t.source_branch)
      .where(sql`${t.state} = 'opened' and ${t.deleted_at} is null`),
    index('merge_requests_project_id_created_at_idx').on(t.project_id, t.created_at, t.id).where(sql`${t.deleted_at} is null`),
    index('merge_requests_project_id_updated_at_idx').on(t.project_id, t.updated_at, t.id).where(sql`${t.deleted_at} is null`),
    index('merge_requests_project_id_state_idx').on(t.project_id, t.state, t.created_at, t.id).where(sql`${t.deleted_at} is null`),
    index('merge_requests_project_id_title_idx').on(t.project_id, sql`lower(${t.title})`, t.id).where(sql`${t.deleted_at} is null`),
    index('merge_requests_project_id_merged_at_idx')
      .on(t.project_id, sql`coalesce(${t.merged_at}, '-infinity'::timestamptz)`, t.id)
      .where(sql`${t.deleted_at} is null`),
    index('merge_requests_deleted_idx').on(t.project_id, t.id).where(sql`${t.deleted_at} is not null`),
    index('merge_requests_source_idx').on(t.source_project_id, t.source_branch),
    index('merge_requests_created_at_idx').on(t.created_at, t.id).where(sql`${t.deleted_at} is null`),
    index('merge_requests_updated_at_idx').on(t.updated_at, t.id).where(sql`${t.deleted_at} is null`),
    index('merge_requests_author_id_idx').on(t.author_id, t.created_at, t.id),
    index('merge_requests_assignee_ids_idx').using('gin', t.assignee_ids).with({ fastupdate: false }).where(sql`${t.assignee_ids} <> '{}'`),
    index('merge_requests_reviewer_ids_idx').using('gin', t.reviewer_ids).with({ fastupdate: false }).where(sql`${t.reviewer_ids} <> '{}'`),
    index('merge_requests_milestone_id_idx').on(t.milestone_id, t.created_at, t.id).where(sql`${t.milestone_id} is not null`),
    index('merge_requests_head_pipeline_id_idx').on(t.head_pipeline_id).where(sql`${t.head_pipeline_id} is not null`),
    index('merge_requests_version_id_idx').on(t.version_id).where(sql`${t.version_id} is not null`),
    index('merge_requests_merge_user_id_idx').on(t.merge_user_id).where(sql`${t.merge_user_id} is not null`),
    index('merge_requests_merged_by_id_idx').on(t.merged_by_id).where(sql`${t.merged_by_id} is not null`),
    /** Operations that are resumed at the start. */
    index('merge_requests_unchecked_idx').on(t.project_id, t.id).where(sql`${t.merge_status} = 'unchecked' and ${t.state} = 'opened'`),
    index('merge_requests_links_due_idx').on(t.id).where(sql`${t.links_due}`),
    index('merge_requests_deferred_idx').on(t.id).where(sql`${t.merge_when_pipeline_succeeds} and ${t.state} = 'opened'`),
    index('merge_requests_rebase_user_id_idx').on(t.rebase_user_id).where(sql`${t.rebase_user_id} is not null`),
    index('merge_requests_head_idx').on(t.source_project_id, t.sha).where(sql`${t.state} = 'opened'`),
    index('merge_requests_merge_commit_sha_idx').on(t.project_id, t.merge_commit_sha).where(sql`${t.merge_commit_sha} is not null`),
    index('merge_requests_closed_by_id_idx').on(t.closed_by_id).where(sql`${t.closed_by_id} is not null`),
  ],
)

export const mergeRequestLabels = pgTable(
  'merge_request_labels',
  {
    /** The merge request's project; the row is deleted with the merge request. */
    project_id: ref().notNull(),
    merge_request_id: ref()
      .notNull()
      .references(() => mergeRequests.id, { onDelete: 'cascade' }),
    label_id: ref()
      .notNull()
      .references(() => labels.id, { onDelete: 'cascade' }),
  },
  (t) => [
    primaryKey({ columns: [t.merge_request_id, t.label_id] }),
    index('merge_request_labels_label_id_idx').on(t.label_id, t.project_id, t.merge_request_id),
  ],
)

/** The users who have approved a merge request (MR-105). */
export const mergeRequestApprovals = pgTable(
  'merge_request_approvals',
  {
    /** The merge request's project; the row is deleted with the merge request. */
    project_id: ref().notNull(),
    merge_request_id: ref()
      .notNull()
      .references(() => mergeRequests.id, { onDelete: 'cascade' }),
    user_id: ref()
      .notNull()
      .references(() => users.id, { onDelete: 'cascade' }),
    created_at: moment().notNull(),
  },
  (t) => [primaryKey({ columns: [t.merge_request_id, t.user_id] }), index('merge_request_approvals_user_id_idx').on(t.user_id, t.merge_request_id)],
)

/**
 * Issues that a merge request mentions in its texts and commits, and whether a merge closes them (IS-14, IS-15).
 * Visibility is checked when they are displayed.
 */
export const mergeRequestIssues = pgTable(
  'merge_request_issues',
  {
    /** The merge request's project; the row is deleted with the merge request. */
    project_id: ref().notNull(),
    merge_request_id: ref()
      .notNull()
      .references(() => mergeRequests.id, { onDelete: 'cascade' }),
    issue_id: ref()
      .notNull()
      .references(() => issues.id, { onDelete: 'cascade' }),
    closes: boolean().notNull(),
  },
  (t) => [primaryKey({ columns: [t.merge_request_id, t.issue_id] }), index('merge_request_issues_issue_id_idx').on(t.issue_id, t.closes)],
)

/** A version of a merge request (MR-91). Keep-around refs in the target repository keep its three commits readable. */
export const mergeRequestVersions = pgTable(
  'merge_request_versions',
  {
    id: id(),
    /** The merge request's project; the row is deleted with the merge request. */
    project_id: ref().notNull(),
    merge_request_id: ref()
      .notNull()
      .references((): AnyPgColumn => mergeRequests.id, { onDelete: 'cascade' }),
    start_commit_sha: text().notNull(),
    /** Null if the histories have no merge base (MR-93). */
    base_commit_sha: text(),
    head_commit_sha: text().notNull(),
    state: text({ enum: ['collected', 'empty', 'overflow'] }).notNull(),
    real_size: text().notNull(),
    commits_count: bigint({ mode: 'number' }).notNull(),
    created_at: moment().notNull(),
  },
  (t) => [
    index('merge_request_versions_merge_request_id_idx').on(t.merge_request_id, t.id),
    index('merge_request_versions_head_idx').on(t.project_id, t.head_commit_sha),
  ],
)

/** The pipelines of merge requests, with their child pipelines (CI-205). */
export const mergeRequestPipelines = pgTable(
  'merge_request_pipelines',
  {
    pipeline_id: ref()
      .primaryKey()
      .references(() => pipelines.id, { onDelete: 'cascade' }),
    /** The merge request's project; that of the pipeline is the source project. */
    project_id: ref().notNull(),
    merge_request_id: ref()
      .notNull()
      .references((): AnyPgColumn => mergeRequests.id, { onDelete: 'cascade' }),
  },
  (t) => [index('merge_request_pipelines_merge_request_id_idx').on(t.merge_request_id, t.pipeline_id)],
)

/** The commits of all versions of a merge request; only the newest if there are too many. */
export const mergeRequestCommits = pgTable(
  'merge_request_commits',
  {
    /** The merge request's project; the row is deleted with the merge request. */
    project_id: ref().notNull(),
    sha: text().notNull(),
    merge_request_id: ref()
      .notNull()
      .references(() => mergeRequests.id, { onDelete: 'cascade' }),
  },
  (t) => [
    primaryKey({ columns: [t.project_id, t.sha, t.merge_request_id] }),
    index('merge_request_commits_merge_request_id_idx').on(t.merge_request_id, t.sha),
  ],
)
