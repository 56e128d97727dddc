import { and, asc, eq } from 'drizzle-orm'
import type { Context } from '../../../context.js'
import { identities, users } from '../../../db/schema/index.js'
import { notFound, refused } from '../../../failures.js'
import { auditIdentity } from './sign-on.js'

/** The identities of a user elsewhere, in the order in which they were connected. */
export const listIdentities = (ctx: Context, userId: number) =>
  ctx.db.read.select().from(identities).where(eq(identities.user_id, userId)).orderBy(asc(identities.id))

/** Disconnects a user from a provider; 400 if it is the only way to sign in (WB-47). */
export async function unlinkIdentity(ctx: Context, { id, username }: { id: number; username: string }, provider: string): Promise<void> {
  await ctx.db.transaction(async (tx) => {
    const [user] = await tx.select({ password_hash: users.password_hash }).from(users).where(eq(users.id, id)).for('no key update')
    const own = await tx.select().from(identities).where(eq(identities.user_id, id))
    if (!user || !own.some((one) => one.provider === provider)) throw notFound()
    if (own.length === 1 && user.password_hash === null) throw refused('This is the only way to sign in to your account: set a password first')
    await tx.delete(identities).where(and(eq(identities.user_id, id), eq(identities.provider, provider)))
    await auditIdentity(ctx, tx, 'identity_unlinked', { id, username }, provider)
  })
}
