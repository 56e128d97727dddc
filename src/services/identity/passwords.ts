import { sql } from 'drizzle-orm'
import { ANONYMOUS } from '../../access/actor.js'
import { maySignIn } from '../../access/sessions.js'
import { type Context, withOrigin } from '../../context.js'
import { deployTokens, tokens, type users } from '../../db/schema/index.js'
import { tooMany } from '../../failures.js'
import type { VerifyHooks } from '../../lib/crypto/argon2.js'
import { digestOf } from '../../lib/crypto/secret.js'
import { audit } from '../core/audit.js'
import type { Settings } from '../core/settings.js'
import { recordFailedLogin } from '../outbox/record.js'

export const hashPassword = (ctx: Pick<Context, 'cpu'>, password: string) => ctx.cpu.argon2.hash(password)

/**
 * Whether the password matches the stored hash. An unknown account, or one without a password, takes the same time as a
 * wrong password (SEC-27).
 */
export async function checkPassword(
  ctx: Pick<Context, 'cpu'>,
  stored: string | null | undefined,
  password: string,
  { begin, end }: VerifyHooks = {},
): Promise<boolean> {
  if (password.length === 0 || password.length > 128) {
    await end?.(false)
    return false
  }
  const isRight = (matches: boolean) => matches && typeof stored === 'string'
  const matches = await ctx.cpu.argon2.verify(stored ?? ctx.cpu.argon2.decoy, password, {
    ...(begin && { begin }),
    ...(end && { end: (matches) => end(isRight(matches)) }),
  })
  return isRight(matches)
}

/** Whether a user must confirm their address before they can use their password (CR-4). */
export const mustConfirm = ({ mail }: Pick<Context, 'mail'>, user: typeof users.$inferSelect, { send_user_confirmation_email }: Settings): boolean =>
  mail !== null && send_user_confirmation_email === true && user.confirmed_at === null

/** The message for a password that an administrator set (CR-24). */
export const mustChange = (base: string) =>
  `The password was set by an administrator and must be changed before it is used: at ${base}/-/profile/password/new, or by PUT ${base}/api/v4/user/password with username, current_password and password`

/** Characters of a name that was tried which are written down. */
const MAX_LOGIN = 255

/** A password that is checked for a login name; the account may not exist. */
interface Guess {
  login: string
  user: typeof users.$inferSelect | null | undefined
  address: string
}

/**
 * Whether the password is right for a login name, whose user may not exist. 429 when the address has guessed too often,
 * before anything is hashed (SEC-26, CR-15).
 */
export async function checkSignIn(ctx: Context, guess: Guess, password: string): Promise<boolean> {
  const account = guess.user ? `user ${guess.user.id}` : `name ${guess.login.slice(0, MAX_LOGIN).toLowerCase()}`
  const checkThrottle = async () => {
    const wait = await ctx.access.throttle.wait(guess.address, account)
    if (wait === 0) return
    ctx.log.debug({ address: guess.address, account }, 'a sign-in is throttled')
    throw tooMany(wait)
  }
  const count = (matches: boolean) =>
    matches ? ctx.access.throttle.succeeded(guess.address, account) : ctx.access.throttle.failed(guess.address, account)
  const verify = async () => {
    await checkThrottle()
    // checked again right before hashing: other guesses may have failed meanwhile
    return checkPassword(ctx, guess.user?.password_hash, password, { begin: checkThrottle, end: count })
  }
  const matches = await verify().catch((refusal: unknown) => ctx.access.throttle.refuse(refusal))
  ctx.monitoring.metrics.login('password', matches ? 'done' : 'refused')
  if (!matches) {
    await recordRefusal(ctx, guess, guess.user ? 'wrong password' : 'no such account')
    await recordFailedLogin(ctx.db, guess.user?.id ?? 0)
  }
  if (matches && guess.user && !maySignIn(guess.user)) await recordRefusal(ctx, guess, 'the account is blocked')
  return matches
}

/** Logs and audits a refused sign-in with the name that was tried (SEC-168). */
export async function recordRefusal(ctx: Context, guess: Guess, reason: string): Promise<void> {
  const login = await shownLogin(ctx, guess)
  ctx.log.warn({ account: login, address: guess.address, reason }, 'a sign-in failed')
  await auditSignIn(ctx, { ...guess, login }, reason)
}

/** Writes an audit row of a sign-in; `refusal` is null for one that succeeded. */
export async function auditSignIn(ctx: Context, { login, user, address }: Guess, refusal: string | null): Promise<void> {
  const origin = ctx.origin ?? { caller: ANONYMOUS, address, userAgent: '', requestId: '' }
  await audit(withOrigin(ctx, origin), ctx.db.write, {
    action: refusal === null ? 'sign_in_done' : 'sign_in_refused',
    target: { type: 'user', id: user?.id ?? null, name: login },
    actorId: refusal === null ? user?.id : null,
    changes: refusal === null ? {} : { reason: refusal },
  })
}

/**
 * The name as it may be written down: some clients send a token as the name (SEC-24). Looked up for every name, so that
 * an account that exists takes the same time (SEC-27).
 */
async function shownLogin(ctx: Context, { login }: Guess): Promise<string> {
  const digest = digestOf(login)
  const { rows } = await ctx.db.write.execute(sql`select from ${tokens} where ${tokens.digest} = ${digest}
    union all select from ${deployTokens} where ${deployTokens.digest} = ${digest}`)
  return rows.length > 0 ? '(a token)' : login.slice(0, MAX_LOGIN)
}
