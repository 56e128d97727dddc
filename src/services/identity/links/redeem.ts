import { and, eq, sql } from 'drizzle-orm'
import type { Context } from '../../../context.js'
import type { Transaction } from '../../../db/client.js'
import { emails, users } from '../../../db/schema/index.js'
import { invalidRecord } from '../../../failures.js'
import { audit } from '../../core/audit.js'
import { dropOtherClaims, isEmailTaken, lockEmail } from '../emails.js'
import { revokeGrants } from '../oauth.js'
import { hashPassword } from '../passwords.js'
import { passwordFault, type User } from '../users.js'
import { type AccountLink, consumeLink, findLink } from './links.js'

/** Confirms the address that a link was sent to. False when the link is not valid, or somebody else has the address. */
export async function confirmAddress(ctx: Context, token: string): Promise<boolean> {
  const link = await findLink(ctx, 'confirm', token)
  if (!link) return false
  return ctx.db.transaction(async (tx) => (await consumeLink(tx, link)) && (await confirm(ctx, tx, link)))
}

async function confirm(ctx: Context, tx: Transaction, { user_id, email }: AccountLink): Promise<boolean> {
  await lockEmail(tx, email)
  if (await isEmailTaken(tx, email, user_id)) return false
  const confirmed = { confirmed_at: ctx.now(), updated_at: ctx.now() }
  const primary = await tx
    .update(users)
    .set(confirmed)
    .where(and(eq(users.id, user_id), eq(users.email, email), sql`${users.confirmed_at} is null`))
    .returning({ id: users.id })
  const secondary = await tx
    .update(emails)
    .set(confirmed)
    .where(and(eq(emails.user_id, user_id), eq(emails.email, email), sql`${emails.confirmed_at} is null`))
    .returning({ id: emails.id })
  await dropOtherClaims(tx, user_id, email)
  if (primary.length + secondary.length > 0)
    await audit(ctx, tx, {
      action: 'email_confirmed',
      target: { type: 'email', id: secondary[0]?.id ?? 0, name: email },
      actorId: user_id,
      changes: { user_id },
    })
  return true
}

/**
 * Sets the password of the user that a link was sent to, and confirms the address (ML-19, ML-24). False when the link
 * is not valid; 400 for an invalid password, after which the link can still be used.
 */
export async function setPassword(ctx: Context, token: string, password: string): Promise<boolean> {
  const link = await findLink(ctx, 'reset', token)
  if (!link) return false
  const fault = passwordFault(password)
  if (fault) throw invalidRecord({ password: [fault] })
  const password_hash = await hashPassword(ctx, password)
  return ctx.db.transaction(async (tx) => {
    if (!(await consumeLink(tx, link))) return false
    const values: Partial<User> = { password_hash, password_expired: false, updated_at: ctx.now() }
    const [user] = await tx.update(users).set(values).where(eq(users.id, link.user_id)).returning({ username: users.username })
    await confirm(ctx, tx, link)
    await revokeGrants(tx, link.user_id, { now: ctx.now() })
    const target = { type: 'user' as const, id: link.user_id, name: user?.username ?? '' }
    await audit(ctx, tx, { action: 'user_updated', target, actorId: link.user_id, changes: { password_hash: 'changed', by: 'reset link' } })
    return true
  })
}
