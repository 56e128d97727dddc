import type { FastifyInstance } from 'fastify'
import type { Context } from '../context.js'
import { noSuchRoute } from '../failures.js'

/** The root redirects anonymous callers to `home_page_url` (AS-40); Roost has no home page of its own. */
export function homeRoute(app: FastifyInstance, ctx: Pick<Context, 'caches'>) {
  app.get('/', { config: { policy: 'anyone' } }, async ({ headers }, reply) => {
    const { home_page_url: home } = await ctx.caches.settings.read()
    if (home === null || headers.authorization || headers['private-token']) throw noSuchRoute()
    return reply.redirect(home, 302)
  })
}
