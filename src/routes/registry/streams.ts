import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Context } from '../../context.js'
import { countRequest } from '../../http/mount.js'
import type { MinimumRate } from '../../lib/async/minimum-rate.js'
import { packageCaller } from '../../services/packages/caller.js'
import { RegistryFailure } from '../../services/registry/failures.js'
import { ACTIONS, type Access, type Action, allowed, type Grant, issueToken } from '../../services/registry/tokens.js'
import { challenge, openCall, refusalOf } from './call.js'
import { serve } from './distribution.js'

/** The most repositories that one token is for. */
const MAX_SCOPES = 20

/** Answers a fault as clients of registries read it. */
export function refuseRegistry(ctx: Context, fault: unknown, request: FastifyRequest, reply: FastifyReply) {
  const refusal = refusalOf(ctx, fault, request)
  if (!refusal) request.log.error({ err: fault }, 'a call failed')
  const { status, code, message, headers } = refusal ?? { status: 500, code: 'UNKNOWN', message: 'internal error', headers: {} }
  return reply
    .code(status)
    .headers(headers)
    .send({ errors: [{ code, message }] })
}

/** The registry of container images: `/v2/`, as clients of the OCI distribution specification call it, and their tokens (OCI-1, OCI-2). */
export async function containerRegistry(app: FastifyInstance, { ctx, minimumRate }: { ctx: Context; minimumRate: MinimumRate }) {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', (_request, payload, done) => done(null, payload))
  app.addHook('onRequest', async (_request, reply) => void reply.header('docker-distribution-api-version', 'registry/2.0'))
  app.setErrorHandler((fault, request, reply) => refuseRegistry(ctx, fault, request, reply))

  app.route({
    method: 'GET',
    url: '/v2/',
    exposeHeadRoute: true,
    config: { policy: 'container registry: any credential' },
    async handler(request, reply) {
      const { claims, who } = await openCall(ctx, request, reply, minimumRate)
      if (!claims && !who) throw new RegistryFailure(401, 'UNAUTHORIZED', 'a credential is needed', challenge(ctx))
      return reply.send({})
    },
  })
  app.route({
    method: ['GET', 'HEAD', 'POST', 'PATCH', 'PUT', 'DELETE'],
    url: '/v2/*',
    config: { policy: 'container registry: read_image, create_image, destroy_image' },
    handler: async (request, reply) => serve(await openCall(ctx, request, reply, minimumRate)),
  })
  app.route({
    method: 'GET',
    url: '/jwt/auth',
    config: { policy: 'container registry: anyone' },
    handler: (request, reply) => sendToken(ctx, request, reply),
  })
}

/** Answers a token for the actions of those asked for that the caller may do; none is refused to a valid caller (OCI-2). */
async function sendToken(ctx: Context, request: FastifyRequest, reply: FastifyReply) {
  const who = await packageCaller(ctx, request.headers, request.ip, 'images').catch(async (refusal: unknown) => {
    await countRequest(ctx, null, request, reply)
    throw refusal
  })
  await countRequest(ctx, who.user?.id ?? null, request, reply)
  // a client that copies asks for two repositories by two parameters of one name
  const { searchParams } = new URL(request.raw.url ?? '', ctx.links.base)
  const scopes = searchParams
    .getAll('scope')
    .flatMap((scope) => scope.split(' '))
    .filter((scope) => scope !== '')
  const access: Grant[] = []
  for (const scope of scopes.slice(0, MAX_SCOPES)) {
    const asked = scopeOf(scope)
    if (asked) access.push(await allowed(ctx, who, asked.name, asked.actions))
  }
  const { token, seconds } = await issueToken(ctx, who, access)
  return reply.headers({ 'cache-control': 'no-store' }).send({ token, access_token: token, expires_in: seconds, issued_at: ctx.now().toISOString() })
}

/** `repository:NAME:pull,push`; null for a scope of something else. */
function scopeOf(scope: string): Access | null {
  const parts = scope.split(':')
  if (parts.length !== 3 || !/^repository(?:\([\w-]{1,50}\))?$/.test(parts[0] as string)) return null
  const actions = (parts[2] as string).split(',')
  return { name: parts[1] as string, actions: ACTIONS.filter((action: Action) => actions.includes(action) || actions.includes('*')) }
}
