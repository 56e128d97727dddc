import { and, eq, gt, lte, ne, sql } from 'drizzle-orm'
import type { Context } from '../context.js'
import { decoded } from '../db/decoded.js'
import { userAddresses, users } from '../db/schema/index.js'
import { forbidden } from '../failures.js'

/** How long an admitted address is not checked again, in milliseconds. */
const ADMITTED_TTL_MS = 1_000

/**
 * Refuses a user who has recently called from as many other addresses as the settings allow (AS-66,
 * `unique_ips_limit_*`). The earlier addresses stay admitted, so a stolen token locks nobody out.
 */
export async function checkAddress(ctx: Context, userId: number, address: string): Promise<void> {
  const { unique_ips_limit_enabled: limited, unique_ips_limit_per_user: max, unique_ips_limit_time_window: window } = await ctx.caches.settings.read()
  if (!limited || max === null || window === null) return
  const now = ctx.now()
  const key = `${userId} ${address}`
  if ((ctx.access.admittedAddresses.get(key) ?? 0) > now.getTime()) return
  const since = new Date(now.getTime() - window * 1000)
  await ctx.db.transaction(async (tx) => {
    // lock the user, so that two new addresses cannot both pass the limit
    await tx.select({ id: users.id }).from(users).where(eq(users.id, userId)).for('no key update')
    const [others] = await tx
      .select({ count: decoded(sql<number>`count(*)`, Number) })
      .from(userAddresses)
      .where(and(eq(userAddresses.user_id, userId), ne(userAddresses.address, address), gt(userAddresses.seen_at, since)))
    if ((others?.count ?? 0) >= max) throw forbidden('Too many logins from different IPs')
    await tx.delete(userAddresses).where(and(eq(userAddresses.user_id, userId), lte(userAddresses.seen_at, since)))
    await tx
      .insert(userAddresses)
      .values({ user_id: userId, address, seen_at: now })
      .onConflictDoUpdate({ target: [userAddresses.user_id, userAddresses.address], set: { seen_at: now } })
  })
  ctx.access.admittedAddresses.set(key, now.getTime() + ADMITTED_TTL_MS)
}
