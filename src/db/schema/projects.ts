import { sql } from 'drizzle-orm'
import { type AnyPgColumn, bigint, boolean, date, index, integer, jsonb, pgTable, primaryKey, text, uniqueIndex } from 'drizzle-orm/pg-core'
import type { ExpirationPolicy } from '../../rules/registry/expiration.js'
import { id, moment, ref } from './columns.js'
import { namespaces } from './namespaces.js'
import { users } from './users.js'

/** A feature switch: 0 disabled, 10 members only, 20 enabled (AC-10). */
const feature = () => integer().notNull().default(20)

/** A wiki and an issue tracker elsewhere. In the addresses of issues `:id` becomes the key of one. */
export interface ExternalServices {
  wiki?: string
  tracker?: { title: string; project_url: string; issues_url: string; new_issue_url?: string; keys: 'any' | 'long' }
}

export const projects = pgTable(
  'projects',
  {
    id: id(),
    namespace_id: ref()
      .notNull()
      .references(() => namespaces.id),
    creator_id: ref().references(() => users.id, { onDelete: 'set null' }),
    name: text().notNull(),
    path: text().notNull(),
    description: text(),
    visibility: integer().notNull(),
    /** Name of the storage of its repositories. */
    storage: text().notNull(),
    /** The branch that HEAD names; shown only if the repository has a branch (G-86). */
    default_branch: text().notNull(),
    /** Whether the repository has no branch. */
    empty_repo: boolean().notNull().default(true),
    /** Whether its wiki has a repository, which is created with the first page (SEC-420). */
    has_wiki: boolean().notNull().default(false),
    archived: boolean().notNull().default(false),
    issues_access_level: feature(),
    merge_requests_access_level: feature(),
    wiki_access_level: feature(),
    snippets_access_level: feature(),
    builds_access_level: feature(),
    repository_access_level: feature(),
    forking_access_level: feature(),
    operations_access_level: feature(),
    analytics_access_level: feature(),
    container_registry_enabled: boolean().notNull().default(true),
    lfs_enabled: boolean().notNull().default(true),
    shared_runners_enabled: boolean().notNull().default(true),
    public_jobs: boolean().notNull().default(true),
    request_access_enabled: boolean().notNull().default(false),
    only_allow_merge_if_pipeline_succeeds: boolean().notNull().default(false),
    auto_cancel_pending_pipelines: boolean().notNull().default(true),
    only_allow_merge_if_all_discussions_are_resolved: boolean().notNull().default(false),
    printing_merge_request_link_enabled: boolean().notNull().default(true),
    resolve_outdated_diff_discussions: boolean().notNull().default(false),
    squash_option: text({ enum: ['never', 'always', 'default_on', 'default_off'] })
      .notNull()
      .default('default_off'),
    merge_method: text({ enum: ['merge', 'rebase_merge', 'ff'] })
      .notNull()
      .default('merge'),
    /** Whether new merge requests remove their source branch unless they say otherwise (PR-40). */
    remove_source_branch_after_merge: boolean().notNull().default(false),
    /** Whether a skipped pipeline counts as one that succeeded (PR-41). */
    allow_merge_on_skipped_pipeline: boolean().notNull().default(true),
    /** Whether commits and merge requests close the issues that they say they close (PR-42). */
    autoclose_referenced_issues: boolean().notNull().default(true),
    /** Messages of merge commits and squashed commits, with placeholders (PR-44). */
    merge_commit_template: text(),
    squash_commit_template: text(),
    /** Kept and shown only (PR-46). */
    issue_branch_template: text(),
    suggestion_commit_message: text(),
    /** Whether no mail is sent about what happens in it (PR-45). */
    emails_disabled: boolean().notNull().default(false),
    ci_config_path: text(),
    /** Seconds that a job may run which does not say so itself (FD-10). */
    build_timeout: integer().notNull().default(3600),
    build_git_strategy: text({ enum: ['fetch', 'clone'] })
      .notNull()
      .default('fetch'),
    /** Commits of history that a job fetches; 0: all of it, null: the default (FD-12). */
    ci_default_git_depth: integer(),
    /** The pattern of coverage for jobs without one (FD-13). */
    build_coverage_regex: text(),
    /** Whether only maintainers give variables to pipelines (FD-14). */
    restrict_user_defined_variables: boolean().notNull().default(false),
    /** Whether the files of the newest pipeline of a ref outlast their time (CI-131, FD-15). */
    keep_latest_artifact: boolean().notNull().default(true),
    /** Whether a job that would deploy what is older than what is deployed fails (FD-16). */
    ci_forward_deployment_enabled: boolean().notNull().default(true),
    /** Null: never given, which is on (PK-3). */
    packages_enabled: boolean(),
    /** Kept and shown only; null: never given (PR-61). */
    pages_access_level: text({ enum: ['disabled', 'private', 'enabled', 'public'] }),
    /** What was given of the policy by which tags of images go; null: nothing (OCI-81). */
    container_expiration_policy: jsonb().$type<Partial<ExpirationPolicy>>(),
    /** When it is done next; null while it is off. */
    container_expiration_next_run_at: moment(),
    tag_list: text().array().notNull().default(sql`'{}'`),
    avatar: text(),
    star_count: integer().notNull().default(0),
    forks_count: integer().notNull().default(0),
    /** Open issues that are not confidential; confidential ones are counted separately (GR-4). */
    open_issues_count: integer().notNull().default(0),
    open_confidential_issues_count: integer().notNull().default(0),
    import_status: text({ enum: ['none', 'scheduled', 'started', 'finished', 'failed'] })
      .notNull()
      .default('none'),
    import_error: text(),
    /** Where its repository comes from, without user and password (PM-20). */
    import_url: text(),
    /** Whether it follows that repository (PM-20). */
    mirror: boolean().notNull().default(false),
    forked_from_id: ref().references((): AnyPgColumn => projects.id, { onDelete: 'set null' }),
    commit_count: bigint({ mode: 'number' }).notNull().default(0),
    repository_size: bigint({ mode: 'number' }).notNull().default(0),
    /** Size of its Git LFS objects in bytes, including shared ones. */
    lfs_objects_size: bigint({ mode: 'number' }).notNull().default(0),
    /** Size of the files of its jobs in bytes; a trigger keeps it (`artifacts.sql`). */
    job_artifacts_size: bigint({ mode: 'number' }).notNull().default(0),
    /** Size of the files of its packages in bytes; a trigger keeps it (`packages.sql`). */
    packages_size: bigint({ mode: 'number' }).notNull().default(0),
    /** Whether only jobs of the projects that it names may use it with their token. */
    job_token_scope_enabled: boolean().notNull().default(true),
    /** What pages and texts of the project link to, of its active integrations (SV-20, SV-22). */
    external_services: jsonb().$type<ExternalServices>(),
    /** Pushes since the last garbage collection, and how many of them incremental maintenance has processed (AS-41). */
    pushes_since_gc: integer().notNull().default(0),
    pushes_housekept: integer().notNull().default(0),
    last_activity_at: moment().notNull().defaultNow(),
    /** When the project, or the group that it is in, was deleted; it is hidden since then (PR-28). */
    marked_for_deletion_at: moment(),
    /** When its rows are removed; null for a project that a deleted group has hidden. */
    deletion_due_at: moment(),
    created_at: moment().notNull().defaultNow(),
    updated_at: moment().notNull().defaultNow(),
  },
  (t) => [
    uniqueIndex('projects_namespace_id_name_key').on(t.namespace_id, sql`lower(${t.name})`),
    uniqueIndex('projects_namespace_id_path_key').on(t.namespace_id, sql`lower(${t.path})`),
    index('projects_creator_id_idx').on(t.creator_id),
    // counts what is in a namespace
    index('projects_namespace_id_idx').on(t.namespace_id).where(sql`${t.marked_for_deletion_at} is null`),
    // the last column keeps scans for lists within the index
    index('projects_created_at_idx').on(t.created_at, t.id, t.marked_for_deletion_at),
    index('projects_visibility_idx').on(t.visibility, t.created_at, t.id, t.marked_for_deletion_at),
    index('projects_star_count_idx').on(t.star_count, t.id, t.marked_for_deletion_at),
    index('projects_last_activity_at_idx').on(t.last_activity_at, t.id, t.marked_for_deletion_at, t.visibility),
    index('projects_tag_list_idx').using('gin', t.tag_list),
    // with what the sum is made of, so that a far page is read from the index alone
    index('projects_storage_size_idx').on(
      sql`(${t.repository_size} + ${t.lfs_objects_size} + ${t.job_artifacts_size} + ${t.packages_size})`,
      t.id,
      t.marked_for_deletion_at,
      t.repository_size,
      t.lfs_objects_size,
      t.job_artifacts_size,
      t.packages_size,
    ),
    index('projects_deletion_due_at_idx').on(t.deletion_due_at).where(sql`${t.deletion_due_at} is not null`),
    index('projects_container_expiration_next_run_at_idx')
      .on(t.container_expiration_next_run_at)
      .where(sql`${t.container_expiration_next_run_at} is not null`),
    index('projects_forked_from_id_idx').on(t.forked_from_id),
  ],
)

