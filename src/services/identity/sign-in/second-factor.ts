import { and, eq, lt } from 'drizzle-orm'
import { Secret, TOTP } from 'otpauth'
import { maySignIn, SECOND_FACTOR_MS, type Session } from '../../../access/sessions.js'
import type { Context } from '../../../context.js'
import type { Transaction } from '../../../db/client.js'
import { otpSecrets, recoveryCodes, sessions, users, webauthnKeys } from '../../../db/schema/index.js'
import { conflict, Failure, invalidRecord, refused, tooMany, unauthenticated } from '../../../failures.js'
import { enqueue } from '../../../jobs/enqueue.js'
import { digestOf } from '../../../lib/crypto/secret.js'
import { audit } from '../../core/audit.js'
import { MAIL_LANE } from '../../core/mail.js'
import { readSettings } from '../../core/settings.js'
import { recordFailedLogin } from '../../outbox/record.js'
import { wrongCodesMail } from '../credential-mail.js'
import { revokeGrants } from '../oauth.js'
import { checkOwnPassword } from '../own-password.js'
import { mustConfirm, recordRefusal } from '../passwords.js'
import { getUser, type User } from '../users.js'
import { type KeyAnswer, redeemKey } from './security-keys.js'
import { type StartedSession, startSession } from './sessions.js'

const PERIOD_MS = 30_000
/** Periods before and after the present one whose codes are accepted, because clocks differ. */
const WINDOW = 1
const SECRET_BYTES = 20
const RECOVERY_CODES = 10
const RECOVERY_BYTES = 10
/**
 * Wrong answers after which a session that waits ends, and wrong codes after which no further one of the account is
 * checked in the same window: who guesses has the password, so this does not lock out people for others.
 */
const MAX_WRONG = { ofSession: 10, ofAccount: 30 }
/** Longer than a session waits. */
const SESSION_WINDOW_S = (2 * SECOND_FACTOR_MS) / 1000
const ACCOUNT_WINDOW_S = 3_600
/** No code is longer, with spaces and hyphens. */
const MAX_CODE = 64

export const otpPurpose = (userId: number) => `one-time password of user ${userId}`
const setupPurpose = (userId: number) => `new one-time password of user ${userId}`

/** What an authenticator application is set up with. */
export interface Setup {
  /** Encrypted, for the form that proves that the application has it. */
  sealed: string
  /** Base32. */
  secret: string
  /** Of the QR code. */
  uri: string
}

const totpOf = (secret: string, label = '', issuer = '') => new TOTP({ issuer, label, secret: Secret.fromBase32(secret) })

/** A new secret, or that of a form that is shown again. Nothing is stored before a code proves that it has arrived. */
export function setupOf(ctx: Context, { id, username }: { id: number; username: string }, sealed?: string): Setup {
  const given = sealed === undefined ? null : opened(ctx, sealed, setupPurpose(id))
  const secret = given ?? base32(ctx.random.bytes('one-time password', SECRET_BYTES))
  const uri = totpOf(secret, username, `Roost ${new URL(ctx.links.base).host}`).toString()
  return { sealed: given === null ? ctx.encryption.seal(secret, setupPurpose(id)) : (sealed as string), secret, uri }
}

const base32 = (bytes: Buffer) => new Secret({ buffer: Uint8Array.from(bytes).buffer }).base32

/** Null if another key, or for something else, has encrypted it. */
function opened({ encryption }: Context, sealed: string, purpose: string): string | null {
  try {
    return encryption.open(sealed, purpose)
  } catch {
    return null
  }
}

/** The period of a right code, in units of 30 seconds since 1970; null if it is wrong. */
function periodOf(secret: string, code: string, now: Date): number | null {
  const delta = totpOf(secret).validate({ token: code, timestamp: now.getTime(), window: WINDOW })
  return delta === null ? null : Math.floor(now.getTime() / PERIOD_MS) + delta
}

const normalised = (code: string) => code.slice(0, MAX_CODE).replace(/[\s-]/g, '').toLowerCase()

/** The password of one's own account, where it has one. */
async function confirmByPassword(ctx: Context, user: User, password: string, field: string): Promise<void> {
  if (user.password_hash !== null) await checkOwnPassword(ctx, user.id, password, field)
}

/**
 * Turns the second factor on with a code of the application, and answers the recovery codes, which are shown once. Other
 * sessions and the grants of the password end: they had one factor (WB-22).
 */
