import { and, desc, eq, lte, sql } from 'drizzle-orm'
import type { SignedIn } from '../../../access/actor.js'
import type { Context } from '../../../context.js'
import type { Transaction } from '../../../db/client.js'
import { decoded } from '../../../db/decoded.js'
import { oauthApplications, oauthCodes, oauthGrants, tokens } from '../../../db/schema/index.js'
import { notFound } from '../../../failures.js'
import { digestOf, newSecret } from '../../../lib/crypto/secret.js'
import { createdNow } from '../../core/created-now.js'
import { auditToken } from '../tokens.js'
import { type Application, auditApplication, findApplication, wordsOf } from './applications.js'
import { INVALID_SCOPE, missing, oauthError } from './failures.js'
import { isRegistered, NATIVE, withParameters } from './redirect-uris.js'

const CODE_LIFETIME_MS = 600_000
/** Codes of one user that wait to be exchanged; a further one takes the place of the oldest. */
const MAX_CODES = 50
const MAX_STATE = 4_096
const MAX_NONCE = 1_024

/** The parameters of `/oauth/authorize`, as they came (RFC 6749, 7636, OpenID Connect Core). */
export interface AuthorizationParameters {
  client_id?: string | undefined
  redirect_uri?: string | undefined
  response_type?: string | undefined
  response_mode?: string | undefined
  scope?: string | undefined
  state?: string | undefined
  nonce?: string | undefined
  prompt?: string | undefined
  max_age?: number | undefined
  code_challenge?: string | undefined
  code_challenge_method?: string | undefined
}

/** Where the answer goes. */
export interface Recipient {
  application: Application
  redirectUri: string
  state: string | undefined
}

export interface AuthorizationRequest extends Recipient {
  scopes: string[]
  challenge: string | null
  nonce: string | null
  /** `none`: the user is not to be asked. `consent`: the user is to be asked in any case. */
  prompt: 'none' | 'consent' | null
  maxAge: number | null
}

/** Why a request is refused, with the words of OAuth; the application is to learn it. */
export interface Refusal {
  error: string
  description: string
}

const refusal = (error: string, description: string): Refusal => ({ error, description })

/**
 * The application that asks, and where it is answered. A fault here is shown to the user: the address that an answer would lead to
 * cannot be trusted (CR-33).
 */
export async function getRecipient(ctx: Context, { client_id, redirect_uri, state }: AuthorizationParameters): Promise<Recipient> {
  if (!client_id) throw missing('client_id')
  const application = await findApplication(ctx, client_id)
  if (!application) throw oauthError('invalid', 'invalid_client', 'There is no application with this client_id. It may have been removed.')
  if (!redirect_uri) throw missing('redirect_uri')
  if (!isRegistered(redirect_uri, application.redirect_uris))
    throw oauthError(
      'invalid',
      'invalid_redirect_uri',
      'The address that the application wants to lead to is not one of those that are registered for it.',
    )
  if ((state?.length ?? 0) > MAX_STATE) throw oauthError('invalid', 'invalid_request', 'The parameter state is too long.')
  return { application, redirectUri: redirect_uri, state }
}

/** What is asked for, or why it is refused (CR-33). */
export function readRequest(recipient: Recipient, given: AuthorizationParameters): AuthorizationRequest | Refusal {
  const { application } = recipient
  if (!given.response_type) return refusal('invalid_request', 'Missing required parameter: response_type.')
  if (given.response_type !== 'code') return refusal('unsupported_response_type', 'The authorization server does not support this response type.')
  if (given.response_mode && given.response_mode !== 'query') return refusal('invalid_request', 'The only response_mode is query.')
  const asked = wordsOf(given.scope ?? '')
  const scopes = asked.length > 0 ? asked : application.scopes
  if (!scopes.every((scope) => application.scopes.includes(scope))) return refusal('invalid_scope', INVALID_SCOPE)
  const challenge = given.code_challenge || null
  if (challenge === null && !application.confidential) return refusal('invalid_request', 'Missing required parameter: code_challenge.')
  if (challenge !== null && given.code_challenge_method !== 'S256') return refusal('invalid_request', 'The code_challenge_method has to be S256.')
  if (challenge !== null && !/^[\w-]{43}$/.test(challenge)) return refusal('invalid_request', 'The code_challenge is not valid.')
  if ((given.nonce?.length ?? 0) > MAX_NONCE) return refusal('invalid_request', 'The nonce is too long.')
  const prompt = given.prompt || null
  if (prompt === 'login') return refusal('login_required', 'The user has to sign out first.')
  if (prompt === 'select_account') return refusal('account_selection_required', 'The user has to sign out first.')
  if (prompt !== null && prompt !== 'none' && prompt !== 'consent') return refusal('invalid_request', 'The prompt is not supported.')
  return { ...recipient, scopes, challenge, nonce: given.nonce || null, prompt, maxAge: given.max_age ?? null }
}

/** The address that answers a request. The issuer is named, so that no other server's answer is taken for this one (RFC 9207). */
export const answerAddress = ({ links }: Pick<Context, 'links'>, { redirectUri, state }: Recipient, answer: { code: string } | Refusal): string => {
  const parameters = 'code' in answer ? { code: answer.code } : { error: answer.error, error_description: answer.description }
  return redirectUri === NATIVE
    ? withParameters('/oauth/authorize/native', parameters)
    : withParameters(redirectUri, { ...parameters, state, iss: links.base })
}

