import { randomUUID } from 'node:crypto'
import { eq } from 'drizzle-orm'
import type { Context } from '../../../context.js'
import type { Transaction } from '../../../db/client.js'
import { users } from '../../../db/schema/index.js'
import { retryOnUniqueViolation } from '../../../db/unique-violation.js'
import { conflict, Failure, invalidRecord, notFound } from '../../../failures.js'
import { normaliseEmail } from '../../../rules/email.js'
import { domainFault } from '../../../rules/email-domains.js'
import { audit } from '../../core/audit.js'
import { readSettings, type Settings } from '../../core/settings.js'
import { isEmailTaken } from '../emails.js'
import { mailLink } from '../links/mail.js'
import { hashPassword } from '../passwords.js'
import { insertUser, passwordFault, type User, userFaults } from '../users.js'
import { mailApproval, mailWaiting } from './sign-up-mail.js'

export interface SignUp {
  name: string
  username: string
  email: string
  password: string
}

/** Whether the address of a new account is confirmed by mail, before its password signs in (CR-4). */
export const confirmsByMail = ({ mail }: Pick<Context, 'mail'>, { send_user_confirmation_email }: Settings) =>
  mail !== null && send_user_confirmation_email

/**
 * Makes an account for a visitor; null if it cannot sign in yet, or if none was made because an account has the address.
 * With mails that confirm addresses nothing tells the two apart: the owner of the address gets a mail (WB-26).
 */
export async function signUp(ctx: Context, given: SignUp): Promise<User | null> {
  const settings = await readSettings(ctx)
  if (!settings.signup_enabled) throw notFound()
  const email = normaliseEmail(given.email)
  const byMail = confirmsByMail(ctx, settings)
  const hash = passwordFault(given.password) === undefined ? await hashPassword(ctx, given.password) : null
  const external = settings.user_default_external
  const waits = settings.require_admin_approval_after_user_signup

  const create = () =>
    ctx.db.transaction(async (tx) => {
      const hidden = byMail && (await isEmailTaken(tx, email))
      const faults = await userFaults(tx, { ...given, email: hidden ? undefined : email }, null)
      const excluded = domainFault(email, settings)
      if (excluded !== null && !faults['email']) faults['email'] = [excluded]
      if (Object.keys(faults).length > 0) throw invalidRecord(faults)
      const values = {
        username: given.username,
        name: given.name,
        email,
        password_hash: hash,
        state: waits ? ('blocked_pending_approval' as const) : ('active' as const),
        external,
        projects_limit: external ? 0 : settings.default_projects_limit,
        can_create_group: !external,
      }
      if (hidden) {
        await pretend(tx, values)
        await mailLink(ctx, tx, 'taken', email)
        await mailLink(ctx, tx, 'confirm', email)
        return null
      }
      const user = await insertUser(tx, values)
      await audit(ctx, tx, {
        action: 'user_created',
        target: { type: 'user', id: user.id, name: user.username },
        actorId: user.id,
        changes: { by: 'sign-up', state: user.state, external },
      })
      if (byMail) await mailLink(ctx, tx, 'confirm', email)
      if (waits) await mailWaiting(ctx, tx, settings)
      return waits || byMail ? null : user
    })
  return retryOnUniqueViolation(create)
}

/** Does the work of making an account, and undoes it: a taken address takes as long as a free one. */
async function pretend(tx: Transaction, values: typeof users.$inferInsert): Promise<void> {
  const undone = new Error('undone')
  try {
    await tx.transaction(async (inner) => {
      await insertUser(inner, { ...values, email: `${randomUUID()}@invalid` })
      throw undone
    })
  } catch (error) {
    if (error !== undone) throw error
  }
}

/** Lets a user in who waits for that (US-72). */
export async function approveUser(ctx: Context, id: number): Promise<void> {
  await decide(ctx, id, 'active', () => new Failure('forbidden', { message: 'The user you are trying to approve is not pending approval' }))
}

/** Refuses a user who waits to be let in, whose account can then be removed (US-73). */
export async function refuseUser(ctx: Context, id: number): Promise<void> {
  await decide(ctx, id, 'blocked', () => conflict('User does not have a pending request'))
}

async function decide(ctx: Context, id: number, state: 'active' | 'blocked', refusal: () => Failure): Promise<void> {
  await ctx.db.transaction(async (tx) => {
    const [user] = await tx.select().from(users).where(eq(users.id, id)).for('update')
    if (user?.kind !== 'human') throw notFound('User')
    if (user.state !== 'blocked_pending_approval') throw refusal()
    await tx.update(users).set({ state, updated_at: ctx.now() }).where(eq(users.id, id))
    await audit(ctx, tx, { action: state === 'active' ? 'user_approved' : 'user_rejected', target: { type: 'user', id, name: user.username } })
    if (state === 'active') await mailApproval(ctx, tx, id)
  })
}
