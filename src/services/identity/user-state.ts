import { eq, sql } from 'drizzle-orm'
import type { Context } from '../../context.js'
import type { Transaction } from '../../db/client.js'
import { users } from '../../db/schema/index.js'
import { forbidden, notFound } from '../../failures.js'
import { audit } from '../core/audit.js'

/**
 * There is always an active administrator (SEC-123): 403 when this one is the last, also when two are removed at once.
 */
export async function keepAnAdministrator(tx: Transaction, leaving: number): Promise<void> {
  // the same rows in the same order, so that of two such calls one waits for the other
  const active = await tx
    .select({ id: users.id })
    .from(users)
    .where(sql`${users.admin} and ${users.state} = 'active' and ${users.kind} = 'human'`)
    .orderBy(users.id)
    .for('update')
  if (active.some(({ id }) => id === leaving) && active.length === 1) throw forbidden()
}

type State = (typeof users.$inferSelect)['state']

/** The state that blocking and unblocking lead to from each state, or why it is refused (U-41, U-42). */
const BLOCK: Record<State, State | { refused: string }> = {
  active: 'blocked',
  blocked: 'blocked',
  ldap_blocked: { refused: 'LDAP blocked users cannot be modified by the API' },
}
const UNBLOCK: Record<State, State | { refused: string }> = {
  active: 'active',
  blocked: 'active',
  ldap_blocked: { refused: 'LDAP blocked users cannot be unblocked by the API' },
}

/**
 * Blocks or unblocks a user, and returns whether that changed anything; what they have and what they made stays (U-44).
 */
export async function setBlocked(ctx: Context, id: number, blocked: boolean): Promise<boolean> {
  return ctx.db.transaction(async (tx) => {
    const [user] = await tx.select().from(users).where(eq(users.id, id)).for('update')
    if (!user) throw notFound('User')
    if (user.kind === 'ghost') throw forbidden()
    const next = (blocked ? BLOCK : UNBLOCK)[user.state]
    if (typeof next === 'object') throw forbidden(next.refused)
    if (next === user.state) return false
    if (blocked && user.admin) await keepAnAdministrator(tx, id)
    await tx.update(users).set({ state: next, updated_at: ctx.now() }).where(eq(users.id, id))
    await audit(ctx, tx, { action: blocked ? 'user_blocked' : 'user_unblocked', target: { type: 'user', id, name: user.username } })
    return true
  })
}
