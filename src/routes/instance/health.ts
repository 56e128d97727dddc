import type { FastifyInstance } from 'fastify'
import type { Context } from '../../context.js'

/** Health checks (VE-3, VE-4); they reveal neither versions nor addresses (SEC-169). */
export function healthRoutes(app: FastifyInstance, ctx: Context) {
  const configOf = (forPrograms: string) => ({ config: { policy: 'anyone', forPrograms } })
  for (const url of ['/-/health', '/-/liveness']) app.get(url, configOf(url), async (_, reply) => reply.type('text/plain').send('OK'))
  app.get('/-/readiness', configOf('/-/readiness'), async (_, reply) => {
    const served = !app.drain.begun && Promise.all([ctx.db.ping(), ctx.git.ping()]).then(() => true)
    const threads = ctx.cpu.markdown.isHealthy && ctx.cpu.highlighter.isHealthy && ctx.cpu.ci.isHealthy
    const ready = threads && (await Promise.resolve(served).catch(() => false))
    return reply
      .code(ready ? 200 : 503)
      .header('content-type', 'application/json')
      .send(Buffer.from(JSON.stringify({ status: ready ? 'ok' : 'failed' })))
  })
}
