import { and, eq, inArray, ne, or, sql } from 'drizzle-orm'
import { checkAddress } from '../../access/addresses.js'
import { SCOPES } from '../../access/scopes.js'
import { maySignIn } from '../../access/sessions.js'
import type { Context } from '../../context.js'
import type { Transaction } from '../../db/client.js'
import { onlyRow } from '../../db/only-row.js'
import { accountLinks, oauthApplications, oauthCodes, sessions, tokens, users } from '../../db/schema/index.js'
import { Failure } from '../../failures.js'
import { digestOf, newSecret } from '../../lib/crypto/secret.js'
import { dayOf } from '../../lib/text/day.js'
import { readSettings, type Settings } from '../core/settings.js'
import { removeInitialPassword } from './initial-password.js'
import { type Application, auditApplication } from './oauth/applications.js'
import { invalidGrant, invalidScope, oauthError } from './oauth/failures.js'
import { idToken } from './oauth/openid.js'
import { auditSignIn, checkSignIn, mustChange, mustConfirm, recordRefusal } from './passwords.js'
import { lacksSecondFactor } from './sign-in/demanded-factor.js'
import { revokeWithDescendants } from './token-descent.js'
import { auditToken, type Token } from './tokens.js'
import { findUserByLogin, type User } from './users.js'

const ACCESS_TOKEN_LIFETIME_S = 7_200
const REFRESH_TOKEN_LIFETIME_MS = 30 * 86_400_000
/** How long a second use of a refresh token may be that of another thread of the same program, in milliseconds. */
const REUSE_MS = 10_000
/** The kinds of tokens that grants give. */
const GRANTED = ['oauth', 'application'] as const

export interface Grant {
  access_token: string
  token_type: 'Bearer'
  expires_in: number
  refresh_token: string
  scope: string
  created_at: number
  /** With the scope `openid`. */
  id_token?: string
}

/**
 * The password grant (CR-12). Wrong credentials, a blocked user and the disabled setting all get the same answer; a user
 * with a second factor, or who should have one, gets a text that says so (WB-23, WB-24). A password set by an administrator
 * can only be used to change it (CR-24).
 */
