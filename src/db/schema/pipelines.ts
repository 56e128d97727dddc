import { sql } from 'drizzle-orm'
import {
  type AnyPgColumn,
  boolean,
  doublePrecision,
  foreignKey,
  index,
  integer,
  jsonb,
  pgTable,
  primaryKey,
  text,
  uniqueIndex,
} from 'drizzle-orm/pg-core'
import type { AutoCancel } from '../../rules/ci/types.js'
import { LAST_STAGE, PIPELINE_STATES, STAGE } from '../../rules/pipeline-states.js'
import { id, moment, ref } from './columns.js'
import { projects } from './projects.js'
import { users } from './users.js'

/**
 * The last internal id used in a project. The row stays locked until the insert commits, so there are no gaps
 * (SEC-165).
 */
export const iidCounters = pgTable(
  'iid_counters',
  {
    project_id: ref()
      .notNull()
      .references(() => projects.id, { onDelete: 'cascade' }),
    kind: text().notNull(),
    last: integer().notNull(),
  },
  (t) => [primaryKey({ columns: [t.project_id, t.kind] })],
)

/** When a pipeline of a branch or tag is made by itself (CI-224). */
export const pipelineSchedules = pgTable(
  'pipeline_schedules',
  {
    id: id(),
    project_id: ref()
      .notNull()
      .references(() => projects.id, { onDelete: 'cascade' }),
    /** As whom its pipelines are made; null: they were deleted. */
    owner_id: ref().references(() => users.id, { onDelete: 'set null' }),
    description: text().notNull(),
    ref: text().notNull(),
    cron: text().notNull(),
    /** A name of the IANA time zone database. */
    cron_timezone: text().notNull(),
    active: boolean().notNull(),
    /** Of an inactive one too: it is when it would run. */
    next_run_at: moment().notNull(),
    /** Why its last run made no pipeline; null: it did. */
    last_fault: text(),
    created_at: moment().notNull().defaultNow(),
    updated_at: moment().notNull().defaultNow(),
  },
  (t) => [
    index('pipeline_schedules_project_id_idx').on(t.project_id, t.id),
    index('pipeline_schedules_owner_id_idx').on(t.owner_id),
    index('pipeline_schedules_due_idx').on(t.next_run_at).where(sql`${t.active}`),
  ],
)

/** Variables of the pipelines of a schedule. */
export const pipelineScheduleVariables = pgTable(
  'pipeline_schedule_variables',
  {
    schedule_id: ref()
      .notNull()
      .references(() => pipelineSchedules.id, { onDelete: 'cascade' }),
    key: text().notNull(),
    /** The encrypted value. */
    sealed: text().notNull(),
    /** Its value is the content of a file. */
    file: boolean().notNull().default(false),
  },
  (t) => [primaryKey({ columns: [t.schedule_id, t.key] })],
)

/** Tokens with which other programs make pipelines, as their owner (CI-220). */
export const pipelineTriggers = pgTable(
  'pipeline_triggers',
  {
    id: id(),
    project_id: ref()
      .notNull()
      .references(() => projects.id, { onDelete: 'cascade' }),
    owner_id: ref()
      .notNull()
      .references(() => users.id, { onDelete: 'cascade' }),
    description: text().notNull(),
    /** SHA-256 of the token, hex. */
    digest: text().notNull(),
    /** The encrypted token, which is shown to its owner; null if it cannot be decrypted any more. */
    sealed: text(),
    last_used_at: moment(),
    created_at: moment().notNull().defaultNow(),
    updated_at: moment().notNull().defaultNow(),
  },
  (t) => [
    uniqueIndex('pipeline_triggers_digest_key').on(t.digest),
    index('pipeline_triggers_project_id_idx').on(t.project_id, t.id),
    index('pipeline_triggers_owner_id_idx').on(t.owner_id),
  ],
)

