import { sql } from 'drizzle-orm'
import { boolean, index, integer, pgTable, text, uniqueIndex } from 'drizzle-orm/pg-core'
import { DEPLOYMENT_STATES, ENVIRONMENT_STATES, TIERS } from '../../rules/ci/environments.js'
import { id, moment, ref } from './columns.js'
import { commitStatuses } from './pipelines.js'
import { projects } from './projects.js'
import { users } from './users.js'

/** Where a project is deployed to (CI-280). */
export const environments = pgTable(
  'environments',
  {
    id: id(),
    project_id: ref()
      .notNull()
      .references(() => projects.id, { onDelete: 'cascade' }),
    name: text().notNull(),
    slug: text().notNull(),
    external_url: text(),
    tier: text({ enum: TIERS }).notNull(),
    state: text({ enum: ENVIRONMENT_STATES }).notNull().default('available'),
    /** When it is stopped by itself. */
    auto_stop_at: moment(),
    /** The job that stops it, while it is `stopping`. */
    stop_job_id: ref().references(() => commitStatuses.id, { onDelete: 'set null' }),
    created_at: moment().notNull().defaultNow(),
    updated_at: moment().notNull().defaultNow(),
  },
  (t) => [
    uniqueIndex('environments_project_id_name_key').on(t.project_id, t.name),
    uniqueIndex('environments_project_id_slug_key').on(t.project_id, t.slug),
    index('environments_stop_job_id_idx').on(t.stop_job_id),
    index('environments_auto_stop_at_idx').on(t.auto_stop_at),
  ],
)

/** What was brought to an environment, by a job or by another program (CI-282). */
export const deployments = pgTable(
  'deployments',
  {
    id: id(),
    project_id: ref()
      .notNull()
      .references(() => projects.id, { onDelete: 'cascade' }),
    iid: integer().notNull(),
    environment_id: ref()
      .notNull()
      .references(() => environments.id, { onDelete: 'cascade' }),
    user_id: ref().references(() => users.id, { onDelete: 'set null' }),
    /** The job that makes it; null: it was reported, or its job is gone. */
    job_id: ref().references(() => commitStatuses.id, { onDelete: 'set null' }),
    sha: text().notNull(),
    ref: text().notNull(),
    tag: boolean().notNull(),
    status: text({ enum: DEPLOYMENT_STATES }).notNull(),
    /** The address of the environment, with the variables of the job that runs. */
    url: text(),
    /** The time after which it is stopped, likewise. */
    auto_stop_in: text(),
    created_at: moment().notNull().defaultNow(),
    updated_at: moment().notNull().defaultNow(),
    finished_at: moment(),
  },
  (t) => [
    uniqueIndex('deployments_project_id_iid_key').on(t.project_id, t.iid),
    index('deployments_project_id_idx').on(t.project_id, t.id),
    index('deployments_environment_id_idx').on(t.environment_id, t.id),
    // the last one of each environment that succeeded
    index('deployments_success_idx').on(t.environment_id, t.finished_at, t.id).where(sql`${t.status} = 'success'`),
    uniqueIndex('deployments_job_id_key').on(t.job_id),
    index('deployments_user_id_idx').on(t.user_id),
  ],
)
