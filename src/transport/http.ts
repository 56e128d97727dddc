import type { Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { fullPathOf } from '../access/rules.js'
import type { Context } from '../context.js'
import { noSuchRoute } from '../failures.js'
import { GitFault } from '../git/errors.js'
import type { Service } from '../git/types.js'
import { redirect } from '../http/redirect.js'
import { holderOfCall, runAsHolder } from '../lib/async/holder.js'
import { MINIMUM_RATE, type MinimumRate, watchRate } from '../lib/async/minimum-rate.js'
import { sentStatus } from '../lib/sent-status.js'
import { asUnavailable } from '../lib/unavailable.js'
import { countFetch } from '../services/projects/fetch-statistics.js'
import { type Admission, admit, type GitAccessRequest, type GitRefusal, isRefusal } from './admission.js'
import { clientNetwork, PROTOCOL_ERROR } from './clients.js'
import { gitCaller } from './credentials.js'
import { LFS_ACTION, serveLfs } from './lfs.js'
import { push } from './push.js'
import { BodyRefused, type BufferedBytes, limited, ReadAheadBody } from './request-bodies.js'
import { ResponseBody } from './response-body.js'

declare module 'fastify' {
  interface FastifyRequest {
    /** The username of the caller of a Git request, once known. */
    gitUser?: string
    /** The request logs and counts itself, even if the client disconnects. */
    recordsItself?: boolean
  }
}

const ROUTE = new RegExp(`^(.+?)(\\.git)?/(info/refs|git-upload-pack|git-receive-pack|${LFS_ACTION.source})$`)
/** Whether a path, without its first slash, is one of Git or LFS. */
export const isGitPath = (path: string): boolean => ROUTE.test(path)
const SERVICES = new Set(['git-upload-pack', 'git-receive-pack'])
const config = { policy: 'Git: the credentials and rights of section 31' }
/** The headers of git http-backend, which prevent caching by old proxies too. */
const NO_CACHE_HEADERS = { 'cache-control': 'no-cache, max-age=0, must-revalidate', pragma: 'no-cache', expires: 'Fri, 01 Jan 1980 00:00:00 GMT' }

/** Shared by all calls. */
interface TransportOptions {
  ctx: Context
  minimumRate: MinimumRate
  /** Bytes buffered for the bodies of fetches. */
  buffered: BufferedBytes
}

/** Handles other paths below project paths: they share one wildcard route, because project paths have any depth. */
type FallbackHandler = (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>

const noFallback: FallbackHandler = async () => {
  throw noSuchRoute()
}

const pathOf = (request: FastifyRequest) => (request.params as { '*': string })['*']

/**
 * Git over HTTP (companions 31): authenticates like the API, streams through git, and moves refs through the same
 * function as the API.
 */
export async function gitHttp(
  app: FastifyInstance,
  {
    ctx,
    minimumRate = MINIMUM_RATE,
    fallback = noFallback,
    robots = [],
  }: { ctx: Context; minimumRate?: MinimumRate; fallback?: FallbackHandler; robots?: readonly string[] },
) {
  const options: TransportOptions = { ctx, minimumRate, buffered: { bytes: 0 } }
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', (_request, payload, done) => done(null, payload))
  app.get('/*', { config: { ...config, robots }, exposeHeadRoute: false }, (request, reply) =>
    ROUTE.test(pathOf(request)) ? serve(options, request, reply) : fallback(request, reply),
  )
  app.head('/*', { config }, (request, reply) => {
    if (ROUTE.test(pathOf(request))) throw noSuchRoute()
    return fallback(request, reply)
  })
  app.post('/*', { config }, (request, reply) => serve(options, request, reply))
  // uploads of LFS objects
  app.put('/*', { config }, (request, reply) => serve(options, request, reply))
}

async function serve(options: TransportOptions, request: FastifyRequest, reply: FastifyReply) {
  const { ctx } = options
  const route = ROUTE.exec(pathOf(request))
  const [, path, suffix, action] = route ?? []
  if (!path || !action || path.includes('\0') || !path.isWellFormed()) throw noSuchRoute()
  const get = request.method === 'GET'
  for (const name of ['access-control-allow-origin', 'access-control-expose-headers']) reply.removeHeader(name)
  reply.headers(NO_CACHE_HEADERS)
  if (action.startsWith('info/lfs/')) {
    if (!suffix) throw noSuchRoute()
    return serveLfs({ ctx, minimumRate: options.minimumRate }, request, reply, { path, action: action.slice('info/lfs/'.length) })
  }
  if (request.method === 'PUT' || get !== (action === 'info/refs')) throw noSuchRoute()
  const asked = get ? (request.query as Record<string, unknown>)['service'] : action
  if (typeof asked !== 'string' || !SERVICES.has(asked)) {
    if (get && suffix) return plain(reply, { status: 403, text: 'Only the smart protocol is served' })
    throw noSuchRoute()
  }
  const service = asked as Service
  if (!suffix) {
    if (!get) throw noSuchRoute()
    const to = `/${path.split('/').map(encodeURIComponent).join('/')}.git/info/refs?service=${service}`
    return redirect(reply, { to, before: ctx.links.base, status: 301 })
  }
  if (!ENCODINGS.has(encodingOf(request))) return plain(reply, { status: 415, text: 'Only gzip is understood' })
  const admitted = await admitRequest(ctx, request, { path, service, advertises: get }).catch((error: unknown): GitRefusal => {
    const unavailable = asUnavailable(error)
    if (!unavailable) throw error
    request.log.warn({ err: error }, 'a Git call could not be served')
    reply.header('retry-after', unavailable.retryAfter)
    return { status: 503, text: `${unavailable.message}. Please try again.` }
  })
  if (isRefusal(admitted)) return plain(reply, admitted)
  return runAsHolder(holderOfCall(admitted.caller.user?.id, clientNetwork(request.ip)), () =>
    stream(options, { request, reply, service, advertises: get, admitted }),
  )
}

/** Credentials first, then visibility of the project, then rights on the repository (31.2, 31.3). */
async function admitRequest(
  ctx: Context,
  request: FastifyRequest,
  asked: Pick<GitAccessRequest, 'path' | 'service' | 'advertises'>,
): Promise<Admission | GitRefusal> {
  const caller = await gitCaller(ctx, request.headers, request.ip)
  if (isRefusal(caller)) return caller
  if (caller.user) request.gitUser = caller.user.username
  const client = { address: request.ip, userAgent: request.headers['user-agent'] ?? '', requestId: request.id }
  return admit(ctx, caller, { ...asked, protocol: 'http', client })
}

function plain(reply: FastifyReply, { status, text }: GitRefusal) {
  if (status === 401) reply.header('www-authenticate', 'Basic realm="Roost"')
  return reply.code(status).type('text/plain').send(`${text}\n`)
}

/** An admitted Git request. */
interface Call {
  request: FastifyRequest
  reply: FastifyReply
  service: Service
  /** Whether it requests the ref advertisement; otherwise it fetches or pushes. */
  advertises: boolean
  admitted: Admission
}

/** Streams the request through git; the process ends if the client disconnects. */
async function stream({ ctx, minimumRate, buffered }: TransportOptions, call: Call): Promise<void> {
  const { request, reply, service, advertises, admitted } = call
  const { repository } = admitted
  reply.hijack()
  const { raw } = reply
  // no close event will come if the client disconnected during admission
  if (raw.destroyed) return
  request.recordsItself = true
  const { bytesRead, bytesWritten } = request.raw.socket
  const bytes = () => Number(request.headers['content-length'] ?? request.raw.socket.bytesRead - bytesRead)
  const disconnected = new AbortController()
  raw.once('close', () => {
    if (!raw.writableFinished) disconnected.abort(new Error('the client has gone'))
  })
  const out = new ResponseBody(raw, () => {
    const type = `application/x-${service}-${advertises ? 'advertisement' : 'result'}`
    raw.writeHead(200, { ...(reply.getHeaders() as Record<string, string>), 'content-type': type })
  })
  const protocol = request.headers['git-protocol']
  const shared = {
    out,
    signal: disconnected.signal,
    protocol: typeof protocol === 'string' ? protocol : undefined,
    holder: clientNetwork(request.ip),
    hiddenRefs: admitted.hiddenRefs,
  }
  const readAhead = service === 'git-upload-pack' && !advertises ? new ReadAheadBody(bodyOf(request), buffered) : null
  const body = advertises ? null : readAhead ? limited(inflated(request, readAhead)) : inflated(request)
  let timedOut = false
  const onSlow = () => {
    timedOut = true
    disconnected.abort(new Error('the body comes too slowly'))
  }
  // each half-sent request occupies a git process
  const unwatch = advertises ? null : watchRate(request.raw, minimumRate, onSlow)
  try {
    if (body === null) await repository.advertise(service, shared)
    else if (service === 'git-upload-pack') {
      const fetched = await repository.uploadPack({ ...shared, body })
      if (fetched && admitted.key?.kind === 'project') countFetch(ctx, admitted.key.id)
    } else await push(ctx, admitted, { ...shared, body }, { log: request.log, ip: request.ip, bytes })
    await out.delivered()
  } catch (error) {
    if (timedOut) refuseSlow(reply)
    else if (!disconnected.signal.aborted) refuseFailed(ctx, call, body, error)
  } finally {
    unwatch?.()
    readAhead?.destroy()
    record(ctx, call, request.raw.socket.bytesWritten - bytesWritten)
  }
}

/** Sends a refusal; only possible before the first byte of the response. */
function refuse(reply: FastifyReply, status: number, text: string, headers: Record<string, string> = {}): void {
  reply.raw.writeHead(status, { ...(reply.getHeaders() as Record<string, string>), 'content-type': 'text/plain', ...headers })
  reply.raw.end(`${text}\n`)
}

function refuseSlow(reply: FastifyReply): void {
  if (reply.raw.headersSent || reply.raw.destroyed) reply.raw.destroy()
  else refuse(reply, 408, 'The request took too long', { connection: 'close' })
}

/** Answers a failed request; after the first byte of the response, it can only close the connection. */
function refuseFailed(ctx: Pick<Context, 'monitoring'>, call: Call, body: Readable | null, error: unknown): void {
  const { request, reply } = call
  if (body?.errored instanceof BodyRefused) {
    const { status, message, headers } = body.errored
    if (reply.raw.headersSent) reply.raw.destroy()
    else refuse(reply, status, message, { connection: 'close', ...headers })
    return
  }
  const isProtocolError = body?.errored || (error instanceof GitFault && PROTOCOL_ERROR.test(error.stderr))
  const busy = asUnavailable(error)
  if (busy) request.log.warn({ err: error }, 'a Git call could not be served')
  else if (!isProtocolError) request.log.error({ err: error }, 'a Git call failed')
  if (!isProtocolError) ctx.monitoring.errors.report(error, { method: request.method, route: routeOf(call), request: request.id })
  if (reply.raw.headersSent) reply.raw.destroy()
  else if (isProtocolError) refuse(reply, 400, 'The request is not of the Git protocol', { connection: 'close' })
  else if (busy) refuse(reply, 503, `${busy.message}. Please try again.`, { 'retry-after': String(busy.retryAfter) })
  else refuse(reply, 500, 'Internal Server Error')
}

const routeOf = ({ advertises, service }: Call) => `/:project.git/${advertises ? 'info/refs' : service}`

/** Logs and counts a request. */
function record(ctx: Pick<Context, 'monitoring'>, call: Call, sent: number): void {
  const { request, reply, service, admitted } = call
  const { method, ip } = request
  const { subject } = admitted
  const { user } = admitted.caller
  const about = { ...(user && { user: user.username }), ...(subject && { project: fullPathOf(subject.project) }) }
  const route = routeOf(call)
  const { git, database } = request.spent
  const spent = { ms: Math.round(reply.elapsedTime), git_ms: Math.round(git), database_ms: Math.round(database) }
  request.log.info({ method, route, service, ...about, status: sentStatus(reply.raw), ...spent, bytes: sent, ip }, 'request')
  ctx.monitoring.metrics.request(method, route, sentStatus(reply.raw), reply.elapsedTime / 1000)
}

const encodingOf = (request: FastifyRequest) => (request.headers['content-encoding'] ?? 'identity').toLowerCase()

const ENCODINGS = new Set(['identity', 'gzip', 'x-gzip'])

const bodyOf = (request: FastifyRequest) => (request.body as Readable | undefined) ?? request.raw

function inflated(request: FastifyRequest, body = bodyOf(request)): Readable {
  if (encodingOf(request) === 'identity') return body
  const inflating = createGunzip()
  inflating.on('error', () => {}) // may be emitted before git listens; readers find the stream destroyed
  // an aborted body ends the gunzip stream, and thereby git
  body.once('close', () => {
    if (!body.readableEnded) inflating.destroy(body.errored ?? undefined)
  })
  return body.pipe(inflating)
}
