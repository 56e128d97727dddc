import { and, asc, eq, sql } from 'drizzle-orm'
import type { SignedIn } from '../../access/actor.js'
import type { Context } from '../../context.js'
import { onlyRow } from '../../db/only-row.js'
import { tokens } from '../../db/schema/index.js'
import { invalidRecord, notFound } from '../../failures.js'
import { digestOf, newSecret } from '../../lib/crypto/secret.js'
import type { Keyset } from '../../lib/keyset.js'
import { lengthOf, tooLong } from '../../rules/path.js'
import { createdNow } from '../core/created-now.js'
import { afterRow, limits, type Page, type Paging } from '../core/page.js'
import { unsealed } from '../core/unsealed.js'
import type { Owner } from './account-items.js'
import { parentOf } from './token-descent.js'
import { activeTokens, auditToken, checkTokenLimit, isActive, markRevoked, type Token } from './tokens.js'

/** A token with its value, which every response to administrators includes (T-4). */
export interface ImpersonationToken {
  token: Token
  value: string
  active: boolean
}

/** The scopes of impersonation tokens (T-5). */
const SCOPES = ['api', 'read_user']
export const IMPERSONATION_PURPOSE = 'impersonation token'

const toImpersonationToken = (ctx: Context, token: Token): ImpersonationToken => ({
  token,
  value: shownValue(ctx, token),
  active: isActive(ctx, token),
})

/** The value; empty when it cannot be decrypted, so that the token can still be listed and revoked. */
const shownValue = (ctx: Context, { sealed }: Token): string => (sealed === null ? null : unsealed(ctx, sealed, IMPERSONATION_PURPOSE)) ?? ''

const belongsTo = (user: Owner) => and(eq(tokens.user_id, user.id), eq(tokens.kind, 'impersonation'))

export const STATES = ['all', 'active', 'inactive'] as const

/** The impersonation tokens of a user (T-3). */
export async function listImpersonationTokens(
  ctx: Context,
  user: Owner,
  { state, ...paging }: { state: (typeof STATES)[number] } & Paging & Keyset,
): Promise<Page<ImpersonationToken>> {
  const active = activeTokens(ctx)
  const { limit, offset, ...bounds } = limits(paging)
  const where = and(belongsTo(user), afterRow(tokens.id, bounds), state === 'all' ? undefined : state === 'active' ? active : sql`not ${active}`)
  const [rows, total] = await Promise.all([
    ctx.db.read.select().from(tokens).where(where).orderBy(asc(tokens.id)).limit(limit).offset(offset),
    ctx.db.read.$count(tokens, where),
  ])
  return { items: rows.map((token) => toImpersonationToken(ctx, token)), total }
}

/** One impersonation token; 404 for tokens of other users and of other kinds (T-2). */
export async function getImpersonationToken(ctx: Context, user: Owner, id: number): Promise<ImpersonationToken> {
  const [token] = await ctx.db.read
    .select()
    .from(tokens)
    .where(and(belongsTo(user), eq(tokens.id, id)))
  if (!token) throw notFound('Impersonation Token')
  return toImpersonationToken(ctx, token)
}

/** Creates an impersonation token (T-5, T-6, CR-25); 400 with the faults of its fields. */
export async function createImpersonationToken(
  ctx: Context,
  caller: SignedIn,
  user: Owner,
  { name, scopes, expires_at }: { name: string; scopes: string[]; expires_at?: string | undefined },
): Promise<ImpersonationToken> {
  const faults: Record<string, string[]> = {}
  if (lengthOf(name) > 255) faults['name'] = [tooLong(255)]
  if (scopes.length === 0) faults['scopes'] = ["can't be blank"]
  else if (new Set(scopes).size < scopes.length || scopes.some((scope) => !SCOPES.includes(scope))) {
    faults['scopes'] = ['can only contain available scopes']
  }
  if (Object.keys(faults).length > 0) throw invalidRecord(faults)
  const value = newSecret(ctx.random)
  return ctx.db.transaction(async (tx) => {
    const parent_id = await parentOf(tx, caller)
    await checkTokenLimit(tx, user.id)
    const created = onlyRow(
      await tx
        .insert(tokens)
        .values({
          user_id: user.id,
          parent_id,
          kind: 'impersonation',
          name,
          digest: digestOf(value),
          sealed: ctx.encryption.seal(value, IMPERSONATION_PURPOSE),
          scopes,
          expires_at: expires_at ?? null,
          ...createdNow(ctx),
        })
        .returning(),
    )
    await auditToken(ctx, tx, 'token_created', created)
    return { token: created, value, active: isActive(ctx, created) }
  })
}

/** Revokes a token and keeps its row; revoking it again is no error (T-7). */
export async function revokeImpersonationToken(ctx: Context, { token }: ImpersonationToken): Promise<void> {
  await markRevoked(ctx, token)
}
