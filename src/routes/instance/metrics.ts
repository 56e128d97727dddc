import { createHash, timingSafeEqual } from 'node:crypto'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { authenticate } from '../../access/authenticate.js'
import type { Context } from '../../context.js'
import { noSuchRoute, nullOnFailure } from '../../failures.js'
import { addressFilter } from '../../lib/networks.js'

const digest = (text: string) => createHash('sha256').update(text).digest()

/** Whether the request has an administrator's token and the setting allows it (AS-52). */
async function isAdministrator(ctx: Context, { headers, ip }: FastifyRequest): Promise<boolean> {
  if (!(await ctx.caches.settings.read()).monitoring_metrics_enabled) return false
  const caller = await nullOnFailure(authenticate(ctx, headers, {}, { method: 'GET', path: '/-/metrics', scope: undefined, id: undefined }, ip))
  return caller?.user?.admin ?? false
}

/** Metrics for Prometheus. Requests without the token or an allowed address get 404 (SEC-169). */
export function metricsRoute(app: FastifyInstance, ctx: Context) {
  const { token, allowed } = ctx.config.metrics
  const secret = token === undefined ? undefined : digest(token)
  const isOneOf = addressFilter(allowed)
  const isAllowed = (ip: string, authorization: string | undefined) => {
    const given = /^bearer +(\S+) *$/i.exec(authorization ?? '')?.[1]
    if (secret && given !== undefined && timingSafeEqual(digest(given), secret)) return true
    return isOneOf(ip)
  }
  app.get(
    '/-/metrics',
    {
      config: {
        policy: 'a token or an address of the configuration, or an administrator where the settings say so',
        forPrograms: '/-/metrics',
      },
    },
    async (request, reply) => {
      if (!isAllowed(request.ip, request.headers.authorization) && !(await isAdministrator(ctx, request))) throw noSuchRoute()
      const page = await ctx.monitoring.metrics.page()
      return reply.header('content-type', page.type).send(page.text)
    },
  )
}
