import { type SignedIn, withoutToken } from '../../access/actor.js'
import { findProjectFor, type ProjectSubject } from '../../access/rules.js'
import type { Context } from '../../context.js'
import type { users } from '../../db/schema/index.js'
import { Failure } from '../../failures.js'
import { actorOf } from './users.js'

/** A user in whose name the service does what they asked for earlier, without a token. */
export const actingUser = (user: typeof users.$inferSelect): SignedIn => withoutToken(actorOf(user))

/** The project with a user's abilities; null when it is gone or they do not see it. */
export async function findVisibleProject(ctx: Context, caller: SignedIn, id: number): Promise<ProjectSubject | null> {
  try {
    return await findProjectFor(ctx, caller, String(id))
  } catch (error) {
    if (error instanceof Failure) return null
    throw error
  }
}
