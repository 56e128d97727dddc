import { index, pgTable, text } from 'drizzle-orm/pg-core'
import { id, moment, ref } from '../columns.js'
import { projects } from '../projects.js'

/** When a project is not to be deployed: from one time of cron to another (FZ-1). */
export const freezePeriods = pgTable(
  'freeze_periods',
  {
    id: id(),
    project_id: ref()
      .notNull()
      .references(() => projects.id, { onDelete: 'cascade' }),
    freeze_start: text().notNull(),
    freeze_end: text().notNull(),
    cron_timezone: text().notNull(),
    created_at: moment().notNull().defaultNow(),
    updated_at: moment().notNull().defaultNow(),
  },
  (t) => [index('freeze_periods_project_id_idx').on(t.project_id, t.id)],
)
