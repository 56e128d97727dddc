import { index, pgTable, text } from 'drizzle-orm/pg-core'
import { ref } from './columns.js'
import { namespaces } from './namespaces.js'
import { projects } from './projects.js'

/** The one name space of all paths: users, groups and projects cannot collide, whatever their case (GR-26, AC-12). */
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

/** Former full paths of projects, for Git only (GH-4); a new owner of the path takes it away. */
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
