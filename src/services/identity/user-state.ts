import { eq, or, sql } from 'drizzle-orm'
import { maySignIn } from '../../access/sessions.js'
import type { Context } from '../../context.js'
import type { Transaction } from '../../db/client.js'
import { sessions, tokens, users } from '../../db/schema/index.js'
import { Failure, forbidden, notFound } from '../../failures.js'
import { dayOf } from '../../lib/text/day.js'
import { type AuditAction, audit } from '../core/audit.js'

const isActiveAdministrator = sql`${users.admin} and ${users.state} = 'active' and ${users.kind} = 'human'`

/** Whether there is another active administrator (SEC-123); holds until the end of the transaction. */
export async function hasAnotherAdministrator(tx: Transaction, userId: number): Promise<boolean> {
  // locks all active administrators in the same order, so that concurrent calls run one after the other
  const active = await tx.select({ id: users.id }).from(users).where(isActiveAdministrator).orderBy(users.id).for('update')
  return active.length !== 1 || active[0]?.id !== userId
}

/** Throws 403 when the user is the last active administrator (SEC-123). */
export async function requireAnotherAdministrator(tx: Transaction, userId: number): Promise<void> {
  if (!(await hasAnotherAdministrator(tx, userId))) throw forbidden()
}

/** Whether the user is the last active administrator, who can be neither blocked, demoted nor removed (SEC-123). */
export async function isLastAdministrator(ctx: Context, { id, admin }: Pick<typeof users.$inferSelect, 'id' | 'admin'>): Promise<boolean> {
  if (!admin) return false
  const [first, second] = await ctx.db.read.select({ id: users.id }).from(users).where(isActiveAdministrator).limit(2)
  return first?.id === id && !second
}

type State = (typeof users.$inferSelect)['state']

/** The state that blocking and unblocking lead to from each state, or why it is refused (U-41, U-42). */
const BLOCK: Record<State, State | { refused: string }> = {
  active: 'blocked',
  deactivated: 'blocked',
  blocked: 'blocked',
  ldap_blocked: { refused: 'LDAP blocked users cannot be modified by the API' },
  blocked_pending_approval: 'blocked',
  banned: 'banned',
}
const UNBLOCK: Record<State, State | { refused: string }> = {
  active: 'active',
  deactivated: { refused: 'Deactivated users cannot be unblocked by the API' },
  blocked: 'active',
  ldap_blocked: { refused: 'LDAP blocked users cannot be unblocked by the API' },
  blocked_pending_approval: { refused: 'users who wait for approval are approved, not unblocked' },
  banned: { refused: 'Banned users cannot be unblocked by the API' },
}

/** Blocks a user who has left their directory, or unblocks one who is back (WB-52). A block by an administrator stays. */
export async function setDirectoryBlocked(ctx: Context, id: number, blocked: boolean): Promise<void> {
  await ctx.db.transaction(async (tx) => {
    const [user] = await tx.select().from(users).where(eq(users.id, id)).for('update')
    if (!user || (blocked ? !maySignIn(user) : user.state !== 'ldap_blocked')) return
    if (blocked && user.admin) await requireAnotherAdministrator(tx, id)
    await moveTo(ctx, tx, user, blocked ? 'ldap_blocked' : 'active')
  })
}

/** Blocks or unblocks a user and returns whether that changed anything. Their content and memberships stay (U-44). */
export async function setBlocked(ctx: Context, id: number, blocked: boolean): Promise<boolean> {
  return ctx.db.transaction(async (tx) => {
    const [user] = await tx.select().from(users).where(eq(users.id, id)).for('update')
    if (!user) throw notFound('User')
    if (user.kind === 'ghost') throw forbidden()
    const next = (blocked ? BLOCK : UNBLOCK)[user.state]
    if (typeof next === 'object') throw forbidden(next.refused)
    if (next === user.state) return false
    if (blocked && user.admin) await requireAnotherAdministrator(tx, id)
    await moveTo(ctx, tx, user, next)
    return true
  })
}

/** Bans an active user, or ends a ban; any other state is refused (UB-1, UB-2). */
export async function setBanned(ctx: Context, id: number, banned: boolean): Promise<boolean> {
  return ctx.db.transaction(async (tx) => {
    const [user] = await tx.select().from(users).where(eq(users.id, id)).for('update')
    if (!user) throw notFound('User')
    if (user.kind === 'ghost') throw forbidden()
    if (user.state !== (banned ? 'active' : 'banned'))
      throw new Failure('forbidden', { message: `You cannot ${banned ? 'ban' : 'unban'} ${user.state} users.` })
    if (banned && user.admin) await requireAnotherAdministrator(tx, id)
    await moveTo(ctx, tx, user, banned ? 'banned' : 'active')
    return true
  })
}

