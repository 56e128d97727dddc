import { and, asc, desc, eq, gte, ilike, lte, type SQL, sql } from 'drizzle-orm'
import type { SignedIn } from '../../access/actor.js'
import { SCOPES, type Scope } from '../../access/scopes.js'
import type { Context } from '../../context.js'
import type { Transaction } from '../../db/client.js'
import { count } from '../../db/decoded.js'
import { conditionsWith, type FilterNames, type Filters } from '../../db/filters.js'
import { substring } from '../../db/fuzzy.js'
import { onlyRow } from '../../db/only-row.js'
import { members, tokens, users } from '../../db/schema/index.js'
import { forbidden, invalidRecord, notFound, refused, unauthenticated } from '../../failures.js'
import { digestOf, newSecret } from '../../lib/crypto/secret.js'
import { dayOf } from '../../lib/text/day.js'
import { lengthOf, tooLong } from '../../rules/path.js'
import { type AuditAction, audit } from '../core/audit.js'
import { createdNow } from '../core/created-now.js'
import { lockName } from '../core/lock-name.js'
import { limits, type Page, type Paging } from '../core/page.js'
import { mailCredential } from './credential-mail.js'
import { checkMayMakeTokens, parentOf, revokeWithDescendants } from './token-descent.js'
import { findUserByName } from './users.js'

export type Token = typeof tokens.$inferSelect

export interface NewToken {
  name: string
  scopes: string[]
  expires_at?: string | undefined
  description?: string | undefined
}

/** Maximum number of active tokens of a user (SEC-130). */
const MAX_TOKENS = 1_000
const MAX_SCOPES = 20

/** What is wrong with a new token (CR-10, SEC-17). */
export function tokenFaults({ name, scopes, description }: NewToken): Record<string, string[]> {
  const faults: Record<string, string[]> = {}
  if (name.trim() === '') faults['name'] = ["can't be blank"]
  else if (lengthOf(name) > 255) faults['name'] = [tooLong(255)]
  if (description && lengthOf(description) > 255) faults['description'] = [tooLong(255)]
  if (scopes.length === 0) faults['scopes'] = ["can't be blank"]
  else if (
    scopes.length > MAX_SCOPES ||
    new Set(scopes).size < scopes.length ||
    scopes.some((scope) => !(SCOPES as readonly string[]).includes(scope))
  ) {
    faults['scopes'] = ['can only contain available scopes']
  }
  return faults
}

/**
 * Creates a personal access token and returns it with its value, of which only a digest is stored (CR-7). 400 with the
 * faults of its fields. `maker`: the caller whose token it is made with (CR-25).
 */
export async function createToken(
  ctx: Context,
  user: { id: number; admin: boolean },
  given: NewToken,
  { value = newSecret(ctx.random), maker }: { value?: string; maker?: SignedIn } = {},
): Promise<{ token: Token; value: string }> {
  const faults = tokenFaults(given)
  if (given.scopes.includes('sudo') && !user.admin) faults['scopes'] = ['can only contain available scopes']
  if (Object.keys(faults).length > 0) throw invalidRecord(faults)
  return ctx.db.transaction(async (tx) => {
    const parent_id = maker ? await parentOf(tx, maker) : null
    await checkTokenLimit(tx, user.id)
    const token = await insertToken(ctx, tx, given, { user_id: user.id, parent_id, value })
    await mailCredential(ctx, tx, { user: user.id, kind: 'An access token', name: token.name, detail: token.scopes.join(', ') })
    return { token, value }
  })
}

/** Inserts a personal access token. The caller has checked it, and that the user may have one more. */
export async function insertToken(
  ctx: Context,
  tx: Transaction,
  given: NewToken,
  { value, ...owner }: { user_id: number; parent_id: number | null; value: string },
): Promise<Token> {
  const { name, description = null, scopes, expires_at = null } = given
  const values = { ...owner, kind: 'personal' as const, name, description, digest: digestOf(value), scopes, expires_at, ...createdNow(ctx) }
  const token = onlyRow(await tx.insert(tokens).values(values).returning())
  await auditToken(ctx, tx, 'token_created', token)
  return token
}

/** 400 when the account has the maximum number of active tokens (SEC-130). */
export async function checkTokenLimit(tx: Transaction, userId: number): Promise<void> {
  await lockName(tx, `tokens of user ${userId}`)
  const held = await tx.$count(tokens, and(eq(tokens.user_id, userId), eq(tokens.revoked, false)))
  if (held >= MAX_TOKENS) throw invalidRecord({ base: [`there are already ${MAX_TOKENS} tokens`] })
}

/** Audits an action on a token; the value is never recorded. */
export const auditToken = (
  ctx: Context,
  tx: Pick<Transaction, 'insert'>,
  action: AuditAction,
  { id, name, kind, user_id, scopes, expires_at }: Token,
  actorId?: number,
) => audit(ctx, tx, { action, target: { type: 'token', id, name }, actorId, changes: { kind, user_id, scopes, expires_at } })