export async function grantByPassword(
  ctx: Context,
  { username, password, scope }: { username: string; password: string; scope?: string | undefined },
  application: Application | null = null,
): Promise<Grant> {
  const scopes = scopesOf(scope, application?.scopes ?? SCOPES)
  const user = await userByPassword(ctx, username, password)
  if (!user) throw invalidGrant()
  if (user.password_expired) throw oauthError('forbidden', 'password_expired', mustChange(ctx.links.base))
  if (await lacksSecondFactor(ctx, user.id)) throw oauthError('unauthenticated', 'invalid_grant', factorDemanded(ctx.links.base))
  if (scopes.includes('sudo') && !user.admin) throw invalidScope()
  await removeInitialPassword(ctx, password)
  await checkAddress(ctx, user.id, ctx.origin?.address ?? '')
  await recordSignIn(ctx, user, username)
  return (await issueTokens(ctx, ctx.db.write, { userId: user.id, application, scopes })).grant
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
  if (!user || !matches || !maySignIn(user) || user.kind !== 'human') return null
  const refusal = user.state === 'deactivated' && !asksForSecondFactor ? 'the account is deactivated' : refusalOf(ctx, user, settings)
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

/** The message for a password where a second factor is demanded that the user has not set up (WB-24). */
const factorDemanded = (base: string) =>
  `A second factor is demanded: set it up at ${base}/-/profile/two_factor_auth, and use an access token in place of the password`

/** Why the right password does not sign the user in; null if it does. */
function refusalOf(ctx: Context, user: User, settings: Settings): string | null {
  if (mustConfirm(ctx, user, settings)) return 'the address is not confirmed'
  return settings.password_authentication_enabled_for_web ? null : 'the setting password_authentication_enabled_for_web is off'
}

/** The scopes that are asked for; by default `api`, or all that an application may have. */
function scopesOf(scope: string | undefined, available: readonly string[]): string[] {
  const scopes = [...new Set((scope ?? '').split(/\s+/).filter(Boolean))]
  if (!scopes.every((name) => available.includes(name))) throw invalidScope()
  if (scopes.length > 0) return scopes
  return available.includes('api') ? ['api'] : [...available]
}

interface Issue {
  userId: number
  application: Pick<Application, 'id' | 'name'> | null
  scopes: string[]
  /** The token that is refreshed. */
  parentId?: number
}

/** Issues an access token and the token that refreshes it. */
export async function issueTokens(
  ctx: Context,
  db: Pick<Transaction, 'insert'>,
  { userId, application, scopes, parentId }: Issue,
): Promise<{ token: Token; grant: Grant }> {
  const [access, refresh] = [newSecret(ctx.random), newSecret(ctx.random)]
  const now = ctx.now()
  const token = onlyRow(
    await db
      .insert(tokens)
      .values({
        user_id: userId,
        parent_id: parentId ?? null,
        kind: application ? 'application' : 'oauth',
        application_id: application?.id ?? null,
        name: application?.name ?? 'password grant',
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
  const grant: Grant = {
    access_token: access,
    token_type: 'Bearer',
    expires_in: ACCESS_TOKEN_LIFETIME_S,
    refresh_token: refresh,
    scope: scopes.join(' '),
    created_at: Math.floor(now.getTime() / 1000),
  }
  return { token, grant }
}

/**
 * The refresh grant (CR-12, CR-23, CR-36). It revokes the old token pair, and only one of two concurrent callers succeeds. A
 * refresh token that was not used for too long has expired; one that comes a second time was stolen from one of two that have it,
 * and ends all that it led to. `application` is the one that asks; a token of a password grant belongs to none.
 */
export async function grantByRefresh(ctx: Context, refresh: string, application: Application | null): Promise<Grant> {
  const refreshed = await ctx.db.transaction(async (tx) => {
    const [found] = await tx
      .select({ token: tokens, state: users.state, kind: users.kind })
      .from(tokens)
      .innerJoin(users, eq(users.id, tokens.user_id))
      .where(eq(tokens.refresh_digest, digestOf(refresh)))
      .for('update', { of: tokens })
    const now = ctx.now()
    if (!found || found.token.application_id !== (application?.id ?? null)) return null
    const { token: old } = found
    if (old.revoked) {
      if (old.updated_at.getTime() + REUSE_MS < now.getTime()) await endReused(ctx, tx, old, application)
      return null
    }
    if (old.created_at.getTime() + REFRESH_TOKEN_LIFETIME_MS <= now.getTime()) return null
    if (found.state !== 'active' || found.kind !== 'human') return null
    // an application may have lost a scope since
    const scopes = application ? old.scopes.filter((scope) => application.scopes.includes(scope)) : old.scopes
    if (scopes.length === 0) return null
    await tx.update(tokens).set({ revoked: true, updated_at: now }).where(eq(tokens.id, old.id))
    const { grant } = await issueTokens(ctx, tx, { userId: old.user_id, application, scopes, parentId: old.id })
    return { userId: old.user_id, scopes, grant }
  })
  if (!refreshed) throw invalidGrant()
  const { userId, scopes, grant } = refreshed
  if (!application || !scopes.includes('openid')) return grant
  return { ...grant, id_token: await idToken(ctx, userId, { uid: application.uid, scopes }) }
}

/** Ends all that a refresh token led to. */
async function endReused(ctx: Context, tx: Transaction, old: Token, application: Application | null): Promise<void> {
  const revoked = await revokeWithDescendants(tx, old.id, ctx.now())
  for (const token of revoked) await auditToken(ctx, tx, 'token_revoked', token)
  if (application && revoked.length > 0)
    await auditApplication(ctx, tx, 'application_revoked', application, { reason: 'a refresh token was used twice' })
}

/**
 * When the password changes, revokes all that password grants and applications have, deletes all reset links, and ends all
 * sessions but the one that the call comes from (CR-23, ML-20, WB-11).
 */
export async function revokeGrants(
  tx: Pick<Transaction, 'update' | 'delete'>,
  userId: number,
  { now, session = 0 }: { now: Date; session?: number | undefined },
): Promise<void> {
  await tx.delete(sessions).where(and(eq(sessions.user_id, userId), ne(sessions.id, session)))
  await tx.delete(accountLinks).where(and(eq(accountLinks.user_id, userId), eq(accountLinks.purpose, 'reset')))
  await tx.delete(oauthCodes).where(eq(oauthCodes.user_id, userId))
  await tx
    .update(tokens)
    .set({ revoked: true, updated_at: now })
    .where(and(eq(tokens.user_id, userId), inArray(tokens.kind, GRANTED), eq(tokens.revoked, false)))
}

/**
 * Revokes the access or refresh token of an OAuth pair, with what it was refreshed to; an unknown token gets the same answer
 * (CR-13). An application that names itself revokes its own only.
 */
export async function revokeGrant(ctx: Context, token: string, application: Application | null): Promise<void> {
  const digest = digestOf(token)
  await ctx.db.transaction(async (tx) => {
    const [found] = await tx
      .select()
      .from(tokens)
      .where(and(inArray(tokens.kind, GRANTED), or(eq(tokens.digest, digest), eq(tokens.refresh_digest, digest))))
    if (!found || (application && found.application_id !== application.id)) return
    for (const revoked of await revokeWithDescendants(tx, found.id, ctx.now())) await auditToken(ctx, tx, 'token_revoked', revoked, found.user_id)
  })
}

const secondsLeft = (ctx: Pick<Context, 'now'>, { valid_until }: Token) =>
  valid_until ? Math.max(0, Math.floor((valid_until.getTime() - ctx.now().getTime()) / 1000)) : null

/** The owner, scopes and remaining time of the token of the call (CR-13a). */
export async function tokenInfo(ctx: Context, tokenId: number) {
  const [found] = await ctx.db.read
    .select({ token: tokens, uid: oauthApplications.uid })
    .from(tokens)
    .leftJoin(oauthApplications, eq(oauthApplications.id, tokens.application_id))
    .where(eq(tokens.id, tokenId))
  if (!found) throw new Failure('unauthenticated', { message: '401 Unauthorized' })
  const { token, uid } = found
  return {
    resource_owner_id: token.user_id,
    scope: token.scopes,
    expires_in: secondsLeft(ctx, token),
    application: { uid },
    created_at: Math.floor(token.created_at.getTime() / 1000),
  }
}

/** What an application learns of a token of its own; `active: false` for all others (CR-38). */
export async function introspect(ctx: Context, value: string, application: Application) {
  const digest = digestOf(value)
  const [found] = await ctx.db.write
    .select({ token: tokens, username: users.username, state: users.state })
    .from(tokens)
    .innerJoin(users, eq(users.id, tokens.user_id))
    .where(and(eq(tokens.application_id, application.id), or(eq(tokens.digest, digest), eq(tokens.refresh_digest, digest))))
  if (!found || found.token.revoked || found.state !== 'active') return { active: false }
  const { token, username } = found
  const isRefresh = token.refresh_digest === digest
  const ends = isRefresh ? new Date(token.created_at.getTime() + REFRESH_TOKEN_LIFETIME_MS) : token.valid_until
  if (ends && ends <= ctx.now()) return { active: false }
  return {
    active: true,
    scope: token.scopes.join(' '),
    client_id: application.uid,
    token_type: isRefresh ? 'refresh_token' : 'Bearer',
    username,
    sub: String(token.user_id),
    iss: ctx.links.base,
    iat: Math.floor(token.created_at.getTime() / 1000),
    ...(ends && { exp: Math.floor(ends.getTime() / 1000) }),
  }
}
