import { and, eq, sql } from 'drizzle-orm'
import type { Configuration, IDToken, UserInfoResponse } from 'openid-client'
import type { Context } from '../../../context.js'
import { signOnRequests } from '../../../db/schema/index.js'
import { Failure } from '../../../failures.js'
import { digestOf } from '../../../lib/crypto/secret.js'
import { unavailableIn } from '../../../lib/unavailable.js'
import type { OpenidProvider } from '../../../sign-on-config.js'
import { callProvider } from './openid-fetch.js'
import { cleanProfile, notReached, type Profile, refuseSignOn } from './sign-on.js'

/** Milliseconds that a browser may take to come back. */
const WAIT_MS = 600_000
/** Requests of one address that may wait. */
const MAX_WAITING = 50
/** Difference of clocks that is tolerated, in seconds. */
const CLOCK_TOLERANCE_S = 30

const library = () => import('openid-client')

/** What a provider says about itself, found by discovery. */
async function metadataOf(ctx: Context, provider: OpenidProvider): Promise<Configuration> {
  const { openid: cache } = ctx.caches
  const known = cache.get(provider.name)
  if (known) return known
  const found = discover(ctx, provider)
  cache.set(provider.name, found)
  return found.catch((error: unknown) => {
    if (cache.get(provider.name) === found) cache.delete(provider.name)
    throw unavailableIn(error) ?? notReached(ctx, provider, error)
  })
}

/** Reads the metadata of a provider. */
export async function discover(ctx: Context, provider: OpenidProvider): Promise<Configuration> {
  const client = await library()
  const { issuer, client_id, client_secret: secret, client_authentication: how } = provider
  const authentication =
    secret === undefined ? client.None() : how === 'client_secret_post' ? client.ClientSecretPost(secret) : client.ClientSecretBasic(secret)
  return client.discovery(new URL(issuer), client_id, { [client.clockTolerance]: CLOCK_TOLERANCE_S }, authentication, {
    [client.customFetch]: (address, options) => callProvider(ctx, provider, address, options),
    // the signature of the ID token is checked, though it comes from the provider itself
    execute: [client.enableNonRepudiationChecks, ...(issuer.startsWith('http:') ? [client.allowInsecureRequests] : [])],
  })
}

const callbackPath = ({ name }: Pick<OpenidProvider, 'name'>): string => `/users/auth/${name}/callback`

/** What only this service can make from a state, so that it need not be stored: the nonce and the PKCE verifier. */
const secretsOf = ({ encryption }: Context, state: string) => ({
  nonce: encryption.sign(state, 'OpenID nonce'),
  verifier: encryption.sign(state, 'PKCE verifier'),
})

/** Begins a sign-in of a browser, and returns the address to send it to (WB-42). */
export async function beginOpenid(
  ctx: Context,
  provider: OpenidProvider,
  { browser, returnTo }: { browser: string; returnTo: string },
): Promise<string> {
  const [client, metadata] = [await library(), await metadataOf(ctx, provider)]
  const state = ctx.random.bytes('sign-on', 32).toString('base64url')
  const { nonce, verifier } = secretsOf(ctx, state)
  const address = ctx.origin?.address ?? ''
  await ctx.db.transaction(async (tx) => {
    await tx.execute(sql`delete from ${signOnRequests} where id in (
      select id from ${signOnRequests} where address = ${address} order by id desc offset ${MAX_WAITING - 1})`)
    await tx.insert(signOnRequests).values({
      digest: digestOf(state),
      provider: provider.name,
      browser_digest: digestOf(browser),
      address,
      return_to: returnTo,
      expires_at: new Date(ctx.now().getTime() + WAIT_MS),
    })
  })
  return client.buildAuthorizationUrl(metadata, {
    redirect_uri: ctx.links.base + callbackPath(provider),
    scope: [...new Set(['openid', ...provider.scopes])].join(' '),
    code_challenge: await client.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
    state,
    nonce,
  }).href
}

/** A browser that came back from a provider, with the person who signed in there. */
export interface OpenidReturn {
  profile: Profile
  returnTo: string
}

/** Ends what `beginOpenid` began: checks the answer of the provider, which the query has (WB-42, WB-43). */
export async function finishOpenid(ctx: Context, provider: OpenidProvider, browser: string | undefined, query: string): Promise<OpenidReturn> {
  const state = new URLSearchParams(query).get('state') ?? ''
  const [request] = await ctx.db.write
    .delete(signOnRequests)
    .where(and(eq(signOnRequests.digest, digestOf(state)), eq(signOnRequests.provider, provider.name)))
    .returning()
  if (!request || request.expires_at <= ctx.now() || browser === undefined || request.browser_digest !== digestOf(browser))
    throw new Failure('unprocessable', { error: 'This sign-in has expired, was used already, or was begun in another browser. Begin again.' })
  const [client, metadata] = [await library(), await metadataOf(ctx, provider)]
  const { nonce, verifier } = secretsOf(ctx, state)
  try {
    const tokens = await client.authorizationCodeGrant(metadata, new URL(`${ctx.links.base}${callbackPath(provider)}?${query}`), {
      expectedState: state,
      expectedNonce: nonce,
      pkceCodeVerifier: verifier,
      idTokenExpected: true,
    })
    const claims = tokens.claims()
    if (!claims) throw new Error('there is no ID token')
    const info = metadata.serverMetadata().userinfo_endpoint ? await client.fetchUserInfo(metadata, tokens.access_token, claims.sub) : undefined
    return { profile: profileFrom(provider, claims, info), returnTo: request.return_to }
  } catch (error) {
    const unavailable = unavailableIn(error)
    if (unavailable) throw unavailable
    ctx.log.warn({ provider: provider.name, err: error }, 'the answer of a provider is not accepted')
    throw await refuseSignOn(ctx, provider, { login: '' }, reasonOf(error))
  }
}

/** The error code of the provider, or else why its answer is not accepted. */
function reasonOf(error: unknown): string {
  const code = error instanceof Error && 'error' in error ? String(error.error) : ''
  if (code === 'access_denied') return 'access was denied there'
  return /^[a-z_]{1,50}$/.test(code) ? `it answers ${code}` : 'its answer is not valid'
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')

/** The claims of the ID token and of the userinfo endpoint, of which the token's win. */
function profileFrom({ claims: names, trust_addresses }: OpenidProvider, token: IDToken, info: UserInfoResponse | undefined): Profile {
  const claims: Record<string, unknown> = { ...info, ...token }
  const groups = claims[names.groups]
  const verified = claims['email_verified']
  return cleanProfile({
    uid: token.sub,
    username: textOf(claims[names.username]),
    name: textOf(claims[names.name]),
    email: textOf(claims[names.email]),
    // some providers send it as text
    verified: verified === true || verified === 'true' || (verified === undefined && trust_addresses),
    groups: (Array.isArray(groups) ? groups : [groups]).filter((group) => typeof group === 'string'),
  })
}

/** The address that ends the session at the provider; null if it is not to be ended, or cannot be. */
export async function endSessionAddress(ctx: Context, name: string | null): Promise<string | null> {
  const provider = ctx.config.signOn.openid_connect.find((one) => one.name === name)
  if (!provider?.end_session) return null
  try {
    const metadata = await metadataOf(ctx, provider)
    if (!metadata.serverMetadata().end_session_endpoint) return null
    const client = await library()
    return client.buildEndSessionUrl(metadata, { post_logout_redirect_uri: `${ctx.links.base}/users/sign_in` }).href
  } catch (error) {
    if (unavailableIn(error)) return null
    throw error
  }
}