/**
 * Creates a token for the caller, with no more scopes than the credential of the call; `sudo` only for an administrator
 * with a `sudo` or password-grant credential (CR-16).
 */
export async function createOwnToken(ctx: Context, caller: SignedIn, given: NewToken): Promise<{ token: Token; value: string }> {
  checkMayMakeTokens(caller)
  if (caller.user.kind === 'bot') throw forbidden('the token of a project or group makes no tokens')
  const { user, token } = caller
  const held = token.scopes
  const covered = (scope: string) =>
    scope === 'sudo'
      ? user.admin && (held.includes('sudo') || token.kind === 'oauth' || token.kind === 'session')
      : held.includes('api') || held.includes(scope as Scope)
  const known = given.scopes.filter((scope) => (SCOPES as readonly string[]).includes(scope))
  if (!known.every(covered)) throw forbidden()
  return createToken(ctx, user, { ...given, expires_at: await cappedExpiry(ctx, caller, given.expires_at) }, { maker: caller })
}

/**
 * The expiry date of a token that a call creates for its own user. It is no later than that of the call's token;
 * otherwise a leaked token could be renewed for ever (CR-22). A password grant stands for the password and sets no
 * limit.
 */
async function cappedExpiry(ctx: Context, { token }: SignedIn, wanted: string | undefined, usual?: string): Promise<string | undefined> {
  const [presented] = await ctx.db.write.select({ last: tokens.expires_at }).from(tokens).where(eq(tokens.id, token.id))
  const last = presented?.last ?? null
  if (last === null) return wanted ?? usual
  if (wanted !== undefined && wanted > last) throw invalidRecord({ expires_at: [`cannot be after ${last}, when the token of this call expires`] })
  return wanted ?? (usual !== undefined && usual < last ? usual : last)
}

export const SORTS = [
  'created_asc',
  'created_desc',
  'expires_asc',
  'expires_desc',
  'last_used_asc',
  'last_used_desc',
  'name_asc',
  'name_desc',
] as const

export interface TokenFilter extends Paging {
  user_id?: number | undefined
  state?: 'active' | 'inactive' | undefined
  revoked?: boolean | undefined
  search?: string | undefined
  created_after?: Date | undefined
  created_before?: Date | undefined
  last_used_after?: Date | undefined
  last_used_before?: Date | undefined
  sort: (typeof SORTS)[number]
}

const today = (ctx: Pick<Context, 'now'>) => dayOf(ctx.now())

/** Neither revoked nor expired (T-4, SEC-13). */
export const isActive = (ctx: Context, token: Token) => !token.revoked && (token.expires_at === null || token.expires_at > today(ctx))

/** `isActive` as an SQL condition. */
export const activeTokens = (ctx: Context) => sql`(not ${tokens.revoked} and (${tokens.expires_at} is null or ${tokens.expires_at} > ${today(ctx)}))`

const filtersAt = (ctx: Context) =>
  ({
    user_id: { where: (id) => eq(tokens.user_id, id), value: ({ user_id }) => user_id },
    state: { where: (state) => sql`${activeTokens(ctx)} = (${state}::text = 'active')`, value: ({ state }) => state },
    revoked: { where: (revoked) => eq(tokens.revoked, revoked), value: ({ revoked }) => revoked },
    search: { where: (text) => ilike(tokens.name, text), value: ({ search }) => (search ? substring(search) : undefined) },
    created_after: { where: (time) => gte(tokens.created_at, time), value: ({ created_after }) => created_after?.toISOString() },
    created_before: { where: (time) => lte(tokens.created_at, time), value: ({ created_before }) => created_before?.toISOString() },
    last_used_after: { where: (time) => gte(tokens.last_used_at, time), value: ({ last_used_after }) => last_used_after?.toISOString() },
    last_used_before: { where: (time) => lte(tokens.last_used_at, time), value: ({ last_used_before }) => last_used_before?.toISOString() },
  }) satisfies Filters<TokenFilter, FilterNames<TokenFilter>>

/**
 * The personal access tokens that the caller may see: all for administrators, their own for others. Impersonation and
 * OAuth tokens are not listed (CR-18).
 */
export async function listTokens(ctx: Context, caller: SignedIn, filter: TokenFilter): Promise<Page<Token>> {
  if (!caller.user.admin && filter.user_id !== undefined && filter.user_id !== caller.user.id) throw unauthenticated()
  return selectTokens(ctx, caller.user.admin ? undefined : eq(tokens.user_id, caller.user.id), filter)
}

/** The personal access tokens that meet a condition. */
export async function selectTokens(ctx: Context, condition: SQL | undefined, filter: TokenFilter): Promise<Page<Token>> {
  const [field, direction] = splitSort(filter.sort)
  const column = { created: tokens.created_at, expires: tokens.expires_at, last_used: tokens.last_used_at, name: tokens.name }[field]
  const order = direction === 'asc' ? asc : desc
  const { limit, offset } = limits(filter)
  const where = and(eq(tokens.kind, 'personal'), condition, ...conditionsWith(filtersAt(ctx), filter))
  const [items, [all]] = await Promise.all([
    ctx.db.read
      .select()
      .from(tokens)
      .where(where)
      .orderBy(sql`${order(column)} nulls last`, order(tokens.id))
      .limit(limit)
      .offset(offset),
    ctx.db.read.select({ total: count() }).from(tokens).where(where),
  ])
  return { items, total: all?.total ?? 0 }
}

