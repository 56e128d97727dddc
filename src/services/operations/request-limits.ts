import { desc, eq } from 'drizzle-orm'
import ipaddr from 'ipaddr.js'
import type { Context } from '../../context.js'
import { onlyRow } from '../../db/only-row.js'
import { requestLimits, users } from '../../db/schema/index.js'
import { invalidRecord, notFound } from '../../failures.js'
import { audit } from '../core/audit.js'
import { lockName } from '../core/lock-name.js'
import { MAX_OWN_LIMITS } from '../core/settings-cache.js'
import { findUserByName } from '../identity/users.js'

export interface OwnLimit {
  id: number
  /** Null for an address. */
  username: string | null
  address: string | null
  requests: number
  created_at: Date
}

const MAX_REQUESTS = 1_000_000

/** The users and addresses with a limit of their own, the newest first (WB-206). */
export const listOwnLimits = ({ db }: Context): Promise<OwnLimit[]> =>
  db.write
    .select({
      id: requestLimits.id,
      username: users.username,
      address: requestLimits.address,
      requests: requestLimits.requests,
      created_at: requestLimits.created_at,
    })
    .from(requestLimits)
    .leftJoin(users, eq(users.id, requestLimits.user_id))
    .orderBy(desc(requestLimits.id))
    .limit(MAX_OWN_LIMITS)

/** Gives a user, by name, or an address a limit of its own, in place of the one that it has. */
export async function setOwnLimit(ctx: Context, caller: string, requests: number): Promise<OwnLimit> {
  const faults: Record<string, string[]> = {}
  const address = ipaddr.isValid(caller) ? ipaddr.process(caller).toString() : null
  const user = address === null ? await findUserByName(ctx, caller) : null
  if (address === null && !user) faults['caller'] = ['is neither a username nor an IP address']
  if (!(requests >= 0 && requests <= MAX_REQUESTS)) faults['requests'] = [`must be between 0 and ${MAX_REQUESTS}`]
  if (Object.keys(faults).length > 0) throw invalidRecord(faults)
  const user_id = user?.id ?? null
  const made = await ctx.db.transaction(async (tx) => {
    await lockName(tx, 'request limits')
    const held = user_id === null ? eq(requestLimits.address, address ?? '') : eq(requestLimits.user_id, user_id)
    await tx.delete(requestLimits).where(held)
    if ((await tx.$count(requestLimits)) >= MAX_OWN_LIMITS) throw invalidRecord({ caller: [`cannot be added: there are ${MAX_OWN_LIMITS}`] })
    const row = onlyRow(await tx.insert(requestLimits).values({ user_id, address, requests, created_at: ctx.now() }).returning())
    const target = user ? { type: 'user' as const, id: user.id, name: user.username } : { type: 'settings' as const, id: null, name: address ?? '' }
    await audit(ctx, tx, { action: 'request_limit_set', target, changes: { requests } })
    return { id: row.id, username: user?.username ?? null, address, requests, created_at: row.created_at }
  })
  ctx.caches.settings.invalidate()
  return made
}

export async function removeOwnLimit(ctx: Context, id: number): Promise<void> {
  await ctx.db.transaction(async (tx) => {
    const [removed] = await tx.delete(requestLimits).where(eq(requestLimits.id, id)).returning()
    if (!removed) throw notFound('Request Limit')
    const { user_id, address } = removed
    const [user] = user_id === null ? [] : await tx.select({ username: users.username }).from(users).where(eq(users.id, user_id))
    const target = { type: user ? ('user' as const) : ('settings' as const), id: user_id, name: user?.username ?? address ?? '' }
    await audit(ctx, tx, { action: 'request_limit_removed', target })
  })
  ctx.caches.settings.invalidate()
}
