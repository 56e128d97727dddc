import { index, pgTable, text } from 'drizzle-orm/pg-core'
import { ref } from './columns.js'
import { namespaces } from './namespaces.js'
import { projects } from './projects.js'

/**
 * All paths in use: users, groups and projects share one name space and cannot collide, whatever the case (GR-26,
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

/** Former full paths of projects, redirected for Git only (GH-4); removed when the path is taken again. */
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
