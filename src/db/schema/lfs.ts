import { sql } from 'drizzle-orm'
import { bigint, index, pgTable, primaryKey, text, uniqueIndex } from 'drizzle-orm/pg-core'
import { id, moment, ref } from './columns.js'
import { projects } from './projects.js'
import { users } from './users.js'

/** The stored Git LFS objects, each once (LF-2). */
export const lfsObjects = pgTable('lfs_objects', {
  /** The SHA-256 of its bytes, in hex. */
  oid: text().primaryKey(),
  size: bigint({ mode: 'number' }).notNull(),
  created_at: moment().notNull().defaultNow(),
})

/** The projects that each object belongs to; forks share objects. */
export const lfsObjectProjects = pgTable(
  'lfs_object_projects',
  {
    project_id: ref()
      .notNull()
      .references(() => projects.id, { onDelete: 'cascade' }),
    oid: text()
      .notNull()
      .references(() => lfsObjects.oid),
    /** Since when no commit of the project points to it, as maintenance has observed (LF-14). */
    unreferenced_since: moment(),
  },
  (t) => [
    primaryKey({ columns: [t.project_id, t.oid] }),
    index('lfs_object_projects_oid_idx').on(t.oid),
    index('lfs_object_projects_unreferenced_idx').on(t.unreferenced_since).where(sql`${t.unreferenced_since} is not null`),
  ],
)

/** Objects of deleted projects; those that no other project has are deleted (LF-12). */
export const pendingLfsDeletions = pgTable('pending_lfs_deletions', { oid: text().primaryKey() })

/** Files locked by users. */
export const lfsLocks = pgTable(
  'lfs_locks',
  {
    id: id(),
    project_id: ref()
      .notNull()
      .references(() => projects.id, { onDelete: 'cascade' }),
    user_id: ref()
      .notNull()
      .references(() => users.id, { onDelete: 'cascade' }),
    path: text().notNull(),
    locked_at: moment().notNull().defaultNow(),
  },
  (t) => [uniqueIndex('lfs_locks_project_id_path_key').on(t.project_id, t.path), index('lfs_locks_user_id_idx').on(t.user_id)],
)
