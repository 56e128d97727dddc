import { sql } from 'drizzle-orm'
import type { ActorUser } from '../../access/actor.js'
import type { Context } from '../../context.js'
import { decoded } from '../../db/decoded.js'
import { projects, users } from '../../db/schema/index.js'
import { statement } from '../../db/statement.js'

/** What an administrator of a new service has done of what makes it useful. */
export interface FirstSteps {
  /** Somebody else has an account. */
  hasColleague: boolean
  hasProject: boolean
}

const selectSteps = statement('first steps', (db) =>
  db
    .select({
      hasColleague: decoded(
        sql<boolean>`exists (select 1 from ${users} where ${users.id} <> ${sql.placeholder('user')} and ${users.kind} = 'human')`,
        Boolean,
      ),
      hasProject: decoded(sql<boolean>`exists (select 1 from ${projects})`, Boolean),
    })
    .from(sql`(values (1)) one`),
)

/** What is left to do for an administrator of a new service; null for all others, and when nothing is (WB-526). */
export async function loadFirstSteps(ctx: Context, viewer: ActorUser): Promise<FirstSteps | null> {
  if (!viewer.admin) return null
  const [row] = await selectSteps(ctx.db, null).execute({ user: viewer.id })
  return row && !(row.hasColleague && row.hasProject) ? row : null
}