function splitSort(sort: (typeof SORTS)[number]) {
  const separator = sort.lastIndexOf('_')
  return [sort.slice(0, separator), sort.slice(separator + 1)] as ['created' | 'expires' | 'last_used' | 'name', 'asc' | 'desc']
}

/**
 * A token by id, or `self` for the token of the call. Missing tokens and those of others are 401; for administrators
 * missing tokens are 404 (CR-19).
 */
export async function getToken(ctx: Context, caller: SignedIn, named: string): Promise<Token> {
  const missing = caller.user.admin ? notFound() : unauthenticated()
  const id = named === 'self' ? caller.token.id : /^\d{1,10}$/.test(named) ? Number(named) : 0
  const [token] = await ctx.db.read.select().from(tokens).where(eq(tokens.id, id))
  if (!token) throw missing
  if (named === 'self') {
    if (token.kind === 'oauth' || token.kind === 'application') throw refused('This endpoint needs a personal access token')
    return token
  }
  if (token.kind !== 'personal' || (token.user_id !== caller.user.id && !caller.user.admin)) throw missing
  return token
}

/**
 * Replaces a token by a new one, and revokes it and what was made with it in the same transaction; 401 when it is no
 * longer active (CR-20, CR-25).
 */
export async function rotateToken(
  ctx: Context,
  caller: SignedIn,
  token: Token,
  expiresAt: string | undefined,
): Promise<{ token: Token; value: string }> {
  checkMayMakeTokens(caller)
  const value = newSecret(ctx.random)
  const inAWeek = dayOf(new Date(ctx.now().getTime() + 7 * 86_400_000))
  const own = token.user_id === caller.user.id
  const expires_at = own ? await cappedExpiry(ctx, caller, expiresAt, inAWeek) : (expiresAt ?? inAWeek)
  return ctx.db.transaction(async (tx) => {
    // first the row that will change: two calls of a token that replaces itself would deadlock on the lock of its use
    const [old] = await tx.select().from(tokens).where(eq(tokens.id, token.id)).for('update')
    if (!old || !isActive(ctx, old)) throw unauthenticated()
    const maker = await parentOf(tx, caller)
    const revoked = await revokeWithDescendants(tx, old.id, ctx.now())
    for (const descendant of revoked) if (descendant.id !== old.id) await auditToken(ctx, tx, 'token_revoked', descendant)
    // a token that replaces itself, or is replaced by one made with it, stays with the one that it was made with
    const bot = (await tx.$count(users, and(eq(users.id, old.user_id), eq(users.kind, 'bot')))) > 0
    const parent_id = bot || revoked.some(({ id }) => id === maker) ? old.parent_id : maker
    const { user_id, kind, name, description, scopes } = old
    const fresh = onlyRow(
      await tx
        .insert(tokens)
        .values({ user_id, parent_id, kind, name, description, scopes, digest: digestOf(value), expires_at, ...createdNow(ctx) })
        .returning(),
    )
    await auditToken(ctx, tx, 'token_rotated', fresh)
    // a bot is a member for as long as its token is good (PT-6)
    if (bot) await tx.update(members).set({ expires_at }).where(eq(members.user_id, user_id))
    return { token: fresh, value }
  })
}

/** Revokes a token and keeps its row; revoking twice is a 400 (CR-21). */
export async function revokeToken(ctx: Context, token: Token): Promise<void> {
  if (!(await markRevoked(ctx, token))) throw refused('The token is already revoked')
}

/** Revokes a token and what was made with it (CR-25); false when it was revoked already. */
export async function markRevoked(ctx: Context, { id }: Token): Promise<boolean> {
  return ctx.db.transaction(async (tx) => {
    const revoked = await revokeWithDescendants(tx, id, ctx.now())
    for (const token of revoked) await auditToken(ctx, tx, 'token_revoked', token)
    return revoked.some((token) => token.id === id)
  })
}

/** The user that an administrator creates a token for; 404 when there is none (CR-17). */
export async function tokenOwner(ctx: Context, userId: number): Promise<{ id: number; admin: boolean }> {
  const [user] = await ctx.db.read.select({ id: users.id, admin: users.admin, kind: users.kind }).from(users).where(eq(users.id, userId))
  if (user?.kind !== 'human') throw notFound('User')
  return user
}

/** For the command line (CR-3): creates a token for a user by name; returns its value. */
export async function createTokenFor(ctx: Context, { username, ...given }: NewToken & { username: string }): Promise<string> {
  const user = await findUserByName(ctx, username)
  if (user?.kind !== 'human') throw notFound('User')
  return (await createToken(ctx, user, given)).value
}
