import { eq, sql } from 'drizzle-orm'
import type { Context } from '../../context.js'
import type { Transaction } from '../../db/client.js'
import { sessions, users } from '../../db/schema/index.js'
import { forbidden, notFound } from '../../failures.js'
import { audit } from '../core/audit.js'

/** Throws 403 when the user is the last active administrator (SEC-123), also when two are removed concurrently. */
export async function requireAnotherAdministrator(tx: Transaction, userId: number): Promise<void> {
  // locks all active administrators in the same order, so that concurrent calls run one after the other
  const active = await tx
    .select({ id: users.id })
    .from(users)
    .where(sql`${users.admin} and ${users.state} = 'active' and ${users.kind} = 'human'`)
    .orderBy(users.id)
    .for('update')
  if (active.some(({ id }) => id === userId) && active.length === 1) throw forbidden()
}

type State = (typeof users.$inferSelect)['state']

/** The state that blocking and unblocking lead to from each state, or why it is refused (U-41, U-42). */
const BLOCK: Record<State, State | { refused: string }> = {
  active: 'blocked',
  blocked: 'blocked',
  ldap_blocked: { refused: 'LDAP blocked users cannot be modified by the API' },
  blocked_pending_approval: 'blocked',
}
const UNBLOCK: Record<State, State | { refused: string }> = {
  active: 'active',
  blocked: 'active',
  ldap_blocked: { refused: 'LDAP blocked users cannot be unblocked by the API' },
  blocked_pending_approval: { refused: 'users who wait for approval are approved, not unblocked' },
}

/** Blocks a user who has left their directory, or unblocks one who is back (WB-52). A block by an administrator stays. */
export async function setDirectoryBlocked(ctx: Context, id: number, blocked: boolean): Promise<void> {
  const [from, to] = blocked ? (['active', 'ldap_blocked'] as const) : (['ldap_blocked', 'active'] as const)
  await ctx.db.transaction(async (tx) => {
    const [user] = await tx.select().from(users).where(eq(users.id, id)).for('update')
    if (user?.state !== from) return
    if (blocked && user.admin) await requireAnotherAdministrator(tx, id)
    await moveTo(ctx, tx, user, to)
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

/** Sets the state of a user; sessions end with a block. */
async function moveTo(ctx: Context, tx: Transaction, { id, username }: typeof users.$inferSelect, state: State): Promise<void> {
  await tx.update(users).set({ state, updated_at: ctx.now() }).where(eq(users.id, id))
  if (state !== 'active') await tx.delete(sessions).where(eq(sessions.user_id, id))
  await audit(ctx, tx, { action: state === 'active' ? 'user_unblocked' : 'user_blocked', target: { type: 'user', id, name: username } })
}
