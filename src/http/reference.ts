import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import type { Context } from '../context.js'
import { noSuchRoute } from '../failures.js'
import type { Endpoint } from './endpoint.js'
import { renderFailure } from './failure-handler.js'
import { refuseOtherMethods } from './mount.js'
import { openapi } from './openapi.js'

/** The path of the page. */
const DOCS = '/api/docs'

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

  let page: Promise<FastifyInstance> | undefined
  const show = async (request: FastifyRequest, reply: FastifyReply) => {
    page ??= openPage(ctx).catch((error: unknown) => {
      page = undefined
      throw error
    })
    const { routing } = await page
    reply.hijack()
    for (const [name, value] of Object.entries(reply.getHeaders())) reply.raw.setHeader(name, value ?? '')
    routing(request.raw, reply.raw)
  }
  app.get(DOCS, { config }, show)
  app.get(`${DOCS}/*`, { config }, show)
  app.addHook('onClose', async () => (await page)?.close())
}

/**
 * The page as an application of its own. It is made when somebody asks for it first: what it loads takes 4 MB, and a
 * tenth of a second of a start.
 */
async function openPage(ctx: Context): Promise<FastifyInstance> {
  const [{ default: swagger }, { default: swaggerUi }] = await Promise.all([import('@fastify/swagger'), import('@fastify/swagger-ui')])
  const page = Fastify()
  page.setErrorHandler(renderFailure)
  page.setNotFoundHandler(() => {
    throw noSuchRoute()
  })
  await page.register(swagger, {
    mode: 'static',
    specification: { document: { openapi: '3.1.0', info: { title: 'Roost', version: ctx.config.version }, paths: {} } },
  })
  await page.register(swaggerUi, {
    routePrefix: DOCS,
    staticCSP: POLICY,
    indexPrefix: ctx.links.prefix,
    uiConfig: { url: `${ctx.links.prefix}/api/v4/openapi.json`, tryItOutEnabled: false, validatorUrl: null },
    transformSpecification: (specification) => specification,
  })
  await page.ready()
  return page
}
