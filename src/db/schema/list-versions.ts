import { bigint, pgTable, text } from 'drizzle-orm/pg-core'

/** For each kind of list a number that grows with every change of what such lists hold: totals counted at one number hold while it stands. */
export const listVersions = pgTable('list_versions', {
  kind: text({ enum: ['users', 'projects', 'groups'] }).primaryKey(),
  version: bigint({ mode: 'number' }).notNull(),
})
