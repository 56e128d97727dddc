import { and, eq, gt, lt, sql } from 'drizzle-orm'
import { maySignIn } from '../../../access/sessions.js'
import type { Context } from '../../../context.js'
import type { Transaction } from '../../../db/client.js'
import { accountLinks, emails, users } from '../../../db/schema/index.js'
import { digestOf, newSecret } from '../../../lib/crypto/secret.js'

export type AccountLink = typeof accountLinks.$inferSelect

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
/** Maximum number of links per hour, to one address and for one user (ML-27). */
const MAX_LINKS = { ofAddress: 5, ofUser: 20 }

/**
 * Creates a link for a user and an address and returns its token; null when the limits are reached (ML-27). A retry of
 * the job that sends it replaces the job's earlier link.
 */
export async function createLink(
  ctx: Context,
  { user_id, email, purpose, job_id, lifetimeMs }: Pick<AccountLink, 'user_id' | 'email' | 'purpose' | 'job_id'> & { lifetimeMs: number },
): Promise<string | null> {
  const now = ctx.now()
  const since = (milliseconds: number) => new Date(now.getTime() - milliseconds)
  return ctx.db.transaction(async (tx) => {
    // serialises calls for one user, so that the limits hold
    await tx.select({ id: users.id }).from(users).where(eq(users.id, user_id)).for('update')
    const own = eq(accountLinks.user_id, user_id)
    await tx.delete(accountLinks).where(and(own, sql`(${accountLinks.job_id} = ${job_id} or ${lt(accountLinks.expires_at, now)})`))
    const recent = await tx
      .select()
      .from(accountLinks)
      .where(and(own, gt(accountLinks.created_at, since(HOUR_MS))))
    const similar = recent.filter((link) => link.email === email && link.purpose === purpose)
    if (similar.some(({ created_at }) => created_at > since(MINUTE_MS)) || similar.length >= MAX_LINKS.ofAddress || recent.length >= MAX_LINKS.ofUser)
      return null
    const token = newSecret(ctx.random, 'mail link')
    await tx
      .insert(accountLinks)
      .values({ digest: digestOf(token), purpose, user_id, email, job_id, expires_at: new Date(now.getTime() + lifetimeMs), created_at: now })
    return token
  })
}

/**
 * The valid link of a token (ML-20); null when it is unknown, used or expired, or the user no longer has the address
 * or is blocked. One who waits for approval may confirm an address.
 */
export async function findLink(ctx: Context, purpose: AccountLink['purpose'], token: string): Promise<AccountLink | null> {
  const [found] = await ctx.db.write
    .select({ link: accountLinks, user: users })
    .from(accountLinks)
    .innerJoin(users, eq(users.id, accountLinks.user_id))
    .where(and(eq(accountLinks.digest, digestOf(token)), eq(accountLinks.purpose, purpose), gt(accountLinks.expires_at, ctx.now())))
  if (found?.user.kind !== 'human' || found.user.removal !== null) return null
  const { state } = found.user
  if (!maySignIn({ state }) && !(state === 'blocked_pending_approval' && purpose === 'confirm')) return null
  if (found.user.email === found.link.email) return found.link
  const [secondary] = await ctx.db.write
    .select({ id: emails.id })
    .from(emails)
    .where(and(eq(emails.user_id, found.user.id), eq(emails.email, found.link.email)))
  return secondary ? found.link : null
}

/** Deletes a link on use, so that it works once. False when another call was faster. */
export const consumeLink = async (tx: Transaction, { id }: AccountLink): Promise<boolean> =>
  (await tx.delete(accountLinks).where(eq(accountLinks.id, id)).returning({ id: accountLinks.id })).length > 0