/**
 * Repositories to be deleted: recorded in the transaction of the deletion and processed later, so that a kill in
 * between leaves nothing behind (SEC-134). The id of a project that is being created is recorded as well, until its row
 * exists; its creator holds this row locked.
 */
export const pendingRepositoryDeletions = pgTable('pending_repository_deletions', {
  project_id: ref().primaryKey(),
  storage: text().notNull(),
  /** When they may be removed. */
  due_at: moment().notNull().defaultNow(),
})

/** Pending moves of projects to another storage (SEC-187). */
export const repositoryMoves = pgTable('repository_moves', {
  project_id: ref().primaryKey(),
  from_storage: text().notNull(),
  to_storage: text().notNull(),
  /** The current attempt; an attempt that was superseded cannot complete the move. */
  run: text(),
})

/** Old copies of repositories that were moved to another storage; kept until no process reads them any more. */
export const formerRepositories = pgTable(
  'former_repositories',
  {
    project_id: ref().notNull(),
    storage: text().notNull(),
    left_at: moment().notNull().defaultNow(),
    /** When they may be removed. */
    due_at: moment().notNull(),
  },
  (t) => [primaryKey({ columns: [t.project_id, t.storage] })],
)

/** Avatars of deleted projects and groups, to be deleted in the same way. */
export const pendingAvatarDeletions = pgTable(
  'pending_avatar_deletions',
  { kind: text({ enum: ['project', 'group'] }).notNull(), id: ref().notNull() },
  (t) => [primaryKey({ columns: [t.kind, t.id] })],
)

