import type { IncomingHttpHeaders } from 'node:http'
import { eq, sql } from 'drizzle-orm'
import type { Context } from '../context.js'
import { tokens, users } from '../db/schema/index.js'
import { statement } from '../db/statement.js'
import { Failure, forbidden, insufficientScope, invalidInput, invalidToken, tooMany, unauthenticated } from '../failures.js'
import { digestOf } from '../lib/crypto/secret.js'
import { numericId } from '../lib/numeric-id.js'
import { dayOf } from '../lib/text/day.js'
import { type ActorUser, ANONYMOUS, type Caller, type SignedIn } from './actor.js'
import { checkAddress } from './addresses.js'
import { actorColumns } from './jobs/actor-columns.js'
import { findCallingJob } from './jobs/job-tokens.js'
import { checkScope, type Scope, type ScopedRoute } from './scopes.js'

const selectToken = statement('token by digest or id', (db, by: 'digest' | 'id') =>
  db
    .select({
      user: actorColumns,
      state: users.state,
      user_kind: users.kind,
      id: tokens.id,
      kind: tokens.kind,
      scopes: tokens.scopes,
      revoked: tokens.revoked,
      expires_at: tokens.expires_at,
      valid_until: tokens.valid_until,
      last_used_at: tokens.last_used_at,
    })
    .from(tokens)
    .innerJoin(users, eq(users.id, tokens.user_id))
    .where(eq(by === 'digest' ? tokens.digest : tokens.id, sql.placeholder('value'))),
)

const selectUser = statement('actor by id or username', (db, by: 'id' | 'username') =>
  db
    .select(actorColumns)
    .from(users)
    .where(by === 'id' ? eq(users.id, sql.placeholder('value')) : eq(sql`lower(${users.username})`, sql`lower(${sql.placeholder('value')})`)),
)

/** Minimum time between two updates of a token's `last_used_at`, in milliseconds (CR-9). */
const LAST_USED_INTERVAL_MS = 600_000

/**
 * The result of checking a token: its owner, or why it is refused. Every place that accepts a token uses this check
 * (SEC-12).
 */
export type TokenVerdict =
  | { ok: true; user: ActorUser; token: { id: number; kind: 'personal' | 'impersonation' | 'oauth' | 'application'; scopes: Scope[] } }
  /** `known`: the token exists; `blocked`: why its owner may not use it. */
  | { ok: false; failure: Failure; known: boolean; blocked: 'blocked' | 'deactivated' | null }

/**
 * Looks a token up by its digest and checks expiry, revocation and the state of its owner, in that order (G-14 to
 * G-17).
 */
export const verifyToken = (ctx: Context, value: string): Promise<TokenVerdict> => verifyFound(ctx, { digest: digestOf(value) })

/** `verifyToken` for a token that was verified before, by its id. */
export const verifyTokenAgain = (ctx: Context, id: number): Promise<TokenVerdict> => verifyFound(ctx, { id })

async function verifyFound(ctx: Context, by: { digest: string } | { id: number }): Promise<TokenVerdict> {
  const [found] = await ('id' in by
    ? selectToken(ctx.db, 'id').execute({ value: by.id })
    : selectToken(ctx.db, 'digest').execute({ value: by.digest }))
  const known = found !== undefined
  const refused = (failure: Failure, blocked: 'blocked' | 'deactivated' | null = null): TokenVerdict => ({ ok: false, failure, known, blocked })
  if (!found) return refused(unauthenticated())
  const now = ctx.now()
  const expired = (found.expires_at !== null && found.expires_at <= dayOf(now)) || (found.valid_until !== null && found.valid_until <= now)
  if (expired) return refused(invalidToken('Token is expired. You can either do re-authorization or token refresh.'))
  if (found.revoked) return refused(invalidToken('Token was revoked. You have to re-authorize from the user.'))
  if (found.kind === 'impersonation' && !ctx.config.impersonation)
    return refused(invalidToken('Token is an impersonation token but impersonation was disabled.'))
  if (found.state === 'deactivated') return refused(forbidden(deactivatedText(ctx)), 'deactivated')
  if (found.state !== 'active' || found.user_kind === 'ghost') return refused(forbidden('User is blocked'), 'blocked')
  if (!found.last_used_at || now.getTime() - found.last_used_at.getTime() > LAST_USED_INTERVAL_MS) {
    ctx.jobs.add('token last used', async () => {
      await ctx.db.write.update(tokens).set({ last_used_at: now }).where(eq(tokens.id, found.id))
    })
  }
  const scopes = (found.scopes.length > 0 ? found.scopes : ['api']) as Scope[]
  return { ok: true, user: found.user, token: { id: found.id, kind: found.kind, scopes } }
}

/** Returns the owner of a valid token. Counts an unknown token and throws. */
export async function requireToken(ctx: Context, value: string, address: string): Promise<Extract<TokenVerdict, { ok: true }>> {
  const verdict = await verifyToken(ctx, value)
  if (verdict.ok) return verdict
  if (verdict.known) logBadToken(ctx, address, reasonOf(verdict))
  else await countBadToken(ctx, address)
  throw verdict.failure
}

/**
 * Counts an unknown token against the client's address; throws 429 after too many. Known tokens are never throttled or
 * counted, also where they are refused: they were not guessed, and many callers may share an address (SEC-26, SEC-270).
 */