/** How long a user must have been away before they can be deactivated, in days. */
export const DORMANT_DAYS = 90

/** Deactivates a user who is not there any more, until they sign in again, and returns whether that changed anything (WB-350). */
export async function deactivate(ctx: Context, id: number): Promise<boolean> {
  return ctx.db.transaction(async (tx) => {
    const [user] = await tx.select().from(users).where(eq(users.id, id)).for('update')
    if (!user) throw notFound('User')
    if (user.kind === 'ghost') throw forbidden()
    if (user.state === 'deactivated') return false
    if (user.state !== 'active') throw forbidden('A blocked user cannot be deactivated by the API')
    if (!(await isDormant(ctx, tx, user)))
      throw forbidden(`The user you are trying to deactivate has been active in the past ${DORMANT_DAYS} days and cannot be deactivated`)
    if (user.admin) await requireAnotherAdministrator(tx, id)
    await moveTo(ctx, tx, user, 'deactivated')
    return true
  })
}

/** Makes a deactivated user active again, on their own if they sign in, and returns whether that changed anything. */
export async function activate(ctx: Context, id: number, actorId?: number): Promise<boolean> {
  return ctx.db.transaction(async (tx) => {
    const [user] = await tx.select().from(users).where(eq(users.id, id)).for('update')
    if (!user) throw notFound('User')
    if (user.state === 'active') return false
    if (user.state !== 'deactivated') throw forbidden('A blocked user must be unblocked to be activated')
    await moveTo(ctx, tx, user, 'active', actorId)
    return true
  })
}

/** What changes the state of a user, as the API and the commands call it. */
export const userStateChanges = {
  block: (ctx: Context, id: number) => setBlocked(ctx, id, true),
  unblock: (ctx: Context, id: number) => setBlocked(ctx, id, false),
  ban: (ctx: Context, id: number) => setBanned(ctx, id, true),
  unban: (ctx: Context, id: number) => setBanned(ctx, id, false),
  deactivate,
  activate: (ctx: Context, id: number) => activate(ctx, id),
}

/** Whether a user has neither signed in nor used Git, a session or a token for so long. */
export async function isDormant(
  ctx: Pick<Context, 'now'>,
  db: Pick<Transaction, 'execute'>,
  { id, last_activity_on, current_sign_in_at }: Pick<typeof users.$inferSelect, 'id' | 'last_activity_on' | 'current_sign_in_at'>,
): Promise<boolean> {
  const since = new Date(ctx.now().getTime() - DORMANT_DAYS * 86_400_000)
  if ((last_activity_on !== null && last_activity_on > dayOf(since)) || (current_sign_in_at !== null && current_sign_in_at > since)) return false
  const used = sql`user_id = ${id} and last_used_at > ${since.toISOString()}::timestamptz`
  const { rows } = await db.execute(sql`select from ${sessions} where ${used} union all select from ${tokens} where ${used} limit 1`)
  return rows.length === 0
}

/** Sets the state of a user; sessions end when it is no longer active. */
async function moveTo(ctx: Context, tx: Transaction, user: typeof users.$inferSelect, state: State, actorId?: number): Promise<void> {
  const { id, username } = user
  await tx.update(users).set({ state, updated_at: ctx.now() }).where(eq(users.id, id))
  if (state !== 'active') {
    await tx.delete(sessions).where(eq(sessions.user_id, id))
    await endImpersonation(ctx, tx, id)
  }
  await audit(ctx, tx, { action: actionOf(user.state, state), target: { type: 'user', id, name: username }, actorId })
}

/**
 * Ends that the user acts as others, and that others act as the user (WB-203): it does not go on when rights or states are
 * changed back.
 */
export async function endImpersonation(ctx: Context, tx: Transaction, userId: number): Promise<void> {
  const acting = await tx
    .select({ id: sessions.id, as: users.id, username: users.username })
    .from(sessions)
    .innerJoin(users, eq(users.id, sessions.impersonates_id))
    .where(or(eq(sessions.user_id, userId), eq(sessions.impersonates_id, userId)))
  for (const { id, as, username } of acting) {
    await tx.update(sessions).set({ impersonates_id: null }).where(eq(sessions.id, id))
    await audit(ctx, tx, { action: 'impersonation_ended', target: { type: 'user', id: as, name: username } })
  }
}

function actionOf(from: State, to: State): AuditAction {
  if (to === 'deactivated') return 'user_deactivated'
  if (to === 'banned') return 'user_banned'
  if (to !== 'active') return 'user_blocked'
  if (from === 'banned') return 'user_unbanned'
  return from === 'deactivated' ? 'user_activated' : 'user_unblocked'
}
