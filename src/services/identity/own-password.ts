import { and, eq } from 'drizzle-orm'
import type { Caller } from '../../access/actor.js'
import { checkAddress } from '../../access/addresses.js'
import type { Context } from '../../context.js'
import { users } from '../../db/schema/index.js'
import { invalidInput, invalidRecord, unauthenticated } from '../../failures.js'
import { audit } from '../core/audit.js'
import { revokeGrants, userByPassword } from './oauth.js'
import { checkSignIn, hashPassword } from './passwords.js'
import { getUser, passwordFault, type User } from './users.js'

export interface PasswordChange {
  username?: string | undefined
  current_password: string
  password: string
}

/**
 * Changes the caller's own password, which needs the current one; without a token, `username` names the user (CR-24).
 * `session` is the session that the call comes from, which goes on.
 */
export async function changeOwnPassword(
  ctx: Context,
  caller: Caller,
  { username, current_password, password }: PasswordChange,
  session?: number,
): Promise<void> {
  const user = caller.user ? await verifyCaller(ctx, caller.user.id, current_password) : await signIn(ctx, username, current_password)
  const fault = password === current_password ? 'must differ from the current one' : passwordFault(password)
  if (fault) throw invalidRecord({ password: [fault] })
  const password_hash = await hashPassword(ctx, password)
  await ctx.db.transaction(async (tx) => {
    const changed = await tx
      .update(users)
      .set({ password_hash, password_expired: false, updated_at: ctx.now() })
      // fails when a concurrent call has changed the password that was verified
      .where(and(eq(users.id, user.id), eq(users.password_hash, user.password_hash ?? '')))
      .returning({ id: users.id })
    if (changed.length === 0) throw wrongPassword()
    await revokeGrants(tx, user.id, { now: ctx.now(), session })
    await audit(ctx, tx, {
      action: 'user_updated',
      target: { type: 'user', id: user.id, name: user.username },
      actorId: user.id,
      changes: { password_hash: 'changed' },
    })
  })
}

const wrongPassword = () => invalidRecord({ current_password: ['is invalid'] })

/** Throws unless this is the password of the account; guesses are limited like sign-ins. */
export async function checkOwnPassword(ctx: Context, id: number, password: string, field = 'password'): Promise<void> {
  const user = await getUser(ctx, id)
  const guess = { login: user.username, user, address: ctx.origin?.address ?? '' }
  if (!(await checkSignIn(ctx, guess, password))) throw invalidRecord({ [field]: ['is wrong'] })
}

/** A token alone does not suffice to change the password, and does not exempt from the limit on guessing. */
async function verifyCaller(ctx: Context, id: number, password: string): Promise<User> {
  const user = await getUser(ctx, id)
  const guess = { login: user.username, user, address: ctx.origin?.address ?? '' }
  if (await checkSignIn(ctx, guess, password)) return user
  throw wrongPassword()
}

async function signIn(ctx: Context, username: string | undefined, password: string): Promise<User> {
  if (username === undefined) throw unauthenticated()
  if (username.includes('\0')) throw invalidInput('username is invalid')
  const user = await userByPassword(ctx, username, password)
  if (!user) throw unauthenticated()
  await checkAddress(ctx, user.id, ctx.origin?.address ?? '')
  return user
}
