import { and, eq, ne, or, sql } from 'drizzle-orm'
import { checkAddress } from '../../access/addresses.js'
import { SCOPES } from '../../access/scopes.js'
import type { Context } from '../../context.js'
import type { Transaction } from '../../db/client.js'
import { onlyRow } from '../../db/only-row.js'
import { accountLinks, sessions, tokens, users } from '../../db/schema/index.js'
import { Failure } from '../../failures.js'
import { digestOf, newSecret } from '../../lib/crypto/secret.js'
import { dayOf } from '../../lib/text/day.js'
import { readSettings, type Settings } from '../core/settings.js'
import { removeInitialPassword } from './initial-password.js'
import { auditSignIn, checkSignIn, mustChange, mustConfirm, recordRefusal } from './passwords.js'
import { auditToken } from './tokens.js'
import { findUserByLogin, type User } from './users.js'

const ACCESS_TOKEN_LIFETIME_S = 7_200
const REFRESH_TOKEN_LIFETIME_MS = 30 * 86_400_000

export interface Grant {
  access_token: string
  token_type: 'Bearer'
  expires_in: number
  refresh_token: string
  scope: string
  created_at: number
}

const oauthError = (kind: 'invalid' | 'unauthenticated' | 'forbidden', error: string, error_description: string) =>
  new Failure(kind, { error, error_description })
const invalidGrant = () =>
  oauthError(
    'unauthenticated',
    'invalid_grant',
    'The provided authorization grant is invalid, expired, revoked, does not match the redirection URI used in the authorization request, or was issued to another client.',
  )

/**
 * The password grant (CR-12). Wrong credentials, a blocked user and the disabled setting all get the same answer; a user
 * with a second factor gets a text that names access tokens (WB-23). A password set by an administrator can only be used to change it
 * (CR-24).
 */
export async function grantByPassword(
  ctx: Context,
  { username, password, scope }: { username: string; password: string; scope?: string | undefined },
): Promise<Grant> {
  const scopes = scopesOf(scope)
  const user = await userByPassword(ctx, username, password)
  if (!user) throw invalidGrant()
  if (user.password_expired) throw oauthError('forbidden', 'password_expired', mustChange(ctx.links.base))
  if (scopes.includes('sudo') && !user.admin) throw invalidScope()
  await removeInitialPassword(ctx, password)
  await checkAddress(ctx, user.id, ctx.origin?.address ?? '')
  await recordSignIn(ctx, user, username)
  return issueTokens(ctx, user.id, scopes)
}

/** Records that a user has signed in. */
export async function recordSignIn(ctx: Context, user: User, login = user.username): Promise<void> {
  const now = ctx.now()
  await ctx.db.write
    .update(users)
    .set({
      last_sign_in_at: sql`coalesce(${users.current_sign_in_at}, ${now.toISOString()})`,
      current_sign_in_at: now,
      last_activity_on: dayOf(now),
    })
    .where(eq(users.id, user.id))
  await auditSignIn(ctx, { login, user, address: ctx.origin?.address ?? '' }, null)
}

/**
 * The user that a login name and password sign in, or null; 429 when the address has guessed too often (CR-15).
 * `asksForSecondFactor`: the caller asks a user who has a second factor for it; otherwise the right password is refused
 * with 401 (WB-23).
 */
export async function userByPassword(ctx: Context, username: string, password: string, { asksForSecondFactor = false } = {}): Promise<User | null> {
  const [user, settings] = await Promise.all([findUserByLogin(ctx, username), readSettings(ctx)])
  const guess = { login: username, user, address: ctx.origin?.address ?? '' }
  const matches = await checkSignIn(ctx, guess, password)
  // `checkSignIn` has recorded the refusal of a blocked account
  if (!user || !matches || user.state !== 'active' || user.kind !== 'human') return null
  const refusal = refusalOf(ctx, user, settings)
  if (refusal !== null) {
    await recordRefusal(ctx, guess, refusal)
    return null
  }
  if (!user.two_factor_enabled || asksForSecondFactor) return user
  await recordRefusal(ctx, guess, 'two-factor authentication is on')
  throw oauthError('unauthenticated', 'invalid_grant', tokenNeeded(ctx.links.base))
}

/** The message for a password where a second factor cannot be asked for (WB-23). */
const tokenNeeded = (base: string) =>
  `Two-factor authentication is on: use an access token in place of the password, made at ${base}/-/profile/personal_access_tokens`

/** Why the right password does not sign the user in; null if it does. */
function refusalOf(ctx: Context, user: User, settings: Settings): string | null {
  if (mustConfirm(ctx, user, settings)) return 'the address is not confirmed'
  return settings.password_authentication_enabled_for_web ? null : 'the setting password_authentication_enabled_for_web is off'
}

