import { index, integer, pgTable, text, uniqueIndex } from 'drizzle-orm/pg-core'
import { PACKAGE_TYPES } from '../../../rules/packages/types.js'
import { id, moment, ref } from '../columns.js'
import { projects } from '../projects.js'

/** Who may publish and delete packages of certain names (PK-90). */
export const packageProtectionRules = pgTable(
  'package_protection_rules',
  {
    id: id(),
    project_id: ref()
      .notNull()
      .references(() => projects.id, { onDelete: 'cascade' }),
    package_type: text({ enum: PACKAGE_TYPES }).notNull(),
    /** `*` stands for any text. */
    package_name_pattern: text().notNull(),
    /** Null: whoever may publish packages. */
    minimum_push_level: integer(),
    /** Null: whoever may delete packages. */
    minimum_delete_level: integer(),
    created_at: moment().notNull().defaultNow(),
    updated_at: moment().notNull().defaultNow(),
  },
  (t) => [
    uniqueIndex('package_protection_rules_pattern_key').on(t.project_id, t.package_type, t.package_name_pattern),
    index('package_protection_rules_project_id_idx').on(t.project_id, t.id),
  ],
)
