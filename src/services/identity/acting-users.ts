import { sql } from 'drizzle-orm'
import { actingAs, actorOf, type Caller, type SignedIn } from '../../access/actor.js'
import { getProjectFor, type ProjectSubject } from '../../access/rules.js'
import type { Context } from '../../context.js'
import { users } from '../../db/schema/index.js'
import { statement } from '../../db/statement.js'
import { nullOnFailure } from '../../failures.js'

/** A caller for work that a user requested earlier and that runs now without their token. */
export const actingUser = (user: typeof users.$inferSelect): SignedIn => actingAs(actorOf(user))

const selectActiveUser = statement('active user', (db) =>
  db
    .select()
    .from(users)
    .where(sql`${users.id} = ${sql.placeholder('id')} and ${users.state} = 'active'`),
)

/** `actingUser` by id, read from the current row; null when the user is gone or blocked. */
export async function findActiveUser(ctx: Context, id: number): Promise<SignedIn | null> {
  const [user] = await selectActiveUser(ctx.db, null).execute({ id })
  return user ? actingUser(user) : null
}

/** A project with the user's abilities on it; null when it is gone, waits for its removal, or is not visible to them. */
export async function findVisibleProject(ctx: Context, caller: Pick<Caller, 'user'>, idOrPath: number | string): Promise<ProjectSubject | null> {
  const subject = await nullOnFailure(getProjectFor(ctx, caller, String(idOrPath)))
  return subject?.project.marked_for_deletion_at ? null : subject
}