/** A pipeline: the jobs and statuses of one commit on one ref. */
export const pipelines = pgTable(
  'pipelines',
  {
    id: id(),
    project_id: ref()
      .notNull()
      .references(() => projects.id, { onDelete: 'cascade' }),
    iid: integer().notNull(),
    sha: text().notNull(),
    /** Name of a branch or tag, which need not exist (ST-11). */
    ref: text().notNull(),
    /** Whether `ref` was a tag and not a branch when the first status arrived. */
    tag: boolean().notNull(),
    /** Derived from the latest statuses (ST-20, PL-5). */
    status: text({ enum: PIPELINE_STATES }).notNull().default('created'),
    source: text().notNull().default('external'),
    /** What the ref pointed to before the push that made it; null if it was no push. */
    before_sha: text(),
    /** Why the configuration makes no jobs, as lines; null if there is no fault. */
    yaml_errors: text(),
    /** The stages that have jobs, in order. */
    stages: text().array().notNull().default(sql`'{}'`),
    /** Whether its ref was protected when it was made: only then protected variables and runners serve it. */
    protected: boolean().notNull().default(false),
    /** The job of the queue that made it, so that it is made once. */
    made_by: ref(),
    /** The job of another pipeline that made it (CI-300). */
    bridge_id: ref().references((): AnyPgColumn => commitStatuses.id, { onDelete: 'set null' }),
    /** The first of the pipelines that made each other; null: it was made by none. */
    root_id: ref().references((): AnyPgColumn => pipelines.id, { onDelete: 'set null' }),
    /** The schedule that made it. */
    schedule_id: ref().references(() => pipelineSchedules.id, { onDelete: 'set null' }),
    /** What cancels it, as its configuration says; null: it says nothing. */
    auto_cancel: jsonb().$type<AutoCancel>(),
    user_id: ref().references(() => users.id, { onDelete: 'set null' }),
    created_at: moment().notNull().defaultNow(),
    updated_at: moment().notNull().defaultNow(),
  },
  (t) => [
    index('pipelines_project_id_sha_ref_idx').on(t.project_id, t.sha, t.ref, t.id),
    // statuses of one commit and ref that come at once make one
    uniqueIndex('pipelines_external_key').on(t.project_id, t.sha, t.ref).where(sql`${t.source} = 'external'`),
    uniqueIndex('pipelines_made_by_key').on(t.made_by, t.ref, t.tag).where(sql`${t.made_by} is not null`),
    uniqueIndex('pipelines_project_id_iid_key').on(t.project_id, t.iid),
    index('pipelines_project_id_sha_idx').on(t.project_id, t.sha, t.id),
    uniqueIndex('pipelines_project_id_id_key').on(t.project_id, t.id),
    uniqueIndex('pipelines_bridge_id_key').on(t.bridge_id),
    index('pipelines_root_id_idx').on(t.root_id),
    index('pipelines_schedule_id_idx').on(t.schedule_id, t.id),
    index('pipelines_user_id_idx').on(t.user_id),
    // those that a newer one of their branch or tag makes redundant
    index('pipelines_open_idx')
      .on(t.project_id, t.ref)
      .where(sql`${t.status} in ('created', 'waiting_for_resource', 'preparing', 'pending', 'running', 'scheduled')`),
  ],
)

/** What a row of `commit_statuses` is: reported from outside, a job for a runner, or a job that starts a pipeline. */
export const JOB_KINDS = ['status', 'build', 'bridge'] as const

/** A commit status or a job; the commit and the ref are those of its pipeline. */
export const commitStatuses = pgTable(
  'commit_statuses',
  {
    id: id(),
    /** The pipeline's project; the row is deleted with the pipeline. */
    project_id: ref().notNull(),
    pipeline_id: ref().notNull(),
    user_id: ref()
      .notNull()
      .references(() => users.id),
    /**
     * Whether its author was deleted, so that `user_id` is the ghost; several of these may be pending under one name.
     */
    orphaned: boolean().notNull().default(false),
    kind: text({ enum: JOB_KINDS }).notNull().default('status'),
    name: text().notNull(),
    stage: text().notNull().default(STAGE),
    /** The position of the stage among `pipelines.stages`; statuses come last. */
    stage_index: integer().notNull().default(LAST_STAGE),
    status: text({ enum: PIPELINE_STATES }).notNull(),
    allow_failure: boolean().notNull().default(false),
    /** Why it failed, as runners name it; null for statuses. */
    failure_reason: text(),
    /** Whether it is the newest of its name in the pipeline (ST-16); of a job: it was not retried. */
    latest: boolean().notNull().default(true),
    target_url: text(),
    description: text(),
    coverage: doublePrecision(),
    created_at: moment().notNull().defaultNow(),
    /** When a job became pending. */
    queued_at: moment(),
    started_at: moment(),
    finished_at: moment(),
  },
  (t) => [
    // both columns, because all its indexes begin with the project
    foreignKey({
      name: 'commit_statuses_pipeline_fk',
      columns: [t.project_id, t.pipeline_id],
      foreignColumns: [pipelines.project_id, pipelines.id],
    }).onDelete('cascade'),
    uniqueIndex('commit_statuses_latest_key').on(t.project_id, t.pipeline_id, t.name).where(sql`${t.latest} and ${t.kind} = 'status'`),
    uniqueIndex('commit_statuses_latest_job_key').on(t.project_id, t.pipeline_id, t.name).where(sql`${t.latest} and ${t.kind} <> 'status'`),
    uniqueIndex('commit_statuses_open_key')
      .on(t.project_id, t.pipeline_id, t.name, t.user_id)
      .where(sql`${t.status} in ('pending', 'running') and not ${t.orphaned} and ${t.kind} = 'status'`),
    index('commit_statuses_status_idx').on(t.project_id, t.pipeline_id, t.status).where(sql`${t.latest}`),
    index('commit_statuses_pipeline_id_idx').on(t.project_id, t.pipeline_id, t.latest, t.id),
    index('commit_statuses_project_id_idx').on(t.project_id, t.id).where(sql`${t.latest}`),
    // what a sweep looks for
    index('commit_statuses_waiting_idx').on(t.id).where(sql`${t.status} = 'waiting_for_resource'`),
    index('commit_statuses_bridges_idx').on(t.id).where(sql`${t.kind} = 'bridge' and ${t.status} in ('pending', 'running')`),
    index('commit_statuses_user_id_idx').on(t.user_id),
  ],
)
