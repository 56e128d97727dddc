import { sql } from 'drizzle-orm'
import { bigint, boolean, check, index, integer, jsonb, pgTable, primaryKey, text, uniqueIndex } from 'drizzle-orm/pg-core'
import { PROCESS_MODES } from '../../rules/ci/resource-groups.js'
import type { PlannedJob, Variable } from '../../rules/ci/types.js'
import { bytea, id, moment, ref } from './columns.js'
import { namespaces } from './namespaces.js'
import { commitStatuses, pipelines } from './pipelines.js'
import { projects } from './projects.js'
import { users } from './users.js'

/** Whom a runner serves: all projects, those of a group, or some. */
export const RUNNER_KINDS = ['instance_type', 'group_type', 'project_type'] as const

/** A runner: an entry of a GitLab Runner's configuration, which takes jobs with its token. */
export const runners = pgTable(
  'runners',
  {
    id: id(),
    kind: text({ enum: RUNNER_KINDS }).notNull(),
    /** The group of a group's runner. */
    group_id: ref().references(() => namespaces.id, { onDelete: 'cascade' }),
    creator_id: ref().references(() => users.id, { onDelete: 'set null' }),
    /** SHA-256 of its token, hex. */
    digest: text().notNull(),
    /** How it was made: with a registration token, or by a user (`glrt-`). */
    registered: boolean().notNull(),
    description: text(),
    maintenance_note: text(),
    paused: boolean().notNull().default(false),
    /** A project's runner that no other project may be given. */
    locked: boolean().notNull().default(false),
    run_untagged: boolean().notNull().default(true),
    /** It takes jobs of protected branches and tags only. */
    protected: boolean().notNull().default(false),
    /** Seconds; null: that of the job or project. */
    maximum_timeout: integer(),
    tags: text().array().notNull().default(sql`'{}'`),
    /** What the last of its machines said of itself (`info`), and from where. */
    info: jsonb().$type<RunnerInfo>().notNull().default({}),
    ip_address: text(),
    contacted_at: moment(),
    created_at: moment().notNull().defaultNow(),
    updated_at: moment().notNull().defaultNow(),
  },
  (t) => [
    uniqueIndex('runners_digest_key').on(t.digest),
    index('runners_group_id_idx').on(t.group_id),
    index('runners_creator_id_idx').on(t.creator_id),
  ],
)

export interface RunnerInfo {
  name?: string | undefined
  version?: string | undefined
  revision?: string | undefined
  platform?: string | undefined
  architecture?: string | undefined
  executor?: string | undefined
}

/** The projects that a project's runner serves. */
export const runnerProjects = pgTable(
  'runner_projects',
  {
    runner_id: ref()
      .notNull()
      .references(() => runners.id, { onDelete: 'cascade' }),
    project_id: ref()
      .notNull()
      .references(() => projects.id, { onDelete: 'cascade' }),
  },
  (t) => [primaryKey({ columns: [t.runner_id, t.project_id] }), index('runner_projects_project_id_idx').on(t.project_id)],
)

/** Tokens with which runners register: of the instance (both ids null), a group or a project. */
export const registrationTokens = pgTable(
  'registration_tokens',
  {
    id: id(),
    group_id: ref().references(() => namespaces.id, { onDelete: 'cascade' }),
    project_id: ref().references(() => projects.id, { onDelete: 'cascade' }),
    digest: text().notNull(),
    /** The encrypted token, which is shown to those who may register runners. */
    sealed: text().notNull(),
  },
  (t) => [
    uniqueIndex('registration_tokens_digest_key').on(t.digest),
    uniqueIndex('registration_tokens_source_key').on(sql`coalesce(${t.group_id}, 0)`, sql`coalesce(${t.project_id}, 0)`),
    index('registration_tokens_group_id_idx').on(t.group_id),
    index('registration_tokens_project_id_idx').on(t.project_id),
  ],
)