export async function enableSecondFactor(
  ctx: Context,
  userId: number,
  { password, code, setup, session }: { password: string; code: string; setup: string; session: number | undefined },
): Promise<string[]> {
  const user = await getUser(ctx, userId)
  await confirmByPassword(ctx, user, password, 'current_password')
  const secret = opened(ctx, setup, setupPurpose(userId))
  const period = secret === null ? null : periodOf(secret, normalised(code), ctx.now())
  if (secret === null || period === null)
    throw invalidRecord({ pin_code: ['is wrong: check the clock of the device, and give the code that it shows now'] })
  return ctx.db.transaction(async (tx) => {
    const [locked] = await tx.select({ on: users.two_factor_enabled }).from(users).where(eq(users.id, userId)).for('update')
    if (!locked || locked.on) throw conflict('Two-factor authentication is on already')
    await tx
      .insert(otpSecrets)
      .values({ user_id: userId, sealed: ctx.encryption.seal(secret, otpPurpose(userId)), last_period: period, created_at: ctx.now() })
    await tx.update(users).set({ two_factor_enabled: true, second_factor_asked_at: null, updated_at: ctx.now() }).where(eq(users.id, userId))
    await revokeGrants(tx, userId, { now: ctx.now(), session })
    await audit(ctx, tx, { action: 'two_factor_enabled', target: targetOf(user), actorId: userId })
    return replaceRecoveryCodes(ctx, tx, userId)
  })
}

const targetOf = ({ id, username }: { id: number; username: string }) => ({ type: 'user' as const, id, name: username })

/** Stores the digests of new recovery codes in the place of the old ones. */
async function replaceRecoveryCodes(ctx: Context, tx: Transaction, userId: number): Promise<string[]> {
  const codes = Array.from({ length: RECOVERY_CODES }, () => base32(ctx.random.bytes('recovery code', RECOVERY_BYTES)).toLowerCase())
  await tx.delete(recoveryCodes).where(eq(recoveryCodes.user_id, userId))
  await tx.insert(recoveryCodes).values(codes.map((code) => ({ user_id: userId, digest: digestOf(code) })))
  return codes.map((code) => code.replace(/(.{4})(?=.)/g, '$1-'))
}

/** New recovery codes; the old ones do not work any more. */
export async function renewRecoveryCodes(ctx: Context, userId: number, password: string): Promise<string[]> {
  const user = await getUser(ctx, userId)
  await confirmByPassword(ctx, user, password, 'password')
  return ctx.db.transaction(async (tx) => {
    const [locked] = await tx.select({ on: users.two_factor_enabled }).from(users).where(eq(users.id, userId)).for('update')
    if (!locked?.on) throw conflict('Two-factor authentication is off')
    await audit(ctx, tx, { action: 'recovery_codes_created', target: targetOf(user) })
    return replaceRecoveryCodes(ctx, tx, userId)
  })
}

/** How many recovery codes are left. */
export const countRecoveryCodes = (ctx: Context, userId: number): Promise<number> =>
  ctx.db.read.$count(recoveryCodes, eq(recoveryCodes.user_id, userId))

/** Turns one's own second factor off. */
export async function disableOwnSecondFactor(ctx: Context, userId: number, password: string): Promise<void> {
  const user = await getUser(ctx, userId)
  await confirmByPassword(ctx, user, password, 'current_password')
  await disableSecondFactor(ctx, user)
}

/** Turns the second factor of a user off, and removes all that belongs to it; 400 if it is off (US-70). */
export async function disableSecondFactor(ctx: Context, user: User): Promise<void> {
  await ctx.db.transaction(async (tx) => {
    const changed = await tx
      .update(users)
      .set({ two_factor_enabled: false, updated_at: ctx.now() })
      .where(and(eq(users.id, user.id), users.two_factor_enabled))
      .returning({ id: users.id })
    if (changed.length === 0) throw refused('Two-factor authentication is not enabled for this user')
    await tx.delete(otpSecrets).where(eq(otpSecrets.user_id, user.id))
    await tx.delete(recoveryCodes).where(eq(recoveryCodes.user_id, user.id))
    await tx.delete(webauthnKeys).where(eq(webauthnKeys.user_id, user.id))
    // a session that waits for a code waits for nothing now
    await tx.delete(sessions).where(and(eq(sessions.user_id, user.id), sessions.awaits_second_factor))
    await audit(ctx, tx, { action: 'two_factor_disabled', target: targetOf(user) })
  })
}

/**
 * Ends the sign-in of a session that waits for its second factor, a code or the answer of a security key: a new session
 * takes its place. `ended`: there were too many wrong ones for this session. 429 after too many of the address or the
 * account. They are counted apart from passwords, so that the right password does not begin the count anew (WB-21).
 */
