import { sql } from 'drizzle-orm'
import { type AnyPgColumn, boolean, index, integer, pgTable, primaryKey, text, uniqueIndex } from 'drizzle-orm/pg-core'
import { id, moment, ref } from './columns.js'
import { users } from './users.js'

/** A group, or the personal namespace of a user (AC-12). */
export const namespaces = pgTable(
  'namespaces',
  {
    id: id(),
    kind: text({ enum: ['user', 'group'] }).notNull(),
    name: text().notNull(),
    path: text().notNull(),
    /** Paths of the ancestors and its own, joined with `/`; updated by every rename. */
    full_path: text().notNull(),
    /** Names of the ancestors and its own, joined with ` / ` (G-84). */
    full_name: text().notNull(),
    parent_id: ref().references((): AnyPgColumn => namespaces.id),
    /** Set for personal namespaces only. */
    owner_id: ref().references(() => users.id, { onDelete: 'cascade' }),
    description: text().notNull().default(''),
    /** 0 private, 10 internal, 20 public (G-65). */
    visibility: integer().notNull(),
    lfs_enabled: boolean().notNull().default(true),
    request_access_enabled: boolean().notNull().default(false),
    share_with_group_lock: boolean().notNull().default(false),
    /** Who may create projects and subgroups in it (GR-50, GR-51). */
    project_creation_level: text({ enum: ['noone', 'maintainer', 'developer'] })
      .notNull()
      .default('maintainer'),
    subgroup_creation_level: text({ enum: ['owner', 'maintainer'] })
      .notNull()
      .default('owner'),
    /** Null: as the settings say (GR-52). */
    default_branch_protection: integer(),
    /** Of new projects in it and below; null: as the group above has it (GR-83). */
    default_branch: text(),
    /** Whether no mail is sent about what happens in it and below (GR-53). */
    emails_disabled: boolean().notNull().default(false),
    /** Whether a mention of the group reaches none of its members (GR-54). */
    mentions_disabled: boolean().notNull().default(false),
    /** Kept and shown only (GR-55). */
    auto_devops_enabled: boolean().notNull().default(false),
    /** Whether its members need a second factor, and after how many hours (GR-55). */
    require_two_factor_authentication: boolean().notNull().default(false),
    two_factor_grace_period: integer().notNull().default(48),
    avatar: text(),
    /** When the group, or one above it, was deleted; it is hidden since then (GR-46). */
    marked_for_deletion_at: moment(),
    /** When its rows are removed; null for a group that was hidden with one above it. */
    deletion_due_at: moment(),
    created_at: moment().notNull().defaultNow(),
    updated_at: moment().notNull().defaultNow(),
  },
  (t) => [
    index('namespaces_parent_id_idx').on(t.parent_id),
    uniqueIndex('namespaces_owner_id_key').on(t.owner_id),
    index('namespaces_deletion_due_at_idx').on(t.deletion_due_at).where(sql`${t.deletion_due_at} is not null`),
    index('namespaces_visibility_idx').on(t.visibility).where(sql`${t.kind} = 'group'`),
    index('namespaces_require_two_factor_authentication_idx').on(t.id).where(sql`${t.require_two_factor_authentication}`),
  ],
)

/** All pairs of ancestor and descendant; a namespace is its own ancestor. */
export const namespaceAncestry = pgTable(
  'namespace_ancestry',
  {
    ancestor_id: ref()
      .notNull()
      .references(() => namespaces.id, { onDelete: 'cascade' }),
    descendant_id: ref()
      .notNull()
      .references(() => namespaces.id, { onDelete: 'cascade' }),
  },
  (t) => [primaryKey({ columns: [t.descendant_id, t.ancestor_id] }), index('namespace_ancestry_ancestor_id_idx').on(t.ancestor_id, t.descendant_id)],
)
