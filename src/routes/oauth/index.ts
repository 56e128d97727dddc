import type { FastifyInstance, FastifyRequest } from 'fastify'
import { ANONYMOUS } from '../../access/actor.js'
import { requireToken } from '../../access/authenticate.js'
import type { Context } from '../../context.js'
import { Failure, unauthenticated } from '../../failures.js'
import { sendJson } from '../../http/failure-handler.js'
import { emptyParameterBag, type ParameterBag } from '../../http/form.js'
import { forCall } from '../../http/mount.js'
import { grantByPassword, grantByRefresh, revokeGrant, tokenInfo } from '../../services/identity/oauth.js'

const fault = (error: string, error_description: string) => new Failure('invalid', { error, error_description })

/** OAuth (CR-12, CR-13, CR-13a). Plain routes, as they are outside /api/v4 and have their own error format. */
export function oauthRoutes(app: FastifyInstance, ctx: Context) {
  const config = { policy: 'anyone' }

  app.post('/oauth/token', { config }, async (request, reply) => {
    const text = textsOf(request)
    const need = (name: string) => {
      const value = text(name)
      if (value === undefined || value === '') throw fault('invalid_request', `Missing required parameter: ${name}.`)
      return value
    }
    reply.header('cache-control', 'no-store')
    const kind = need('grant_type')
    if (kind === 'password') {
      const credentials = { username: need('username'), password: need('password'), scope: text('scope') }
      return sendJson(reply, await grantByPassword(forCall(ctx, request, ANONYMOUS), credentials))
    }
    if (kind === 'refresh_token') return sendJson(reply, await grantByRefresh(ctx, need('refresh_token')))
    throw fault('unsupported_grant_type', 'The authorization grant type is not supported by the authorization server.')
  })

  app.post('/oauth/revoke', { config }, async (request, reply) => {
    const token = textsOf(request)('token')
    if (!token) throw fault('invalid_request', 'Missing required parameter: token.')
    await revokeGrant(ctx, token)
    return sendJson(reply, {})
  })

  app.get('/oauth/token/info', { config: { policy: 'bearer credential' } }, async (request, reply) => {
    const bearer = /^Bearer\s+(.+)$/i.exec(request.headers.authorization ?? '')?.[1] ?? (request.query as ParameterBag)['access_token']
    if (typeof bearer !== 'string') throw unauthenticated()
    const { token } = await requireToken(ctx, bearer.trim(), request.ip)
    return sendJson(reply, await tokenInfo(ctx, token.id))
  })
}

function textsOf({ query, body }: FastifyRequest): (name: string) => string | undefined {
  const bag: ParameterBag = Object.assign(emptyParameterBag(), query, body)
  return (name) => {
    const value = bag[name]
    return typeof value === 'string' ? value : typeof value === 'number' ? String(value) : undefined
  }
}
