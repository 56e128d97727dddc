import { eq } from 'drizzle-orm'
import type { Context } from '../../context.js'
import { hookDeliveries, webHooks } from '../../db/schema/index.js'
import { attempt, waitAfter } from './attempts.js'

/** Milliseconds after which a delivery that nobody has taken is given up (HK-12). */
const LIFE = 24 * 3_600_000

/**
 * Makes one attempt of a delivery, unless it is over or its hook is set aside. Returns the moment of the next attempt;
 * null: there is none (HK-12, HK-26).
 */
export async function deliverOnce(ctx: Context, id: number): Promise<Date | null> {
  const [found] = await ctx.db.write
    .select({ delivery: hookDeliveries, hook: webHooks })
    .from(hookDeliveries)
    .innerJoin(webHooks, eq(webHooks.id, hookDeliveries.hook_id))
    .where(eq(hookDeliveries.id, id))
  if (found?.delivery.state !== 'pending') return null
  const { delivery, hook } = found
  const end = new Date(delivery.created_at.getTime() + LIFE)
  const now = ctx.now()
  if (hook.disabled_until !== null && hook.disabled_until > now) return hook.disabled_until < end ? hook.disabled_until : giveUp(ctx, id)
  const made = await attempt(ctx, hook, delivery)
  if (made.attempt.status !== null) return null
  const next = new Date(now.getTime() + waitAfter(delivery.attempts + 1))
  return next < end ? next : giveUp(ctx, id)
}

/** No attempt is left; it can still be sent by hand (HK-7). */
async function giveUp(ctx: Context, id: number): Promise<null> {
  await ctx.db.write.update(hookDeliveries).set({ state: 'failed' }).where(eq(hookDeliveries.id, id))
  return null
}
