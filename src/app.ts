import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import Fastify, { type FastifyBaseLogger, type FastifyInstance, type FastifyReply, type FastifyRequest, LogController } from 'fastify'
import type { Context } from './context.js'
import { databaseError } from './db/errors.js'
import { Failure, invalidInput, noSuchRoute } from './failures.js'
import { addressKind, answerBelow } from './http/address-kinds.js'
import { closeUnreadBodies, parseBodies, parseMultipart } from './http/body/bodies.js'
import { prepareBody } from './http/body/body.js'
import { type Drain, drainOf } from './http/body/drain.js'
import { costOf } from './http/cost.js'
import type { OpenWhen } from './http/endpoint.js'
import { asFailure, renderFailure } from './http/failure-handler.js'
import { parseForm } from './http/form.js'
import { family, largeCallQueues } from './http/mount.js'
import { ROUTER, refuseOtherMethods, servedBy, templateOf } from './http/path-methods.js'
import { referenceRoutes } from './http/reference.js'
import { withCallTimes } from './lib/async/call-times.js'
import { MINIMUM_RATE, type MinimumRate } from './lib/async/minimum-rate.js'
import { withoutPrefix } from './lib/origin.js'
import { requestIds } from './lib/request-id.js'
import { sentStatus } from './lib/sent-status.js'
import { shareOf } from './lib/share.js'
import { urlForRouter } from './lib/text/byte-path.js'
import { asUnavailable } from './lib/unavailable.js'
import { pageFeeds } from './routes/addresses/feeds.js'
import { goImports } from './routes/addresses/go-get.js'
import { programAddresses } from './routes/addresses/index.js'
import { graphqlRoutes } from './routes/graphql/index.js'
import { sections } from './routes/index.js'
import { healthRoutes } from './routes/instance/health.js'
import { metricsRoute } from './routes/instance/metrics.js'
import { pictureRoute } from './routes/instance/pictures.js'
import { oauthRoutes } from './routes/oauth/index.js'
import { packageStreams } from './routes/packages/streams.js'
import { withArtifactPath } from './routes/pipelines/artifact-paths.js'
import { referenceOf } from './routes/reference/index.js'
import { containerRegistry, refuseRegistry } from './routes/registry/streams.js'
import { releaseFiles } from './routes/releases/downloads.js'
import { avatarRoutes } from './routes/uploads/avatars.js'
import { uploadedFiles } from './routes/uploads/files.js'
import { readOnlyNow } from './services/core/maintenance.js'
import { gitHttp, isGitPath } from './transport/http.js'
import { runnerStreams } from './transport/runners.js'
import { wantsPage } from './web/accept.js'
import { openSite } from './web/index.js'

/** Maximum size of a JSON or form body, in bytes (SEC-71). */
const BODY_LIMIT = 8 * 1024 * 1024
/** Maximum length of a request line, in bytes (SEC-69). */
const MAX_REQUEST_LINE = 8 * 1024
const MAX_HEADERS = 16 * 1024

/** Headers of every response (G-8, SEC-5, W-19). */
const DEFAULT_HEADERS = {
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'SAMEORIGIN',
  'cache-control': 'private, max-age=0',
  'access-control-allow-origin': '*',
  'access-control-expose-headers':
    'Link, Poll-Interval, X-Total, X-Total-Pages, X-Page, X-Per-Page, X-Next-Page, X-Prev-Page, X-Diff-Overflow, X-Request-Id',
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Who may call the route. The application does not start with a route that has no policy (SEC-6). */
    policy?: string
    /** It is taken while the service is read-only, although it is no read (WB-180). */
    openWhen?: OpenWhen | undefined
    /** The first one or two parts of the path of what programs alone ask for: neither it nor what is below is a page (WB-1). */
    forPrograms?: string
    /** Beginnings of addresses that crawlers are asked to leave alone. */
    robots?: readonly string[]
    /** Names of parameters that are paths, whose bytes need not be UTF-8 (RF-109). */
    paths?: ReadonlySet<string>
  }
  interface FastifyInstance {
    drain: Drain
  }
}

export interface AppOptions {
  minimumRate?: MinimumRate
  /** Generates the id of a request that has no valid X-Request-Id. */
  requestId?: ReturnType<typeof requestIds>
  /** Called before routes are declared, to add hooks to all of them. */
  prepare?: (app: FastifyInstance) => void
}