export async function giveSecondFactor(
  ctx: Context,
  { id, caller }: Pick<Session, 'id' | 'caller'>,
  given: string | KeyAnswer,
): Promise<StartedSession | 'wrong' | 'ended'> {
  const user = await getUser(ctx, caller.user.id)
  const [address, account] = [ctx.origin?.address ?? '', `code ${user.id}`]
  const { throttle } = ctx.access
  // one at a time: each sees the count of those before it
  const matches = await ctx.process.mutex.run(`second factor of user ${user.id}`, async () => {
    const wait = await throttle.wait(address, account)
    if (wait > 0) return tooMany(wait)
    const count = await ctx.access.counters.add(`second factor of session ${id}`, SESSION_WINDOW_S)
    if (count.count > MAX_WRONG.ofSession) return 'ended'
    const right = typeof given === 'string' ? await giveCode(ctx, user.id, normalised(given)) : (await redeemKey(ctx, user.id, given)) !== null
    if (typeof right !== 'boolean') return right
    await (right ? throttle.succeeded(address, account) : throttle.failed(address, account))
    if (!right && count.count === MAX_WRONG.ofSession)
      await ctx.db.write.delete(sessions).where(and(eq(sessions.id, id), sessions.awaits_second_factor))
    return right || (count.count < MAX_WRONG.ofSession ? 'wrong' : 'last')
  })
  if (matches === 'ended') return matches
  if (matches instanceof Failure) return throttle.refuse(matches)
  const isRight = matches === true
  ctx.monitoring.metrics.login('second factor', isRight ? 'done' : 'refused')
  if (!isRight) {
    await recordRefusal(ctx, { login: user.username, user, address }, 'wrong second factor')
    await recordFailedLogin(ctx.db, user.id)
    return matches === 'last' ? 'ended' : 'wrong'
  }
  return replaceWaiting(ctx, user, id)
}

/**
 * Whether a code is right; 429 once too many wrong ones were given for the account from anywhere, which its owner is told
 * (WB-415). Each is counted before it is checked, so that no number of processes checks more, and a right one is taken back.
 */
async function giveCode(ctx: Context, userId: number, code: string): Promise<boolean | Failure> {
  const { counters } = ctx.access
  const name = `codes of user ${userId}`
  const { count, until } = await counters.add(name, ACCOUNT_WINDOW_S)
  const right = count <= MAX_WRONG.ofAccount && (await redeemCode(ctx, userId, code))
  if (right) await counters.takeBack(name)
  else if (count >= MAX_WRONG.ofAccount && ctx.mail && (await counters.add(`mail about ${name}`, ACCOUNT_WINDOW_S)).count === 1)
    await enqueue(ctx.db, wrongCodesMail, { user: userId, codes: MAX_WRONG.ofAccount, until: until.toISOString() }, MAIL_LANE)
  return count > MAX_WRONG.ofAccount ? tooMany(Math.ceil((until.getTime() - Date.now()) / 1000)) : right
}

/** Signs in with a passkey alone: the user has it, and it has checked who holds it (WB-28). Null if it is not accepted. */
export async function signInByKey(ctx: Context, given: KeyAnswer): Promise<StartedSession | null> {
  const address = ctx.origin?.address ?? ''
  const { throttle } = ctx.access
  const wait = await throttle.wait(address)
  if (wait > 0) return throttle.refuse(tooMany(wait))
  const userId = await redeemKey(ctx, null, given)
  const user = userId === null ? null : await getUser(ctx, userId)
  ctx.monitoring.metrics.login('second factor', user ? 'done' : 'refused')
  if (user && maySignIn(user) && user.kind === 'human' && user.removal === null && !mustConfirm(ctx, user, await readSettings(ctx)))
    return startSession(ctx, user)
  await throttle.failed(address)
  await recordRefusal(ctx, { login: user?.username ?? '(a passkey)', user, address }, 'the passkey is not accepted')
  return null
}

/** Starts a session in the place of one that waits. */
async function replaceWaiting(ctx: Context, user: User, id: number): Promise<StartedSession> {
  const [waiting] = await ctx.db.write
    .delete(sessions)
    .where(and(eq(sessions.id, id), sessions.awaits_second_factor))
    .returning({ remembered: sessions.remembered })
  if (!waiting) throw unauthenticated()
  return startSession(ctx, user, waiting)
}

/** Whether a code is right; it works once, also for calls at the same time. */
async function redeemCode(ctx: Context, userId: number, code: string): Promise<boolean> {
  if (!/^\d{6}$/.test(code)) return redeemRecoveryCode(ctx, userId, code)
  const [row] = await ctx.db.write.select().from(otpSecrets).where(eq(otpSecrets.user_id, userId))
  const secret = row ? opened(ctx, row.sealed, otpPurpose(userId)) : null
  const period = secret === null ? null : periodOf(secret, code, ctx.now())
  if (period === null) return false
  const used = await ctx.db.write
    .update(otpSecrets)
    .set({ last_period: period })
    .where(and(eq(otpSecrets.user_id, userId), lt(otpSecrets.last_period, period)))
    .returning({ user_id: otpSecrets.user_id })
  return used.length > 0
}

async function redeemRecoveryCode(ctx: Context, userId: number, code: string): Promise<boolean> {
  const used = await ctx.db.write
    .delete(recoveryCodes)
    .where(and(eq(recoveryCodes.user_id, userId), eq(recoveryCodes.digest, digestOf(code))))
    .returning({ user_id: recoveryCodes.user_id })
  return used.length > 0
}

/** Lets a session go on without the second factor that is demanded, while the period of grace lasts. */
export async function skipSecondFactor(ctx: Context, sessionId: number): Promise<void> {
  await ctx.db.write.update(sessions).set({ second_factor_skipped: true }).where(eq(sessions.id, sessionId))
}
