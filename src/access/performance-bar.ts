import { sql } from 'drizzle-orm'
import type { Database } from '../db/client.js'
import { statement } from '../db/statement.js'
import { groupLevel } from './roles.js'

const selectLevel = statement('level for the performance bar', (db) =>
  db.select({ level: groupLevel(sql`${sql.placeholder('group')}::bigint`, sql`${sql.placeholder('user')}::bigint`) }).from(sql`(select 1) one`),
)

interface Allowed {
  performance_bar_enabled: boolean
  performance_bar_allowed_group_id: string | null
}

/** Whether pages show a user the performance bar: administrators, and members of the group of the settings (WB-200). */
export async function seesPerformanceBar(
  db: Database,
  user: { id: number; admin: boolean },
  { performance_bar_enabled: on, performance_bar_allowed_group_id: group }: Allowed,
): Promise<boolean> {
  if (!on || user.admin) return on
  if (group === null) return false
  const [found] = await selectLevel(db, null).execute({ group: Number(group), user: user.id })
  return (found?.level ?? 0) > 0
}
