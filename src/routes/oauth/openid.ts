import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { checkAddress } from '../../access/addresses.js'
import { requireToken } from '../../access/authenticate.js'
import { APPLICATION_SCOPES } from '../../access/scopes.js'
import type { Context } from '../../context.js'
import { sendJson } from '../../http/failure-handler.js'
import { publicKeys, userInfo } from '../../services/identity/oauth/openid.js'
import { bearerOf } from './bearer.js'

/** OpenID Connect (CR-40 to CR-43). */
export function openIdRoutes(app: FastifyInstance, ctx: Context) {
  const configuration = discoveryOf(ctx)
  for (const path of ['/.well-known/openid-configuration', '/.well-known/oauth-authorization-server'])
    app.get(path, { config: { policy: 'anyone', forPrograms: '/.well-known' } }, async (_, reply) => sendJson(reply, configuration))

  app.get('/oauth/discovery/keys', { config: { policy: 'anyone', forPrograms: '/oauth/discovery' } }, async (_, reply) =>
    sendJson(reply, await publicKeys(ctx)),
  )

  const answerUserInfo = async (request: FastifyRequest, reply: FastifyReply) => {
    const { user, token } = await requireToken(ctx, bearerOf(request), request.ip)
    await checkAddress(ctx, user.id, request.ip)
    reply.header('cache-control', 'no-store')
    return sendJson(reply, await userInfo(ctx, user.id, token.scopes))
  }
  const config = { policy: 'bearer credential with openid', forPrograms: '/oauth/userinfo', openWhen: ['read_only'] as const }
  app.get('/oauth/userinfo', { config }, answerUserInfo)
  app.post('/oauth/userinfo', { config }, answerUserInfo)
}

/** What programs read to set themselves up (CR-40). */
function discoveryOf({ links: { base } }: Pick<Context, 'links'>) {
  return {
    issuer: base,
    authorization_endpoint: `${base}/oauth/authorize`,
    token_endpoint: `${base}/oauth/token`,
    revocation_endpoint: `${base}/oauth/revoke`,
    introspection_endpoint: `${base}/oauth/introspect`,
    userinfo_endpoint: `${base}/oauth/userinfo`,
    jwks_uri: `${base}/oauth/discovery/keys`,
    scopes_supported: APPLICATION_SCOPES,
    response_types_supported: ['code'],
    response_modes_supported: ['query'],
    grant_types_supported: ['authorization_code', 'refresh_token', 'password'],
    token_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post', 'none'],
    introspection_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post'],
    revocation_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post', 'none'],
    code_challenge_methods_supported: ['S256'],
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: ['RS256'],
    claim_types_supported: ['normal'],
    claims_supported: [
      ...['iss', 'sub', 'aud', 'exp', 'iat', 'auth_time', 'nonce', 'name', 'nickname', 'preferred_username'],
      ...['profile', 'picture', 'website', 'email', 'email_verified', 'groups'],
    ],
    prompt_values_supported: ['none', 'consent'],
    authorization_response_iss_parameter_supported: true,
    request_parameter_supported: false,
    request_uri_parameter_supported: false,
  }
}
