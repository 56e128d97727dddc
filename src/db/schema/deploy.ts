import { sql } from 'drizzle-orm'
import { boolean, check, index, pgTable, text, uniqueIndex } from 'drizzle-orm/pg-core'
import { id, moment, ref } from './columns.js'
import { sshKeys } from './credentials.js'
import { namespaces } from './namespaces.js'
import { projects } from './projects.js'
import { users } from './users.js'

/** The projects that a deploy key opens (DK-7). A trigger deletes the key with its last row (DK-6). */
export const deployKeysProjects = pgTable(
  'deploy_keys_projects',
  {
    id: id(),
    key_id: ref()
      .notNull()
      .references(() => sshKeys.id, { onDelete: 'cascade' }),
    project_id: ref()
      .notNull()
      .references(() => projects.id, { onDelete: 'cascade' }),
    can_push: boolean().notNull().default(false),
    created_at: moment().notNull().defaultNow(),
  },
  (t) => [
    uniqueIndex('deploy_keys_projects_project_id_key_id_key').on(t.project_id, t.key_id),
    index('deploy_keys_projects_key_id_idx').on(t.key_id),
  ],
)

/** Credentials of a project or a group, exactly one of the two, for Git over HTTP (DK-8). */
export const deployTokens = pgTable(
  'deploy_tokens',
  {
    id: id(),
    project_id: ref().references(() => projects.id, { onDelete: 'cascade' }),
    group_id: ref().references(() => namespaces.id, { onDelete: 'cascade' }),
    creator_id: ref().references(() => users.id, { onDelete: 'set null' }),
    name: text().notNull(),
    username: text().notNull(),
    /** SHA-256 of the value, hex. */
    digest: text().notNull(),
    scopes: text().array().notNull(),
    expires_at: moment(),
    last_used_at: moment(),
    created_at: moment().notNull().defaultNow(),
  },
  (t) => [
    check('deploy_tokens_one_source', sql`num_nonnulls(${t.project_id}, ${t.group_id}) = 1`),
    uniqueIndex('deploy_tokens_digest_key').on(t.digest),
    index('deploy_tokens_project_id_idx').on(t.project_id, t.id).where(sql`${t.project_id} is not null`),
    index('deploy_tokens_group_id_idx').on(t.group_id, t.id).where(sql`${t.group_id} is not null`),
    index('deploy_tokens_creator_id_idx').on(t.creator_id),
  ],
)
