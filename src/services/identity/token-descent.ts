import { and, eq, sql } from 'drizzle-orm'
import type { SignedIn } from '../../access/actor.js'
import type { Transaction } from '../../db/client.js'
import { tokens } from '../../db/schema/index.js'
import { forbidden, unauthenticated } from '../../failures.js'

type Token = typeof tokens.$inferSelect

/**
 * An impersonation token makes no tokens: they would outlive it where its user sees them (T-10). Nor does the token of an
 * application, which would get more than its user has allowed (CR-37).
 */
export function checkMayMakeTokens({ token }: SignedIn): void {
  if (token.kind === 'impersonation') throw forbidden('an impersonation token makes no tokens')
  if (token.kind === 'application') throw forbidden('the token of an application makes no tokens')
}

/**
 * The token that a new one is made with, and ends with (CR-25); null for a password grant or a session, which stand for the
 * password (CR-22). The lock lasts for the transaction: a concurrent revocation waits for it and then sees the new token, or
 * comes first and is seen here.
 */
export async function parentOf(tx: Transaction, caller: SignedIn): Promise<number | null> {
  checkMayMakeTokens(caller)
  const { id, kind } = caller.token
  if (kind === 'oauth' || kind === 'session') return null
  const [token] = await tx.select({ revoked: tokens.revoked }).from(tokens).where(eq(tokens.id, id)).for('share')
  if (!token || token.revoked) throw unauthenticated()
  return id
}

/** Revokes a token and everything made with it (CR-25); returns those that were not revoked before. */
export async function revokeWithDescendants(tx: Transaction, id: number, now: Date): Promise<Token[]> {
  const family = sql`with recursive family as (
    select ${id}::bigint as id union select t.id from ${tokens} t join family on t.parent_id = family.id
  ) select id from family`
  const revoked: Token[] = []
  // each statement may have waited for calls that were making further tokens, which only the next one sees
  for (;;) {
    const changed = await tx
      .update(tokens)
      .set({ revoked: true, updated_at: now })
      .where(and(eq(tokens.revoked, false), sql`${tokens.id} in (${family})`))
      .returning()
    if (changed.length === 0) return revoked
    revoked.push(...changed)
  }
}
