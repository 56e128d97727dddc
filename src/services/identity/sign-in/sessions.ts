import { and, desc, eq, lt, sql } from 'drizzle-orm'
import { z } from 'zod'
import { checkAddress } from '../../../access/addresses.js'
import { mayBeImpersonated, REMEMBERED_MS, type Session } from '../../../access/sessions.js'
import type { Context } from '../../../context.js'
import { sessions, signOnRequests, users } from '../../../db/schema/index.js'
import { notFound, refused } from '../../../failures.js'
import { defineJob } from '../../../jobs/kinds.js'
import { digestOf } from '../../../lib/crypto/secret.js'
import { audit } from '../../core/audit.js'
import { removeInitialPassword } from '../initial-password.js'
import { recordSignIn, userByPassword } from '../oauth.js'
import { activate } from '../user-state.js'
import type { User } from '../users.js'

export type SessionRow = typeof sessions.$inferSelect

/** Sessions that a user may have; a further one ends the one that was not used for longest. */
const MAX_SESSIONS = 100
const MAX_USER_AGENT = 255

export interface Credentials {
  login: string
  password: string
  remember: boolean
}

/** A session that has begun: the value of its cookie, and whether the user has yet to give a second factor. */
export interface StartedSession {
  value: string
  user: User
  remembered: boolean
  awaitsSecondFactor: boolean
}

/** Signs in with a login name and password; null if they are wrong, whatever the reason (WB-12). */
export async function signIn(ctx: Context, { login, password, remember }: Credentials): Promise<StartedSession | null> {
  const user = await userByPassword(ctx, login, password, { asksForSecondFactor: true })
  if (!user) return null
  await removeInitialPassword(ctx, password)
  return startSession(ctx, user, { login, remembered: remember, awaitsSecondFactor: user.two_factor_enabled })
}

interface StartOptions {
  login?: string
  remembered?: boolean
  awaitsSecondFactor?: boolean
  /** The provider that has signed the user in; without it, this service did. */
  provider?: string
}

/** Begins a session of a user who has proved to be that user. */
export async function startSession(
  ctx: Context,
  user: User,
  { login, remembered = false, awaitsSecondFactor = false, provider }: StartOptions = {},
): Promise<StartedSession> {
  const { address = '', userAgent = '' } = ctx.origin ?? {}
  await checkAddress(ctx, user.id, address)
  if (user.state === 'deactivated' && !awaitsSecondFactor) await activate(ctx, user.id, user.id)
  const value = ctx.random.bytes('session', 32).toString('base64url')
  const now = ctx.now()
  await ctx.db.transaction(async (tx) => {
    await tx.select({ id: users.id }).from(users).where(eq(users.id, user.id)).for('no key update')
    await tx.execute(sql`delete from ${sessions} where id in (
      select id from ${sessions} where user_id = ${user.id} order by last_used_at desc, id desc offset ${MAX_SESSIONS - 1})`)
    await tx.insert(sessions).values({
      user_id: user.id,
      digest: digestOf(value),
      address,
      user_agent: userAgent.slice(0, MAX_USER_AGENT),
      remembered,
      awaits_second_factor: awaitsSecondFactor,
      provider: provider ?? null,
      created_at: now,
      last_used_at: now,
    })
  })
  if (awaitsSecondFactor) return { value, user, remembered, awaitsSecondFactor }
  await recordSignIn(ctx, user, login)
  return { value, user, remembered, awaitsSecondFactor }
}

/** The sessions of a user, the one used last first. */
export const listSessions = (ctx: Context, userId: number): Promise<SessionRow[]> =>
  ctx.db.read
    .select()
    .from(sessions)
    .where(and(eq(sessions.user_id, userId), eq(sessions.awaits_second_factor, false)))
    .orderBy(desc(sessions.last_used_at), desc(sessions.id))
    .limit(MAX_SESSIONS)

/** Ends a session of the user, and returns the provider that it came from; 404 if there is none. */
export async function endSession(ctx: Context, user: { id: number; username: string }, id: number): Promise<string | null> {
  return ctx.db.transaction(async (tx) => {
    const [ended] = await tx
      .delete(sessions)
      .where(and(eq(sessions.id, id), eq(sessions.user_id, user.id)))
      .returning({ provider: sessions.provider })
    if (!ended) throw notFound()
    await audit(ctx, tx, { action: 'session_ended', target: { type: 'user', id: user.id, name: user.username } })
    return ended.provider
  })
}

/** Makes the session of an administrator that of a user, until it ends or `stopImpersonation` (WB-203). */
export async function startImpersonation(ctx: Context, { id, caller }: Session, user: User): Promise<void> {
  if (!ctx.config.impersonation) throw notFound()
  if (user.id === caller.user.id || !mayBeImpersonated(user)) throw refused(`${user.username} cannot be acted as`)
  await ctx.db.transaction(async (tx) => {
    await tx.update(sessions).set({ impersonates_id: user.id }).where(eq(sessions.id, id))
    await audit(ctx, tx, { action: 'impersonation_started', target: { type: 'user', id: user.id, name: user.username } })
  })
}

/** Gives an administrator their session back. */
export async function stopImpersonation(ctx: Context, { id, caller: { user } }: Session): Promise<void> {
  await ctx.db.transaction(async (tx) => {
    await tx.update(sessions).set({ impersonates_id: null }).where(eq(sessions.id, id))
    await audit(ctx, tx, { action: 'impersonation_ended', target: { type: 'user', id: user.id, name: user.username } })
  })
}

/** Removes sessions that can no longer be valid. */
export const oldSessions = defineJob({
  kind: 'old sessions',
  input: z.object({}),
  async run(ctx: Context) {
    const { session_expire_delay: minutes } = await ctx.caches.settings.read()
    const oldest = new Date(ctx.now().getTime() - Math.max(minutes * 60_000, REMEMBERED_MS))
    await ctx.db.write.delete(sessions).where(lt(sessions.last_used_at, oldest))
    await ctx.db.write.delete(signOnRequests).where(lt(signOnRequests.expires_at, ctx.now()))
  },
  slots: 'upkeep',
  priority: 'low',
  every: 3_600_000,
})
