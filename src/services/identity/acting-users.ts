import { type Caller, type SignedIn, withoutToken } from '../../access/actor.js'
import { findProjectFor, type ProjectSubject } from '../../access/rules.js'
import type { Context } from '../../context.js'
import type { users } from '../../db/schema/index.js'
import { nullOnFailure } from '../../failures.js'
import { actorOf } from './users.js'

/** A user in whose name the service does what they asked for earlier, without a token. */
export const actingUser = (user: typeof users.$inferSelect): SignedIn => withoutToken(actorOf(user))

/** The project with a user's abilities; null when it is gone or they do not see it. */
export const findVisibleProject = (ctx: Context, caller: Pick<Caller, 'user'>, idOrPath: number | string): Promise<ProjectSubject | null> =>
  nullOnFailure(findProjectFor(ctx, caller, String(idOrPath)))
