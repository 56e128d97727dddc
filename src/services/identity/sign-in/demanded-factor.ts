import { eq, sql } from 'drizzle-orm'
import { endOfGrace, secondFactorDemand } from '../../../access/sessions.js'
import type { Context } from '../../../context.js'
import { users } from '../../../db/schema/index.js'

/** Writes down when a user was first asked to set up a second factor, and answers it. */
export async function askForSecondFactor(ctx: Context, userId: number, now: Date): Promise<Date> {
  const [row] = await ctx.db.write
    .update(users)
    .set({ second_factor_asked_at: sql`coalesce(${users.second_factor_asked_at}, ${now.toISOString()})` })
    .where(eq(users.id, userId))
    .returning({ asked_at: users.second_factor_asked_at })
  return row?.asked_at ?? now
}

/** Whether a second factor is demanded that the user does not have, and the period of grace is over; it begins here, too (WB-24). */
export async function lacksSecondFactor(ctx: Context, userId: number): Promise<boolean> {
  const demand = await secondFactorDemand(ctx, userId)
  if (!demand) return false
  const now = ctx.now()
  return endOfGrace({ ...demand, askedAt: await askForSecondFactor(ctx, userId, now) }, now) <= now
}
