import type { FastifyInstance, FastifyRequest } from 'fastify'
import { ANONYMOUS } from '../../access/actor.js'
import { requireToken } from '../../access/authenticate.js'
import type { Context } from '../../context.js'
import { sendJson } from '../../http/failure-handler.js'
import { emptyParameterBag, type ParameterBag } from '../../http/form.js'
import { forCall } from '../../http/mount.js'
import { type Application, findApplication } from '../../services/identity/oauth/applications.js'
import { type ClientCredentials, requireClient } from '../../services/identity/oauth/clients.js'
import { grantByCode } from '../../services/identity/oauth/exchange.js'
import { missing, oauthError } from '../../services/identity/oauth/failures.js'
import { type Grant, grantByPassword, grantByRefresh, introspect, revokeGrant, tokenInfo } from '../../services/identity/oauth.js'
import { bearerOf } from './bearer.js'
import { openIdRoutes } from './openid.js'

/** OAuth (CR-12 to CR-13a, CR-34 to CR-38). Plain routes, as they are outside /api/v4 and have their own error format. */
export function oauthRoutes(app: FastifyInstance, ctx: Context) {
  app.post('/oauth/token', { config: { policy: 'anyone', openWhen: ['read_only'], forPrograms: '/oauth/token' } }, async (request, reply) => {
    reply.header('cache-control', 'no-store')
    return sendJson(reply, await grant(forCall(ctx, request, ANONYMOUS), request))
  })

  app.post('/oauth/revoke', { config: { policy: 'anyone', openWhen: ['read_only'], forPrograms: '/oauth/revoke' } }, async (request, reply) => {
    const call = forCall(ctx, request, ANONYMOUS)
    const token = needsOf(request)('token')
    const credentials = clientCredentials(request)
    await revokeGrant(call, token, credentials && (await requireClient(call, credentials)))
    return sendJson(reply, {})
  })

  app.post(
    '/oauth/introspect',
    { config: { policy: 'an OAuth application', openWhen: ['read_only'], forPrograms: '/oauth/introspect' } },
    async (request, reply) => {
      const call = forCall(ctx, request, ANONYMOUS)
      const application = await requireClient(call, clientCredentials(request))
      reply.header('cache-control', 'no-store')
      return sendJson(reply, await introspect(call, needsOf(request)('token'), application))
    },
  )

  app.get('/oauth/token/info', { config: { policy: 'bearer credential', forPrograms: '/oauth/token' } }, async (request, reply) => {
    const { token } = await requireToken(ctx, bearerOf(request), request.ip)
    return sendJson(reply, await tokenInfo(ctx, token.id))
  })

  openIdRoutes(app, ctx)
}

async function grant(ctx: Context, request: FastifyRequest): Promise<Grant> {
  const [text, need] = [textsOf(request), needsOf(request)]
  const credentials = clientCredentials(request)
  switch (need('grant_type')) {
    case 'authorization_code': {
      const given = { code: need('code'), redirectUri: need('redirect_uri'), verifier: text('code_verifier') || undefined }
      return grantByCode(ctx, await requireClient(ctx, credentials), given)
    }
    case 'password': {
      const given = { username: need('username'), password: need('password'), scope: text('scope') }
      return grantByPassword(ctx, given, await knownClient(ctx, credentials))
    }
    case 'refresh_token': {
      const refresh = need('refresh_token')
      return grantByRefresh(ctx, refresh, await knownClient(ctx, credentials))
    }
    default:
      throw oauthError('invalid', 'unsupported_grant_type', 'The authorization grant type is not supported by the authorization server.')
  }
}

/** The application of a grant that needs none: programs send made-up names with a password, which say nothing (CR-12). */
async function knownClient(ctx: Context, credentials: ClientCredentials | null): Promise<Application | null> {
  return credentials && (await findApplication(ctx, credentials.id)) ? requireClient(ctx, credentials) : null
}

/** What a program says that it is, by HTTP Basic (both parts in the encoding of forms) or in the body; null if nothing. */
function clientCredentials(request: FastifyRequest): ClientCredentials | null {
  const text = textsOf(request)
  const basic = /^Basic\s+([A-Za-z0-9+/=_-]+)\s*$/i.exec(request.headers.authorization ?? '')?.[1]
  if (basic) {
    const [id = '', ...secret] = Buffer.from(basic, 'base64').toString('utf8').split(':')
    return { id: plain(id), secret: plain(secret.join(':')) }
  }
  const id = text('client_id')
  return id ? { id, secret: text('client_secret') } : null
}

function plain(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    return text
  }
}

function textsOf({ query, body }: FastifyRequest): (name: string) => string | undefined {
  const bag: ParameterBag = Object.assign(emptyParameterBag(), query, body)
  return (name) => {
    const value = bag[name]
    return typeof value === 'string' ? value : typeof value === 'number' ? String(value) : undefined
  }
}

function needsOf(request: FastifyRequest): (name: string) => string {
  const text = textsOf(request)
  return (name) => {
    const value = text(name)
    if (value === undefined || value === '') throw missing(name)
    return value
  }
}
