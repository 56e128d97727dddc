import { eq, type SQL, sql } from 'drizzle-orm'
import type { Context } from '../../context.js'
import type { Transaction } from '../../db/client.js'
import { bots, tokens, users } from '../../db/schema/index.js'
import { dayOf } from '../../lib/text/day.js'

/** Whether an account is the bot of a project or group, rather than a person's. */
export async function isBot(tx: Pick<Transaction, 'select'>, userId: number): Promise<boolean> {
  const found = await tx.select({ id: bots.user_id }).from(bots).where(eq(bots.user_id, userId))
  return found.length > 0
}

/**
 * Ends all access of bots whose project or group is being removed; a job removes the accounts (PT-7). `condition` is a
 * condition on `bots b`.
 */
export async function retireBots(tx: Transaction, condition: SQL): Promise<void> {
  await tx.execute(
    sql`update users u set removal = 'soft', state = 'blocked' from bots b where b.user_id = u.id and u.removal is null and (${condition})`,
  )
}

/** Bots without an active token, and those whose removal has begun. */
export async function botsToRemove(ctx: Context): Promise<{ id: number; removal: 'soft' | 'hard' | null }[]> {
  const today = dayOf(ctx.now())
  const active = sql`select from ${tokens} t where t.user_id = ${users.id} and not t.revoked and (t.expires_at is null or t.expires_at > ${today})`
  return ctx.db.write
    .select({ id: users.id, removal: users.removal })
    .from(bots)
    .innerJoin(users, eq(users.id, bots.user_id))
    .where(sql`${users.removal} is not null or not exists (${active})`)
    .orderBy(users.id)
    .limit(1_000)
}