/** Builds the Fastify application, which does not listen yet. Reads only its context, never the environment. */
export async function buildApp(
  ctx: Context,
  { minimumRate = MINIMUM_RATE, requestId = requestIds(), prepare }: AppOptions = {},
): Promise<FastifyInstance> {
  const app = createServer(ctx, requestId)
  const site = openSite(ctx)
  const robots = new Set<string>()
  const programs = new Set<string>()
  /** Whether what is wrong is shown as a page: it is of nothing that is for programs (WB-1). */
  const isPage = (request: FastifyRequest) => site.isForPage(request) && !isForPrograms(programs, request.url)
  app.addHook('onRoute', ({ config, url, method }) => {
    if (!config?.policy) throw new Error(`${String(method)} ${url} has no policy`)
    for (const beginning of config.robots ?? []) robots.add(beginning)
    if (config.forPrograms) programs.add(config.forPrograms)
  })
  const refuseOthers = refuseOtherMethods(app)
  initRequests(app)
  recordRequests(app, ctx)
  prepare?.(app)
  checkRequests(app, refuseOthers)
  app.addHook('onSend', closeUnreadBodies())
  app.setErrorHandler(async (error, request, reply) => {
    const cause = databaseError(error)
    reportFault(ctx, cause, request)
    if (!isPage(request)) return renderFailure(cause, request, reply)
    try {
      return (await site.refuse(cause, request, reply)) ? reply : renderFailure(cause, request, reply)
    } catch (fault) {
      // the page of the error cannot be shown
      return renderFailure(databaseError(fault), request, reply)
    }
  })
  app.setNotFoundHandler(() => {
    throw noSuchRoute()
  })

  // in this order (WB-440); what is asked first is Git
  const pages = addressKind({
    find: (request) => (wantsPage(request) && !isForPrograms(programs, request.url)) || null,
    answer: (_, __, request, reply) => site.serveBelow(request, reply),
  })
  const kinds = [goImports, releaseFiles, programAddresses, pageFeeds, uploadedFiles, pages]
  await app.register(gitHttp, {
    ctx,
    minimumRate,
    robots: kinds.flatMap(({ robots = [] }) => robots),
    fallback: (request, reply) => answerBelow(ctx, kinds, request, reply),
  })
  await app.register(
    async (scope) => {
      scope.addHook('onRequest', refuseWrites(ctx))
      await runnerStreams(scope, { ctx })
      await parseMultipart(scope)
    },
    { prefix: '/api/v4' },
  )
  await app.register(
    async (scope) => {
      scope.addHook('onRequest', refuseWrites(ctx))
      await packageStreams(scope, { ctx, minimumRate })
      await parseMultipart(scope)
    },
    { prefix: '/api/v4' },
  )
  await app.register(async (scope) => {
    scope.addHook('onRequest', refuseWrites(ctx))
    await containerRegistry(scope, { ctx, minimumRate })
  })
  await app.register(async (scope) => {
    scope.addHook('onRequest', refuseWrites(ctx))
    await parseBodies(scope, ctx, minimumRate)
    healthRoutes(scope, ctx)
    metricsRoute(scope, ctx)
    oauthRoutes(scope, ctx)
    avatarRoutes(scope, ctx)
    pictureRoute(scope, ctx)
    site.register(scope, robots)
    const queues = largeCallQueues(ctx)
    graphqlRoutes(scope, ctx, queues)
    for (const section of sections) scope.register(family, { prefix: '/api/v4', ctx, queues, ...section })
    referenceRoutes(scope, ctx, (examples) => referenceOf(sections, examples))
  })
  return app
}

/** Refuses what is no read while the service is read-only (WB-180); Git and LFS do so themselves. */
const refuseWrites = (ctx: Context) => async (request: FastifyRequest) => {
  const { method, routeOptions } = request
  if (method === 'GET' || method === 'HEAD' || method === 'OPTIONS' || routeOptions.config.openWhen?.includes('read_only')) return
  const text = await readOnlyNow(ctx)
  if (text !== null) throw new Failure('unavailable', { message: text }, { 'retry-after': '60' })
}

/**
 * What programs alone ask for, by the first one or two parts of its path. Also true of what is not found there, so the
 * route does not say it.
 */
