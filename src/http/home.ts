import type { FastifyInstance } from 'fastify'
import type { Context } from '../context.js'
import { noSuchRoute } from '../failures.js'
import { refuseOtherMethods } from './mount.js'

/** The root page leads to `home_page_url` whoever is not signed in (AS-40); there is nothing else to see on it. */
export function homeRoute(app: FastifyInstance, ctx: Context) {
  app.get('/', { config: { policy: 'anyone' } }, async ({ headers }, reply) => {
    const { home_page_url: home } = await ctx.settings()
    if (home === null || headers.authorization || headers['private-token']) throw noSuchRoute()
    return reply.redirect(home, 302)
  })
  refuseOtherMethods(app, '/', ['GET', 'HEAD'])
}
