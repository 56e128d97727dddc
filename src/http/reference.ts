import swagger from '@fastify/swagger'
import swaggerUi from '@fastify/swagger-ui'
import type { FastifyInstance } from 'fastify'
import type { Context } from '../context.js'
import type { Endpoint } from './endpoint.js'
import { refuseOtherMethods } from './mount.js'
import { openapi } from './openapi.js'

/** The path of the page. */
export const DOCS = '/api/docs'

/** Nothing is loaded from elsewhere, and no inline script runs (SEC-171). */
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'self'"

const config = { policy: 'anyone' }

/** The OpenAPI document and a page to read it on; nothing is loaded from elsewhere (SEC-171). */
export async function referenceRoutes(app: FastifyInstance, ctx: Context, endpoints: Endpoint[]) {
  // generated on the first request, so that a start does not wait for it
  let text: Buffer | undefined
  const document = () => openapi(endpoints, { version: ctx.config.version, base: ctx.links.base })
  app.get('/api/v4/openapi.json', { config }, async (_, reply) => {
    text ??= Buffer.from(JSON.stringify(document()))
    return reply.header('content-type', 'application/json').send(text)
  })
  refuseOtherMethods(app, '/api/v4/openapi.json', ['GET', 'HEAD'])

  await app.register(async (docs) => {
    await docs.register(swagger, {
      mode: 'static',
      specification: { document: { openapi: '3.1.0', info: { title: 'Roost', version: ctx.config.version }, paths: {} } },
    })
    await docs.register(swaggerUi, {
      routePrefix: DOCS,
      staticCSP: POLICY,
      indexPrefix: ctx.links.prefix,
      uiConfig: { url: `${ctx.links.prefix}/api/v4/openapi.json`, tryItOutEnabled: false, validatorUrl: null },
      transformSpecification: (specification) => specification,
    })
  })
}