/**
 * When all objects of the repositories of a project were last checked, and the problems found; empty if there were
 * none.
 */
export const repositoryChecks = pgTable(
  'repository_checks',
  {
    project_id: ref()
      .primaryKey()
      .references(() => projects.id, { onDelete: 'cascade' }),
    checked_at: moment().notNull(),
    fault: text().notNull(),
  },
  (t) => [index('repository_checks_checked_at_idx').on(t.checked_at)],
)

export const projectStars = pgTable(
  'project_stars',
  {
    project_id: ref()
      .notNull()
      .references(() => projects.id, { onDelete: 'cascade' }),
    user_id: ref()
      .notNull()
      .references(() => users.id, { onDelete: 'cascade' }),
  },
  (t) => [primaryKey({ columns: [t.project_id, t.user_id] }), index('project_stars_user_id_idx').on(t.user_id)],
)

/** A project shared with a group, up to an access level. */
export const projectShares = pgTable(
  'project_shares',
  {
    id: id(),
    project_id: ref()
      .notNull()
      .references(() => projects.id, { onDelete: 'cascade' }),
    group_id: ref()
      .notNull()
      .references(() => namespaces.id, { onDelete: 'cascade' }),
    group_access: integer().notNull(),
    expires_at: date({ mode: 'string' }),
    /** Whether the group waits for its removal; the share gives no access meanwhile (GR-46). */
    suspended: boolean().notNull().default(false),
    created_at: moment().notNull().defaultNow(),
  },
  (t) => [uniqueIndex('project_shares_project_id_group_id_key').on(t.project_id, t.group_id), index('project_shares_group_id_idx').on(t.group_id)],
)

/** A group shared with another, whose direct members are members of it up to an access level (WB-351). */
export const groupShares = pgTable(
  'group_shares',
  {
    id: id(),
    group_id: ref()
      .notNull()
      .references(() => namespaces.id, { onDelete: 'cascade' }),
    shared_with_group_id: ref()
      .notNull()
      .references(() => namespaces.id, { onDelete: 'cascade' }),
    group_access: integer().notNull(),
    /** Valid until 00:00 UTC of this day. */
    expires_at: date({ mode: 'string' }),
    /** Whether the other group waits for its removal; the share gives no access meanwhile. */
    suspended: boolean().notNull().default(false),
    created_at: moment().notNull().defaultNow(),
  },
  (t) => [
    uniqueIndex('group_shares_group_id_shared_with_group_id_key').on(t.group_id, t.shared_with_group_id),
    index('group_shares_shared_with_group_id_idx').on(t.shared_with_group_id),
  ],
)

