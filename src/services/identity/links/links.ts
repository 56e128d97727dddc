import { and, eq, gt, lt, sql } from 'drizzle-orm'
import type { Context } from '../../../context.js'
import type { Transaction } from '../../../db/client.js'
import { accountLinks, emails, users } from '../../../db/schema/index.js'
import { digestOf, newSecret } from '../../../lib/crypto/secret.js'

export type AccountLink = typeof accountLinks.$inferSelect

const MINUTE = 60_000
const HOUR = 60 * MINUTE
/** Links to one address, and of one user, within an hour (ML-27). */
const MAX_LINKS = { ofAddress: 5, ofUser: 20 }

/**
 * The token of a new link for a user and an address; null: they had too many lately (ML-27). The job that sends it may
 * repeat this: its former link is replaced.
 */
export async function makeLink(
  ctx: Context,
  { user_id, email, purpose, job_id, life }: Pick<AccountLink, 'user_id' | 'email' | 'purpose' | 'job_id'> & { life: number },
): Promise<string | null> {
  const now = ctx.now()
  const since = (milliseconds: number) => new Date(now.getTime() - milliseconds)
  return ctx.db.transaction(async (tx) => {
    // one after the other
    await tx.select({ id: users.id }).from(users).where(eq(users.id, user_id)).for('update')
    const own = eq(accountLinks.user_id, user_id)
    await tx.delete(accountLinks).where(and(own, sql`(${accountLinks.job_id} = ${job_id} or ${lt(accountLinks.expires_at, now)})`))
    const made = await tx
      .select()
      .from(accountLinks)
      .where(and(own, gt(accountLinks.created_at, since(HOUR))))
    const alike = made.filter((link) => link.email === email && link.purpose === purpose)
    if (alike.some(({ created_at }) => created_at > since(MINUTE)) || alike.length >= MAX_LINKS.ofAddress || made.length >= MAX_LINKS.ofUser)
      return null
    const token = newSecret(ctx.random, 'mail link')
    await tx
      .insert(accountLinks)
      .values({ digest: digestOf(token), purpose, user_id, email, job_id, expires_at: new Date(now.getTime() + life), created_at: now })
    return token
  })
}

/**
 * What a token stands for, while it works (ML-20); null: it is unknown, used or expired, or the address is not theirs.
 */
export async function findLink(ctx: Context, purpose: AccountLink['purpose'], token: string): Promise<AccountLink | null> {
  const [found] = await ctx.db.write
    .select({ link: accountLinks, user: users })
    .from(accountLinks)
    .innerJoin(users, eq(users.id, accountLinks.user_id))
    .where(and(eq(accountLinks.digest, digestOf(token)), eq(accountLinks.purpose, purpose), gt(accountLinks.expires_at, ctx.now())))
  if (found?.user.state !== 'active' || found.user.kind !== 'human' || found.user.removal !== null) return null
  if (found.user.email === found.link.email) return found.link
  const [second] = await ctx.db.write
    .select({ id: emails.id })
    .from(emails)
    .where(and(eq(emails.user_id, found.user.id), eq(emails.email, found.link.email)))
  return second ? found.link : null
}

/** Takes a link, so that it works once. False: another call was faster. */
export const takeLink = async (tx: Transaction, { id }: AccountLink): Promise<boolean> =>
  (await tx.delete(accountLinks).where(eq(accountLinks.id, id)).returning({ id: accountLinks.id })).length > 0