/** Jobs of which one runs at a time (CI-290). */
export const resourceGroups = pgTable(
  'resource_groups',
  {
    id: id(),
    project_id: ref()
      .notNull()
      .references(() => projects.id, { onDelete: 'cascade' }),
    key: text().notNull(),
    process_mode: text({ enum: PROCESS_MODES }).notNull().default('unordered'),
    /** The job that has the resource, until it ends. */
    job_id: ref().references(() => commitStatuses.id, { onDelete: 'set null' }),
    created_at: moment().notNull().defaultNow(),
    updated_at: moment().notNull().defaultNow(),
  },
  (t) => [uniqueIndex('resource_groups_project_id_key_key').on(t.project_id, t.key), index('resource_groups_job_id_idx').on(t.job_id)],
)

/** What a job for a runner has beside its row of `commit_statuses`. */
export const builds = pgTable(
  'builds',
  {
    job_id: ref()
      .primaryKey()
      .references(() => commitStatuses.id, { onDelete: 'cascade' }),
    /** What the configuration says about it. */
    definition: jsonb().$type<PlannedJob>().notNull(),
    /** Names of the jobs that it waits for; null: all jobs of earlier stages. */
    needs: text().array(),
    resource_group_id: ref().references(() => resourceGroups.id, { onDelete: 'set null' }),
    /** How often the job was retried by itself. */
    retries: integer().notNull().default(0),
    /** When a delayed job begins. */
    scheduled_at: moment(),
    /** Variables that were given when a manual job was started. */
    variables: jsonb().$type<Variable[]>().notNull().default([]),
    runner_id: ref().references(() => runners.id, { onDelete: 'set null' }),
    /** SHA-256 of the job's token, hex, once a runner has taken it. */
    digest: text(),
    /** Seconds after which it is stopped, as told to the runner. */
    timeout: integer(),
    /** When its runner was last heard of. */
    seen_at: moment(),
    exit_code: integer(),
    /** Length of the log in bytes, as its runner counts. */
    trace_size: bigint({ mode: 'number' }).notNull().default(0),
    /** The encrypted values that its log must not show, as JSON. */
    masks: text(),
    /** The end of its log that is not stored yet, because it may be the beginning of such a value: see `HeldEnd`. */
    trace_held: integer().array(),
    /** The encrypted variables that it leaves to later jobs (dotenv), as JSON. */
    dotenv: text(),
    erased_at: moment(),
    erased_by: ref().references(() => users.id, { onDelete: 'set null' }),
  },
  (t) => [
    uniqueIndex('builds_digest_key').on(t.digest),
    index('builds_runner_id_idx').on(t.runner_id, t.job_id),
    index('builds_resource_group_id_idx').on(t.resource_group_id, t.job_id),
    index('builds_erased_by_idx').on(t.erased_by),
    index('builds_scheduled_at_idx').on(t.scheduled_at).where(sql`${t.scheduled_at} is not null`),
    // those that a runner has and that have not ended: the row forgets `seen_at` at the end
    index('builds_seen_at_idx').on(t.seen_at).where(sql`${t.seen_at} is not null`),
  ],
)

/** The jobs that wait for a runner. */
export const pendingBuilds = pgTable(
  'pending_builds',
  {
    job_id: ref()
      .primaryKey()
      .references(() => commitStatuses.id, { onDelete: 'cascade' }),
    project_id: ref()
      .notNull()
      .references(() => projects.id, { onDelete: 'cascade' }),
    protected: boolean().notNull(),
    tags: text().array().notNull(),
  },
  // runners without the tags of very many jobs pass these over at once; entries that wait to be sorted in would be read by each
  (t) => [index('pending_builds_project_id_idx').on(t.project_id), index('pending_builds_tags_idx').using('gin', t.tags).with({ fastupdate: false })],
)

/** The log of a job in pieces, by the offset of their first byte. */
export const traceChunks = pgTable(
  'trace_chunks',
  {
    job_id: ref()
      .notNull()
      .references(() => builds.job_id, { onDelete: 'cascade' }),
    first: bigint({ mode: 'number' }).notNull(),
    bytes: bytea().notNull(),
  },
  (t) => [primaryKey({ columns: [t.job_id, t.first] })],
)

/** Variables that a pipeline was made with. */
export const pipelineVariables = pgTable(
  'pipeline_variables',
  {
    pipeline_id: ref()
      .notNull()
      .references(() => pipelines.id, { onDelete: 'cascade' }),
    key: text().notNull(),
    /** The encrypted value. */
    sealed: text().notNull(),
    /** Its value is the content of a file. */
    file: boolean().notNull().default(false),
  },
  (t) => [primaryKey({ columns: [t.pipeline_id, t.key] })],
)