/** Languages of the default branch as of one commit (PR-5); updated after pushes. */
export const projectLanguages = pgTable(
  'project_languages',
  {
    project_id: ref()
      .primaryKey()
      .references(() => projects.id, { onDelete: 'cascade' }),
    commit: text().notNull(),
    /** Bytes by language. */
    bytes: jsonb().$type<Record<string, number>>().notNull(),
    /** The names of the languages in lower case, for a filter of lists (PR-50). */
    names: text().array().notNull().default(sql`'{}'`),
  },
  (t) => [index('project_languages_names_idx').using('gin', t.names)],
)

/** How often the repository was fetched over HTTP, by day in UTC (RX-10). */
export const projectFetches = pgTable(
  'project_fetches',
  {
    project_id: ref()
      .notNull()
      .references(() => projects.id, { onDelete: 'cascade' }),
    day: date({ mode: 'string' }).notNull(),
    fetches: integer().notNull(),
  },
  (t) => [primaryKey({ columns: [t.project_id, t.day] })],
)

/** Unfinished imports; each has a job until the import is `finished` or `failed` (OT-10). */
export const projectImports = pgTable('project_imports', {
  project_id: ref()
    .primaryKey()
    .references(() => projects.id, { onDelete: 'cascade' }),
  /** Encrypted, because it may contain a password (SEC-139). */
  url: text().notNull(),
  /** The requested default branch, which takes precedence over that of the source. */
  default_branch: text(),
})

/** Files uploaded to a project (UP-1). The secret in its path gives anyone access to an image. */
export const projectUploads = pgTable(
  'project_uploads',
  {
    id: id(),
    project_id: ref()
      .notNull()
      .references(() => projects.id, { onDelete: 'cascade' }),
    uploader_id: ref().references(() => users.id, { onDelete: 'set null' }),
    secret: text().notNull(),
    filename: text().notNull(),
    size: bigint({ mode: 'number' }).notNull(),
    created_at: moment().notNull().defaultNow(),
  },
  (t) => [
    uniqueIndex('project_uploads_project_id_secret_key').on(t.project_id, t.secret),
    index('project_uploads_uploader_id_idx').on(t.uploader_id),
  ],
)

export const protectedBranches = pgTable(
  'protected_branches',
  {
    id: id(),
    project_id: ref()
      .notNull()
      .references(() => projects.id, { onDelete: 'cascade' }),
    /** A name, or a pattern with `*`. */
    name: text().notNull(),
    /** 0 no access, 30 developers, 40 maintainers. */
    push_level: integer().notNull(),
    merge_level: integer().notNull(),
    allow_force_push: boolean().notNull().default(false),
  },
  (t) => [uniqueIndex('protected_branches_project_id_name_key').on(t.project_id, t.name)],
)

export const protectedTags = pgTable(
  'protected_tags',
  {
    id: id(),
    project_id: ref()
      .notNull()
      .references(() => projects.id, { onDelete: 'cascade' }),
    name: text().notNull(),
    create_level: integer().notNull(),
  },
  (t) => [uniqueIndex('protected_tags_project_id_name_key').on(t.project_id, t.name)],
)

/**
 * All paths in use. Users, groups and projects share one namespace and are compared without regard to case (GR-26,
 * AC-12).
 */
export const routes = pgTable(
  'routes',
  {
    /** The full path in lower case. */
    key: text().primaryKey(),
    namespace_id: ref().references(() => namespaces.id, { onDelete: 'cascade' }),
    project_id: ref().references(() => projects.id, { onDelete: 'cascade' }),
  },
  (t) => [index('routes_namespace_id_idx').on(t.namespace_id), index('routes_project_id_idx').on(t.project_id)],
)

/** Former full paths of projects, redirected for Git only (GH-4); deleted when the path is reused. */
export const redirects = pgTable(
  'redirects',
  {
    key: text().primaryKey(),
    project_id: ref()
      .notNull()
      .references(() => projects.id, { onDelete: 'cascade' }),
  },
  (t) => [index('redirects_project_id_idx').on(t.project_id)],
)
