import { sql } from 'drizzle-orm'
import { boolean, index, integer, jsonb, pgTable, text, uniqueIndex } from 'drizzle-orm/pg-core'
import { STRATEGIES } from '../../../rules/features/feature-flags.js'
import { id, moment, ref } from '../columns.js'
import { projects } from '../projects.js'

const project = () =>
  ref()
    .notNull()
    .references(() => projects.id, { onDelete: 'cascade' })

/** The flags of a project, which programs ask for (FF-1). */
export const featureFlags = pgTable(
  'feature_flags',
  {
    id: id(),
    project_id: project(),
    iid: integer().notNull(),
    name: text().notNull(),
    description: text(),
    active: boolean().notNull(),
    created_at: moment().notNull().defaultNow(),
    updated_at: moment().notNull().defaultNow(),
  },
  (t) => [
    uniqueIndex('feature_flags_project_id_iid_key').on(t.project_id, t.iid),
    uniqueIndex('feature_flags_project_id_name_key').on(t.project_id, t.name),
  ],
)

/** Names of users of other programs, for whom flags are on (FF-8). */
export const featureFlagUserLists = pgTable(
  'feature_flag_user_lists',
  {
    id: id(),
    project_id: project(),
    iid: integer().notNull(),
    name: text().notNull(),
    /** Separated by commas. */
    user_xids: text().notNull(),
    created_at: moment().notNull().defaultNow(),
    updated_at: moment().notNull().defaultNow(),
  },
  (t) => [
    uniqueIndex('feature_flag_user_lists_project_id_iid_key').on(t.project_id, t.iid),
    uniqueIndex('feature_flag_user_lists_project_id_name_key').on(t.project_id, t.name),
  ],
)

/** For whom a flag is on. */
export const featureFlagStrategies = pgTable(
  'feature_flag_strategies',
  {
    id: id(),
    feature_flag_id: ref()
      .notNull()
      .references(() => featureFlags.id, { onDelete: 'cascade' }),
    name: text({ enum: STRATEGIES }).notNull(),
    parameters: jsonb().$type<Record<string, string>>().notNull(),
    /** Of `gitlabUserList`; a list that a strategy names is not deleted. */
    user_list_id: ref().references(() => featureFlagUserLists.id),
  },
  (t) => [
    index('feature_flag_strategies_feature_flag_id_idx').on(t.feature_flag_id, t.id),
    index('feature_flag_strategies_user_list_id_idx').on(t.user_list_id).where(sql`${t.user_list_id} is not null`),
  ],
)

/** The environments in which a strategy counts. */
export const featureFlagScopes = pgTable(
  'feature_flag_scopes',
  {
    id: id(),
    strategy_id: ref()
      .notNull()
      .references(() => featureFlagStrategies.id, { onDelete: 'cascade' }),
    environment_scope: text().notNull(),
  },
  (t) => [index('feature_flag_scopes_strategy_id_idx').on(t.strategy_id, t.id)],
)

/** The token with which programs ask for the flags of a project (FF-10). */
export const featureFlagClients = pgTable('feature_flag_clients', {
  project_id: project().primaryKey(),
  /** Encrypted; null if it could not be decrypted any more. */
  sealed: text(),
  /** SHA-256 of the token, hex. */
  digest: text().notNull(),
  created_at: moment().notNull().defaultNow(),
})