/** Files that runners have sent: archives and reports. */
export const artifacts = pgTable(
  'artifacts',
  {
    id: id(),
    job_id: ref()
      .notNull()
      .references(() => builds.job_id, { onDelete: 'cascade' }),
    project_id: ref()
      .notNull()
      .references(() => projects.id, { onDelete: 'cascade' }),
    /** `archive`, or the kind of a report. */
    file_type: text().notNull(),
    file_format: text().notNull(),
    filename: text().notNull(),
    size: bigint({ mode: 'number' }).notNull(),
    /** The SHA-256 of its bytes, in hex: its name in the store. */
    oid: text().notNull(),
    /** Null: it is kept. */
    expires_at: moment(),
    created_at: moment().notNull().defaultNow(),
  },
  (t) => [
    uniqueIndex('artifacts_job_id_file_type_key').on(t.job_id, t.file_type),
    index('artifacts_project_id_idx').on(t.project_id),
    index('artifacts_oid_idx').on(t.oid),
    index('artifacts_expires_at_idx').on(t.expires_at).where(sql`${t.expires_at} is not null`),
  ],
)

/** The projects and groups whose jobs may use a project with their token, exactly one of the two. */
export const jobTokenAllowlist = pgTable(
  'job_token_allowlist',
  {
    id: id(),
    project_id: ref()
      .notNull()
      .references(() => projects.id, { onDelete: 'cascade' }),
    allowed_project_id: ref().references(() => projects.id, { onDelete: 'cascade' }),
    allowed_group_id: ref().references(() => namespaces.id, { onDelete: 'cascade' }),
    added_by: ref().references(() => users.id, { onDelete: 'set null' }),
    created_at: moment().notNull().defaultNow(),
  },
  (t) => [
    check('job_token_allowlist_one', sql`num_nonnulls(${t.allowed_project_id}, ${t.allowed_group_id}) = 1`),
    uniqueIndex('job_token_allowlist_key').on(t.project_id, sql`coalesce(${t.allowed_project_id}, 0)`, sql`coalesce(${t.allowed_group_id}, 0)`),
    index('job_token_allowlist_allowed_project_id_idx').on(t.allowed_project_id),
    index('job_token_allowlist_allowed_group_id_idx').on(t.allowed_group_id),
    index('job_token_allowlist_added_by_idx').on(t.added_by),
  ],
)

/** A CI variable of a project, a group or, without either, the instance. */
export const variables = pgTable(
  'variables',
  {
    id: id(),
    project_id: ref().references(() => projects.id, { onDelete: 'cascade' }),
    group_id: ref().references(() => namespaces.id, { onDelete: 'cascade' }),
    key: text().notNull(),
    /** The encrypted value (V-6). */
    sealed: text().notNull(),
    protected: boolean().notNull().default(false),
    /** Its value is the content of a file. */
    file: boolean().notNull().default(false),
    /** Logs do not show its value. */
    masked: boolean().notNull().default(false),
    /** References in its value are not expanded. */
    raw: boolean().notNull().default(false),
    /** The environments whose jobs get it: a name or a pattern with `*`. */
    environment_scope: text().notNull().default('*'),
    description: text(),
    /** Its value is shown to no one any more (RX-8). */
    hidden: boolean().notNull().default(false),
    created_at: moment().notNull().defaultNow(),
    updated_at: moment().notNull().defaultNow(),
  },
  (t) => [
    check('variables_one_source', sql`num_nonnulls(${t.project_id}, ${t.group_id}) <= 1`),
    uniqueIndex('variables_project_id_key_scope_key').on(t.project_id, t.key, t.environment_scope).where(sql`${t.project_id} is not null`),
    uniqueIndex('variables_group_id_key_scope_key').on(t.group_id, t.key, t.environment_scope).where(sql`${t.group_id} is not null`),
    uniqueIndex('variables_instance_key_key').on(t.key).where(sql`${t.project_id} is null and ${t.group_id} is null`),
  ],
)