function isForPrograms(programs: ReadonlySet<string>, url: string): boolean {
  const [path = ''] = url.split('?', 1)
  const [, first, second] = path.split('/', 3)
  return programs.has(`/${first}`) || programs.has(`/${first}/${second}`)
}

/**
 * Tells the router which POST is a form of a page: none of the API (G-10), and the other requests at such paths are those
 * of Git and LFS, which read their bodies themselves.
 */
const FORM_POSTS = {
  name: 'form',
  storage() {
    let store: unknown = null
    return {
      get: (form: unknown) => (form === 'yes' ? store : null),
      set: (_form: unknown, value: unknown) => {
        store = value
      },
    }
  },
  deriveConstraint({ headers, url = '' }: IncomingMessage) {
    if (!/^(?:application\/x-www-form-urlencoded|multipart\/form-data)/i.test(headers['content-type'] ?? '')) return undefined
    const path = url.split('?', 1).join('').slice(1)
    return path.startsWith('api/') || isGitPath(path) ? undefined : 'yes'
  },
}

function createServer(ctx: Context, requestId: ReturnType<typeof requestIds>): FastifyInstance {
  const app = Fastify({
    loggerInstance: ctx.log as FastifyBaseLogger,
    logController: new LogController({ disableRequestLogging: true }),
    bodyLimit: BODY_LIMIT,
    // no timeout: plugins may load slowly on a busy machine
    pluginTimeout: 0,
    requestTimeout: 0,
    connectionTimeout: 0,
    keepAliveTimeout: 65_000,
    forceCloseConnections: 'idle',
    http: { requireHostHeader: false, maxHeaderSize: MAX_HEADERS, headersTimeout: 10_000, connectionsCheckingInterval: 5_000, requestTimeout: 0 },
    genReqId: (request) => requestId(request.headers['x-request-id']),
    trustProxy: [...ctx.config.trustedProxies],
    // `%2F` is data, which the router does not decode to a slash
    routerOptions: { querystringParser: (text) => ({ text }), ...ROUTER, constraints: { form: FORM_POSTS as never } },
    exposeHeadRoutes: true,
    rewriteUrl: ({ url }) => urlForRouter(withArtifactPath(withoutPrefix(url ?? '/', ctx.links.prefix))),
    // called before any hook has run
    frameworkErrors: (error, request, reply) => {
      reply.headers({ ...DEFAULT_HEADERS, 'x-request-id': request.id, connection: 'close' })
      void (withoutPrefix(request.raw.url ?? '/', ctx.links.prefix).startsWith('/v2/')
        ? refuseRegistry(ctx, error, request, reply)
        : refuse(error, request, reply))
    },
    clientErrorHandler: (error, socket) => refuseClient(error, socket, requestId(undefined)),
  })

  app.server.maxConnections = shareOf(ctx.config.limits.connections, ctx.process.workers)
  // close idle connections to make room for new ones
  app.server.on('drop', () => app.server.closeIdleConnections())
  const drain = drainOf(app.server)
  app.decorate('drain', drain)
  app.addHook('preClose', async () => drain.closeIdle())
  return app
}

/** Sets the default headers, and starts to measure the time that a request spends in Git and in the database. */
function initRequests(app: FastifyInstance): void {
  app.decorateRequest('spent')
  app.addHook('onRequest', (request, _, done) => {
    request.spent = { git: 0, database: 0 }
    withCallTimes(request.spent, done)
  })
  // parsing the body leaves the async context of the first hook
  app.addHook('preValidation', (request, _, done) => withCallTimes(request.spent, done))
  app.addHook('onRequest', (request, reply, done) => {
    reply.header('x-request-id', request.id).headers(DEFAULT_HEADERS)
    done()
  })
}

/** Refuses invalid requests; parses the query and prepares the body of all others. */
function checkRequests(app: FastifyInstance, refuseOthers: ReturnType<typeof refuseOtherMethods>): void {
  app.addHook('onRequest', async (request) => {
    if ((request.raw.url?.length ?? 0) > MAX_REQUEST_LINE) throw new Failure('uri_too_long', { message: '414 URI Too Long' })
    // before the body: a missing route reads none (G-10), and no name contains a NUL (SEC-49)
    refuseOthers(request)
    const params = Object.values((request.params ?? {}) as Record<string, string>)
    if (request.is404 || params.some((value) => value?.includes('\0'))) throw noSuchRoute()
    if (!request.headers.host && request.raw.httpVersion === '1.1') throw invalidInput('the Host header is missing')
  })
  app.addHook('preParsing', async (request) => {
    // not in the router, where an error thrown by a parser would end the process
    request.query = parseForm((request.query as { text: string }).text, request.routeOptions.config.paths)
    prepareBody(request.raw)
  })
}

