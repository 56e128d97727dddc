import { index, integer, pgTable, text, uniqueIndex } from 'drizzle-orm/pg-core'
import { id, moment, ref } from '../columns.js'
import { namespaces } from '../namespaces.js'
import { projects } from '../projects.js'
import { users } from '../users.js'

/** The environments of a project to which only some may deploy, by their names (PE-1). */
export const protectedEnvironments = pgTable(
  'protected_environments',
  {
    id: id(),
    project_id: ref()
      .notNull()
      .references(() => projects.id, { onDelete: 'cascade' }),
    name: text().notNull(),
    created_at: moment().notNull().defaultNow(),
  },
  (t) => [uniqueIndex('protected_environments_project_id_name_key').on(t.project_id, t.name)],
)

/** Who may deploy to a protected environment: a role, a user, or the members of a group; one of the three. */
export const deployAccessLevels = pgTable(
  'deploy_access_levels',
  {
    id: id(),
    protected_environment_id: ref()
      .notNull()
      .references(() => protectedEnvironments.id, { onDelete: 'cascade' }),
    access_level: integer(),
    user_id: ref().references(() => users.id, { onDelete: 'cascade' }),
    /** A group. */
    namespace_id: ref().references(() => namespaces.id, { onDelete: 'cascade' }),
    /** Of a group: 0 its own members, 1 also those of the groups above it. */
    group_inheritance_type: integer().notNull().default(0),
  },
  (t) => [
    index('deploy_access_levels_protected_environment_id_idx').on(t.protected_environment_id, t.id),
    index('deploy_access_levels_user_id_idx').on(t.user_id),
    index('deploy_access_levels_namespace_id_idx').on(t.namespace_id),
  ],
)