const invalidScope = () => oauthError('invalid', 'invalid_scope', 'The requested scope is invalid, unknown, or malformed.')

function scopesOf(scope: string | undefined): string[] {
  const scopes = [...new Set((scope ?? '').split(/\s+/).filter(Boolean))]
  if (scopes.some((name) => !(SCOPES as readonly string[]).includes(name))) throw invalidScope()
  return scopes.length > 0 ? scopes : ['api']
}

async function issueTokens(ctx: Context, userId: number, scopes: string[], db: Pick<Transaction, 'insert'> = ctx.db.write): Promise<Grant> {
  const [access, refresh] = [newSecret(ctx.random), newSecret(ctx.random)]
  const now = ctx.now()
  const token = onlyRow(
    await db
      .insert(tokens)
      .values({
        user_id: userId,
        kind: 'oauth',
        name: 'password grant',
        digest: digestOf(access),
        refresh_digest: digestOf(refresh),
        scopes,
        valid_until: new Date(now.getTime() + ACCESS_TOKEN_LIFETIME_S * 1000),
        created_at: now,
        updated_at: now,
      })
      .returning(),
  )
  await auditToken(ctx, db, 'token_created', token, userId)
  return {
    access_token: access,
    token_type: 'Bearer',
    expires_in: ACCESS_TOKEN_LIFETIME_S,
    refresh_token: refresh,
    scope: scopes.join(' '),
    created_at: Math.floor(now.getTime() / 1000),
  }
}

/**
 * The refresh grant (CR-12, CR-23). It revokes the old token pair, and only one of two concurrent callers succeeds. A
 * refresh token that was not used for too long has expired.
 */
export async function grantByRefresh(ctx: Context, refresh: string): Promise<Grant> {
  return ctx.db.transaction(async (tx) => {
    const [old] = await tx
      .select({
        id: tokens.id,
        user_id: tokens.user_id,
        scopes: tokens.scopes,
        revoked: tokens.revoked,
        created_at: tokens.created_at,
        state: users.state,
        kind: users.kind,
      })
      .from(tokens)
      .innerJoin(users, eq(users.id, tokens.user_id))
      .where(eq(tokens.refresh_digest, digestOf(refresh)))
      .for('update', { of: tokens })
    if (!old || old.revoked || old.created_at.getTime() + REFRESH_TOKEN_LIFETIME_MS <= ctx.now().getTime()) throw invalidGrant()
    if (old.state !== 'active' || old.kind !== 'human') throw invalidGrant()
    await tx.update(tokens).set({ revoked: true, updated_at: ctx.now() }).where(eq(tokens.id, old.id))
    return issueTokens(ctx, old.user_id, old.scopes, tx)
  })
}

/**
 * When the password changes, revokes all password grants, deletes all reset links, and ends all sessions but the one that
 * the call comes from (CR-23, ML-20, WB-11).
 */
export async function revokeGrants(
  tx: Pick<Transaction, 'update' | 'delete'>,
  userId: number,
  { now, session = 0 }: { now: Date; session?: number | undefined },
): Promise<void> {
  await tx.delete(sessions).where(and(eq(sessions.user_id, userId), ne(sessions.id, session)))
  await tx.delete(accountLinks).where(and(eq(accountLinks.user_id, userId), eq(accountLinks.purpose, 'reset')))
  await tx
    .update(tokens)
    .set({ revoked: true, updated_at: now })
    .where(and(eq(tokens.user_id, userId), eq(tokens.kind, 'oauth'), eq(tokens.revoked, false)))
}

/** Revokes the access or refresh token of an OAuth pair; an unknown token gets the same answer (CR-13). */
export async function revokeGrant(ctx: Context, token: string): Promise<void> {
  const digest = digestOf(token)
  await ctx.db.write
    .update(tokens)
    .set({ revoked: true, updated_at: ctx.now() })
    .where(sql`${tokens.kind} = 'oauth' and ${or(eq(tokens.digest, digest), eq(tokens.refresh_digest, digest))}`)
}

/** The owner, scopes and remaining time of the token of the call (CR-13a). */
export async function tokenInfo(ctx: Context, tokenId: number) {
  const [token] = await ctx.db.read.select().from(tokens).where(eq(tokens.id, tokenId))
  if (!token) throw new Failure('unauthenticated', { message: '401 Unauthorized' })
  return {
    resource_owner_id: token.user_id,
    scope: token.scopes,
    expires_in: token.valid_until ? Math.max(0, Math.floor((token.valid_until.getTime() - ctx.now().getTime()) / 1000)) : null,
    application: { uid: null },
    created_at: Math.floor(token.created_at.getTime() / 1000),
  }
}