/**
 * Listeners of one event of a response above which Node warns of a leak. A large list has eleven that wait for its end:
 * those of Fastify, of its stream, of the queue for large responses and of the log.
 */
const MAX_RESPONSE_LISTENERS = 20

/** Logs and counts each request; Git requests do so themselves. */
function recordRequests(app: FastifyInstance, ctx: Pick<Context, 'log' | 'monitoring'>): void {
  const record = (request: FastifyRequest, reply: FastifyReply) => {
    if (request.recordsItself) return
    const { method } = request
    if (ctx.log.isLevelEnabled('info')) request.log.info(logFieldsOf(request, reply), 'request')
    // methods that a path does not have share one label
    ctx.monitoring.metrics.request(method, servedBy(request) ?? 'none', sentStatus(reply.raw), reply.elapsedTime / 1000)
  }
  app.addHook('onRequest', (request, reply, done) => {
    reply.raw.setMaxListeners(MAX_RESPONSE_LISTENERS)
    // also fires when the client disconnects before the response
    reply.raw.once('close', () => record(request, reply))
    done()
  })
}

/** Reports what is a fault of the service, and no refusal (SEC-275). */
function reportFault({ monitoring: { errors } }: Pick<Context, 'monitoring'>, error: unknown, request: FastifyRequest): void {
  if (error instanceof Failure || (asFailure(error, request) && !asUnavailable(error))) return
  errors.report(error, { method: request.method, route: servedBy(request) ?? 'none', request: request.id })
}

/** The log fields of a request. */
function logFieldsOf(request: FastifyRequest, reply: FastifyReply) {
  const { method, caller, ip } = request
  const callerFields = caller?.user ? { user: caller.user.username, ...(caller.sudoer && { sudoer: caller.sudoer.username }) } : {}
  return { method, ...routeFields(request), status: sentStatus(reply.raw), ...costOf(request, reply), ip, ...callerFields }
}

/** Unwraps errors of the query builder, so that an unreachable database becomes 503. */
const refuse: typeof renderFailure = (error, request, reply) => renderFailure(databaseError(error), request, reply)

/** The route and path of a request, and the project in the path. */
function routeFields(request: FastifyRequest): { route?: string; path: string; project?: string } {
  const [path, route] = [loggedPath(request.raw.url), templateOf(request)]
  if (route === undefined) return { path }
  const { id } = (request.params ?? {}) as { id?: string }
  return { route, path, ...(id !== undefined && route.startsWith('/api/v4/projects/:id') && { project: id.slice(0, 255) }) }
}

/**
 * The path of a request, for the log: without its query, which may hold a token, without credentials of an
 * absolute URL, and without the secrets of uploads.
 */
const loggedPath = (url = '') =>
  url
    .split('?', 1)
    .join('')
    .replace(/\/\/[^/@]*@/g, '//[masked]@')
    .replace(/(\/uploads\/)[0-9a-f]{32}(?=\/)/g, '$1[masked]')
    .slice(0, 500)

/** Answers what is not valid HTTP, or exceeds the limits, and closes the connection (SEC-69, SEC-76). */
function refuseClient(error: Error & { code?: string }, socket: Socket, requestId: string) {
  if (error.code === 'ECONNRESET' || !socket.writable) return void socket.destroy()
  const [status, reason] =
    error.code === 'HPE_HEADER_OVERFLOW'
      ? [431, 'Request Header Fields Too Large']
      : error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
        ? [408, 'Request Timeout']
        : [400, 'Bad Request']
  const body = JSON.stringify({ message: `${status} ${reason}` })
  const headers = {
    ...DEFAULT_HEADERS,
    'x-request-id': requestId,
    'content-type': 'application/json',
    'content-length': body.length,
    connection: 'close',
  }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.end(`HTTP/1.1 ${status} ${reason}\r\n${lines.join('')}\r\n${body}`)
}
