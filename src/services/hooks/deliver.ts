import { eq } from 'drizzle-orm'
import type { Context } from '../../context.js'
import { hookDeliveries, webHooks } from '../../db/schema/index.js'
import { attemptDelivery, backoffMs } from './attempts.js'

/** The age at which a delivery without an answer fails for good (HK-12). */
const MAX_AGE_MS = 24 * 3_600_000

/**
 * Makes one attempt of a pending delivery, unless its hook is disabled. Returns the milliseconds until the next
 * attempt, or null if there is none (HK-12, HK-26).
 */
export async function deliverOnce(ctx: Context, id: number): Promise<number | null> {
  const [found] = await ctx.db.write
    .select({ delivery: hookDeliveries, hook: webHooks })
    .from(hookDeliveries)
    .innerJoin(webHooks, eq(webHooks.id, hookDeliveries.hook_id))
    .where(eq(hookDeliveries.id, id))
  if (found?.delivery.state !== 'pending') return null
  const { delivery, hook } = found
  const end = new Date(delivery.created_at.getTime() + MAX_AGE_MS)
  const now = ctx.now()
  const until = (next: Date) => (next < end ? next.getTime() - now.getTime() : markFailed(ctx, id))
  if (hook.disabled_until !== null && hook.disabled_until > now) return until(hook.disabled_until)
  const made = await attemptDelivery(ctx, hook, delivery)
  if (made?.attempt.status !== null) return null
  return until(new Date(now.getTime() + backoffMs(delivery.attempts + 1)))
}

/** Ends the automatic attempts; the delivery can still be resent by a call (HK-7). */
async function markFailed(ctx: Context, id: number): Promise<null> {
  await ctx.db.write.update(hookDeliveries).set({ state: 'failed' }).where(eq(hookDeliveries.id, id))
  return null
}