export async function countBadToken(ctx: Context, address: string, throttle = ctx.access.throttle): Promise<void> {
  const wait = await throttle.wait(address)
  if (wait > 0) await throttle.refuse(tooMany(wait))
  logBadToken(ctx, address, 'the token is not valid')
  await throttle.failed(address)
}

/** Why a known token is refused, for the log. */
export const reasonOf = ({ blocked }: { blocked: string | null }) => (blocked ? `the account is ${blocked}` : 'the token was revoked or has expired')

/** The text that a deactivated user gets where they cannot sign in (WB-350). */
export const deactivatedText = ({ links }: Pick<Context, 'links'>) =>
  `Your account has been deactivated by an administrator: sign in at ${links.base}/users/sign_in to use it again`

/** Logs a refused token; alone for one that is known, which is not counted (SEC-270). */
export function logBadToken(ctx: Pick<Context, 'monitoring' | 'log'>, address: string, reason: string): void {
  ctx.monitoring.metrics.login('token', 'refused')
  ctx.log.warn({ address, reason }, 'a sign-in failed')
}

/** The credential of a call: the first source that has one is used (G-12, CR-5). Blank values count as absent. */
function credentialOf(headers: IncomingHttpHeaders, parameters: Record<string, unknown>): string | null {
  const text = (value: unknown) => {
    if (value === undefined || value === null) return undefined
    // a list or a map is an invalid credential, not an absent one
    if (typeof value === 'object') throw unauthenticated()
    return String(value).trim() || undefined
  }
  const authorization = text(headers.authorization)
  const bearer = authorization && /^Bearer\s+(.+)$/i.exec(authorization)?.[1]
  const found = bearer ?? text(parameters['access_token']) ?? text(parameters['private_token']) ?? text(headers['private-token'])
  if (found) return found
  // this API accepts neither HTTP Basic nor job tokens; they must not pass as "no credential" (CR-6, SEC-11)
  if ((authorization && !/^Bearer$/i.test(authorization)) || text(headers['job-token'])) throw unauthenticated()
  return null
}

/** The token of a job, which counts before any other credential where it is taken (CI-243); null without one. */
function jobTokenOf(headers: IncomingHttpHeaders, parameters: Record<string, unknown>): string | null {
  const given = headers['job-token'] ?? parameters['job_token']
  if (typeof given === 'object' && given !== null) throw unauthenticated()
  return given === undefined || given === null ? null : String(given).trim() || null
}

async function callingJob(ctx: Context, token: string, address: string): Promise<Caller> {
  const found = await findCallingJob(ctx, token)
  if (!found) {
    await countBadToken(ctx, address)
    throw unauthenticated()
  }
  await checkAddress(ctx, found.user.id, address)
  return { user: found.user, token: { id: 0, kind: 'job', scopes: [] }, job: found.job }
}

/**
 * Identifies the caller: token, scope, then sudo (G-10 step 3). An invalid credential is an error, never "anonymous"
 * (SEC-11).
 */
export async function authenticate(
  ctx: Context,
  headers: IncomingHttpHeaders,
  parameters: Record<string, unknown>,
  route: ScopedRoute,
  address: string,
): Promise<Caller> {
  if (route.jobToken) {
    const job = jobTokenOf(headers, parameters)
    if (job !== null) return callingJob(ctx, job, address)
  }
  const credential = credentialOf(headers, parameters)
  const target = sudoTarget(headers, parameters)
  if (credential === null) {
    if (target !== undefined) throw unauthenticated()
    return ANONYMOUS
  }
  const { user, token } = await requireToken(ctx, credential, address)
  await checkAddress(ctx, user.id, address)
  checkScope(token.scopes, route)
  if (target === undefined) return { user, token }
  return { user: await sudo(ctx, { user, token }, route, target), token, sudoer: user }
}

function sudoTarget(headers: IncomingHttpHeaders, parameters: Record<string, unknown>): string | undefined {
  const parameter = parameters['sudo']
  if (typeof parameter === 'object' && parameter !== null) throw invalidInput('sudo is invalid')
  const value = parameter === undefined || parameter === null || parameter === '' ? headers['sudo'] : parameter
  return value === undefined || value === '' ? undefined : String(value)
}

/** The scopes that allow `sudo`; on `GET /user`, whatever opens the route is enough (G-26, CR-14). */
const maySudo = (scopes: Scope[], { method, path }: ScopedRoute) =>
  scopes.includes('sudo') || scopes.includes('api') || (method === 'GET' && path === '/user')

/** Returns the user that an administrator acts as; an unknown one is 404 (G-24 to G-28, CR-14). */
async function sudo(ctx: Context, { user, token }: SignedIn, route: ScopedRoute, target: string): Promise<ActorUser> {
  if (!user.admin) throw forbidden('Must be admin to use sudo')
  if (!maySudo(token.scopes, route)) throw insufficientScope('sudo')
  const unknown = new Failure('not_found', { message: `404 User with ID or username '${target}' Not Found` })
  const id = numericId(target)
  const [found] = await selectUser(ctx.db, id === null ? 'username' : 'id').execute({ value: id ?? target })
  if (!found) throw unknown
  return found
}