/** Whether the caller is not asked: the application is trusted, or it keeps a secret and was allowed all of this (CR-32). */
export async function isAllowed(ctx: Context, { user }: SignedIn, { application, scopes }: AuthorizationRequest): Promise<boolean> {
  if (application.trusted) return true
  if (!application.confidential) return false
  const [grant] = await ctx.db.write.select().from(oauthGrants).where(grantOf(user.id, application.id))
  return grant !== undefined && scopes.every((scope) => grant.scopes.includes(scope))
}

const grantOf = (userId: number, applicationId: number) => and(eq(oauthGrants.user_id, userId), eq(oauthGrants.application_id, applicationId))

/** Allows an application what it asks for, and returns the code that it exchanges for a token. */
export async function authorize(ctx: Context, { user }: SignedIn, request: AuthorizationRequest, signedInAt: Date): Promise<string> {
  const { application, redirectUri, scopes, challenge, nonce } = request
  const code = `${newSecret(ctx.random)}${newSecret(ctx.random)}`
  const now = ctx.now()
  await ctx.db.transaction(async (tx) => {
    await recordGrant(ctx, tx, user.id, request)
    await tx.delete(oauthCodes).where(lte(oauthCodes.expires_at, now))
    await tx.execute(sql`delete from ${oauthCodes} where id in (
      select id from ${oauthCodes} where user_id = ${user.id} order by id desc offset ${MAX_CODES - 1})`)
    await tx.insert(oauthCodes).values({
      digest: digestOf(code),
      user_id: user.id,
      application_id: application.id,
      redirect_uri: redirectUri,
      scopes,
      challenge,
      nonce,
      signed_in_at: signedInAt,
      expires_at: new Date(now.getTime() + CODE_LIFETIME_MS),
    })
  })
  return code
}

/** Remembers what a user has allowed; audited if that is more than before. */
async function recordGrant(ctx: Context, tx: Transaction, userId: number, { application, scopes }: AuthorizationRequest): Promise<void> {
  const [before] = await tx.select().from(oauthGrants).where(grantOf(userId, application.id)).for('update')
  const all = [...new Set([...(before?.scopes ?? []), ...scopes])]
  if (before && all.length === before.scopes.length) return
  await tx
    .insert(oauthGrants)
    .values({ user_id: userId, application_id: application.id, scopes: all, ...createdNow(ctx) })
    .onConflictDoUpdate({ target: [oauthGrants.user_id, oauthGrants.application_id], set: { scopes: all, updated_at: ctx.now() } })
  await auditApplication(ctx, tx, 'application_authorized', application, { scopes })
}

/** Records that a user has refused an application. */
export const refuseAuthorization = (ctx: Context, { application, scopes }: AuthorizationRequest): Promise<void> =>
  auditApplication(ctx, ctx.db.write, 'application_refused', application, { scopes })

export interface AllowedApplication {
  id: number
  name: string
  owner_id: number | null
  scopes: string[]
  created_at: Date
  last_used_at: Date | null
}

const MAX_SHOWN = 500

/** The applications that a user has allowed something, the last one first. */
export const listAllowed = (ctx: Context, userId: number): Promise<AllowedApplication[]> =>
  ctx.db.read
    .select({
      id: oauthApplications.id,
      name: oauthApplications.name,
      owner_id: oauthApplications.owner_id,
      scopes: oauthGrants.scopes,
      created_at: oauthGrants.created_at,
      last_used_at: decoded(
        sql`(select max(t.last_used_at) from ${tokens} t where t.application_id = ${oauthApplications.id} and t.user_id = ${userId})`,
        tokens.last_used_at,
      ),
    })
    .from(oauthGrants)
    .innerJoin(oauthApplications, eq(oauthApplications.id, oauthGrants.application_id))
    .where(eq(oauthGrants.user_id, userId))
    .orderBy(desc(oauthGrants.created_at), desc(oauthApplications.id))
    .limit(MAX_SHOWN)

/** Ends what a user has allowed an application; 404 if that is nothing (CR-39). */
export async function revokeAllowed(ctx: Context, userId: number, applicationId: number): Promise<{ name: string }> {
  return ctx.db.transaction(async (tx) => {
    const [application] = await tx.select().from(oauthApplications).where(eq(oauthApplications.id, applicationId))
    const ended = await tx.delete(oauthGrants).where(grantOf(userId, applicationId)).returning({ id: oauthGrants.application_id })
    if (!application || ended.length === 0) throw notFound()
    await tx.delete(oauthCodes).where(and(eq(oauthCodes.user_id, userId), eq(oauthCodes.application_id, applicationId)))
    const revoked = await tx
      .update(tokens)
      .set({ revoked: true, updated_at: ctx.now() })
      .where(and(eq(tokens.user_id, userId), eq(tokens.application_id, applicationId), eq(tokens.revoked, false)))
      .returning()
    for (const token of revoked) await auditToken(ctx, tx, 'token_revoked', token)
    await auditApplication(ctx, tx, 'application_revoked', application)
    return application
  })
}
