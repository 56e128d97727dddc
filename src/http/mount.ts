import { Readable } from 'node:stream'
import type { FastifyPluginCallback, FastifyReply, FastifyRequest, HTTPMethods } from 'fastify'
import type { Caller } from '../access/actor.js'
import { authenticate } from '../access/authenticate.js'
import { CHAIN_HEADER, checkChain, openChain } from '../access/hook-chain.js'
import { afterStorageMove } from '../access/storage-move.js'
import { unlessRemoved } from '../access/unless-removed.js'
import { type Context, withOrigin } from '../context.js'
import { invalidInput, preconditionFailed, unauthenticated } from '../failures.js'
import { FairQueue } from '../lib/async/fair-queue.js'
import { holderOfCall, runAsHolder } from '../lib/async/holder.js'
import { runInHookChain } from '../lib/async/hook-chain.js'
import { originOf } from '../lib/origin.js'
import { shareOf } from '../lib/share.js'
import { hasBytes, textOfRouter } from '../lib/text/byte-path.js'
import { Content, sendContent } from './content.js'
import { Answer, type Endpoint, isStream, PageAnswer } from './endpoint.js'
import { sendJson, sendJsonText } from './failure-handler.js'
import { joinBags, type ParameterBag } from './form.js'
import { listBody, renderElements } from './list-body.js'
import type { Section } from './openapi/document.js'
import { pageHeaders } from './page.js'
import { parseInput, pathNames, refuseUnsupported } from './params.js'
import { sendRateLimitHeaders } from './rate-limit-headers.js'
import { Rendered } from './rendered-cache.js'
import type { View } from './view.js'

declare module 'fastify' {
  interface FastifyRequest {
    /** The caller, once authenticated; for the log. */
    caller?: Caller
    /** Whether the request has been counted against the request limit of the caller. */
    counted?: boolean
  }
}

interface FamilyOptions extends Section {
  ctx: Context
  queues: LargeCallQueues
}

/** The plugin of a family of endpoints: registers each as a route, with the checks in the order of G-10. */
export const family: FastifyPluginCallback<FamilyOptions> = (app, { ctx, queues, endpoints }, done) => {
  for (const declared of endpoints) {
    const { method, path, access, largeBody, openWhen } = declared
    const ownHead = method === 'GET' && endpoints.some((other) => other.method === 'HEAD' && other.path === path)
    const paths = pathNames(declared.input)
    app.route({
      method: method as HTTPMethods,
      exposeHeadRoute: method === 'GET' && !ownHead,
      url: path,
      config: { policy: access.rule, paths, robots: ['/api'], forPrograms: '/api', openWhen },
      onRequest: (request, reply, next) => {
        readPathParameters(request.params as ParameterBag, paths)
        request.admit = () => admit(ctx, declared, request, reply)
        next()
      },
      ...(largeBody && { bodyLimit: ctx.config.limits.bodyBytes }),
      handler: (request, reply) => answer(ctx, declared, request, reply, queues).finally(() => request.incoming?.release()),
    })
  }
  done()
}

/** The router takes bytes that are not UTF-8 as characters, see `urlForRouter`; only a path may have them (RF-109). */
function readPathParameters(params: ParameterBag, paths: ReadonlySet<string>): void {
  for (const [name, value] of Object.entries(params)) {
    const text = textOfRouter(String(value))
    if (hasBytes(text) && !paths.has(name)) throw invalidInput('the URL is not valid')
    params[name] = text
  }
}

/**
 * Runs before a larger body is read: requires a credential in the headers or the query, and an access rule that admits
 * its owner (SEC-71). Both are checked again when all parameters are known.
 */
async function admit(ctx: Context, declared: Endpoint, request: FastifyRequest, reply: FastifyReply) {
  const { access } = declared
  const bag = joinBags(request.query as ParameterBag, request.params as ParameterBag)
  const caller = await identify(ctx, declared, bag, request, reply)
  if (access.signedIn && !caller.user) throw unauthenticated()
  await access.find(ctx, caller as never, parseInput(access.path, bag))
  // after `find`, so that 404 comes first: a public endpoint takes no large body from anonymous callers
  if (!caller.user) throw unauthenticated()
}

/** Authenticates the caller; the request is counted once, even if this is called again. */
async function identify(
  ctx: Context,
  { path, scope, jobToken }: Endpoint,
  bag: ParameterBag,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<Caller> {
  const route = { method: request.method, path, scope, jobToken, id: bag['id'] }
  const count = async (userId: number | null) => {
    if (request.counted) return
    request.counted = true
    await countRequest(ctx, userId, request, reply)
  }
  const caller = await authenticate(ctx, request.headers, bag, route, request.ip).catch(async (refusal: unknown) => {
    await count(null)
    throw refusal
  })
  request.caller = caller
  await count((caller.user ? (caller.sudoer ?? caller.user) : null)?.id ?? null)
  return caller
}

/** Size from which checking, hashing or deflating a body takes noticeable time on the event loop, in bytes. */
const LARGE_BODY_BYTES = 256 * 1024
/** Queues for calls with large bodies and with large responses, shared fairly among callers (SEC-180). */
export interface LargeCallQueues {
  bodies: FairQueue
  answers: FairQueue
}
const REFUSALS = { timeout: 'too many large requests came before', full: 'too many large requests are waiting' }
const LARGE_BODIES = { running: 8, waiting: 256, wait: 60_000, refusals: REFUSALS }
const LARGE_ANSWERS = { running: 2, waiting: 128, wait: 10_000, refusals: REFUSALS }
/** The queues of this process, which all families share. */
export function largeCallQueues({ process: { workers } }: Context): LargeCallQueues {
  const queue = (limits: typeof LARGE_BODIES) =>
    new FairQueue({ ...limits, running: shareOf(limits.running, workers), waiting: shareOf(limits.waiting, workers) })
  return { bodies: queue(LARGE_BODIES), answers: queue(LARGE_ANSWERS) }
}

/** Milliseconds after which a large response that its client does not read releases its slot. */
const LARGE_ANSWER_MS = 10_000

async function answer(ctx: Context, declared: Endpoint, request: FastifyRequest, reply: FastifyReply, queues: LargeCallQueues) {
  const { access } = declared
  const query = request.query as ParameterBag
  const bag = joinBags(query, request.body as ParameterBag | undefined, request.params as ParameterBag)
  const caller = await identify(ctx, declared, bag, request, reply)
  if (access.signedIn && !caller.user) throw unauthenticated()
  const holder = holderOfCall(caller.user?.id, request.ip)
  const call = forCall(ctx, request, caller, holdLarge(queues.answers, holder, reply))
  const chain = openChain(ctx, request.headers[CHAIN_HEADER.toLowerCase()])
  checkChain(request.method, chain)
  const runAlone = () => runAsHolder(holder, () => serve(call, declared, request, reply, { caller, bag }))
  const run = () => (chain ? runInHookChain(chain, runAlone) : runAlone())
  const { 'transfer-encoding': encoding, 'content-length': length = 0 } = request.headers
  if (encoding === undefined && Number(length) < LARGE_BODY_BYTES) return run()
  const release = await queues.bodies.acquire({ holder: { key: holder, running: 2, waiting: 64 } })
  return run().finally(release)
}

/** Waits for a slot for a large response, once per call. */
function holdLarge(queue: FairQueue, holder: string, reply: FastifyReply): () => Promise<void> {
  let reservation: Promise<void> | undefined
  const reserve = async () => {
    const release = await queue.acquire({ holder: { key: holder, running: 1, waiting: 32 } })
    if (reply.raw.destroyed) return release()
    reply.raw.once('close', release)
    setTimeout(release, LARGE_ANSWER_MS).unref()
  }
  return () => {
    reservation ??= reserve()
    return reservation
  }
}

/** The same for what is no endpoint. */
export const withLargeAnswers = ({ answers }: LargeCallQueues, holder: string, reply: FastifyReply) => holdLarge(answers, holder, reply)

/** An authenticated call. */
interface Identified {
  caller: Caller
  bag: ParameterBag
}

async function serve(ctx: Context, declared: Endpoint, request: FastifyRequest, reply: FastifyReply, { caller, bag }: Identified) {
  const { access, input: schema, handler } = declared
  const load = async () => access.find(ctx, caller as never, parseInput(access.path, bag))
  const find = declared.method === 'GET' || declared.method === 'HEAD' ? load : () => afterStorageMove(ctx, load)
  const early = access.early ? await find() : undefined
  refuseUnsupported(declared.refuses, bag)
  const input = parseInput(schema, bag, request.params as ParameterBag)
  const subject = access.early ? early : await find()
  const view: View = { links: ctx.links, viewer: caller.user, avatarService: await ctx.caches.settings.avatarService() }
  if (declared.polled) reply.header('poll-interval', pollInterval(await ctx.caches.settings.read()))
  const work = () =>
    handler({
      ctx,
      caller,
      subject,
      input,
      view,
      gone: () => disconnectSignal(reply),
      header: (name) => request.headers[name]?.toString(),
      unchangedSince: (changed) => checkUnchanged(request.headers['if-unmodified-since'], changed),
    })
  // a violated foreign key in a deletion means that a row still refers to the deleted one: a bug, and no 404
  const result = declared.method === 'DELETE' ? await work() : await unlessRemoved(request.log, load, work)
  return send(ctx, declared, request, reply, result)
}

/**
 * Sends how many requests the caller has left, and fails with 429 if there are none (SEC-148, W-34). An invalid
 * credential counts against its IP address.
 */
export async function countRequest(
  { access: { requestLimit } }: Context,
  userId: number | null,
  { ip }: FastifyRequest,
  reply: FastifyReply,
  to: 'api' | 'web' = 'api',
) {
  const rateLimit = await requestLimit.count(userId, ip, to)
  if (rateLimit) sendRateLimitHeaders(reply, rateLimit)
}

/** Milliseconds between two polls at a multiplier of 1. */
const POLL_INTERVAL_MS = 10_000

/** -1 tells clients not to poll automatically (AS-50). */
const pollInterval = ({ polling_interval_multiplier: factor }: { polling_interval_multiplier: number }) =>
  factor === 0 ? -1 : Math.round(POLL_INTERVAL_MS * factor)

/** The context of a call. */
export const forCall = (ctx: Context, { ip, id, headers }: FastifyRequest, caller: Caller, holdLarge?: () => Promise<void>): Context =>
  withOrigin(ctx, { caller, address: ip, userAgent: headers['user-agent'] ?? '', requestId: id, ...(holdLarge && { holdLarge }) })

/** A signal that is aborted when the client disconnects before it has its response; created only on demand. */
export function disconnectSignal(reply: FastifyReply): AbortSignal {
  const gone = new AbortController()
  if (reply.raw.destroyed) gone.abort()
  else reply.raw.once('close', () => reply.raw.writableFinished || gone.abort())
  return gone.signal
}

/** Compares with a precision of one second, like the header. */
function checkUnchanged(header: string | undefined, changed: Date) {
  const since = header === undefined ? Number.NaN : Date.parse(header)
  if (Math.floor(changed.getTime() / 1000) > Math.floor(since / 1000)) throw preconditionFailed()
}

function send(ctx: Context, declared: Endpoint, request: FastifyRequest, reply: FastifyReply, result: unknown) {
  if (result instanceof Content) return sendContent(request, reply, result)
  if (result instanceof Answer) {
    reply.code(result.status).headers(result.headers)
    if (result.body === undefined) return reply.send()
    if (result.body instanceof Rendered) return sendJsonText(reply, result.body.text)
    if (typeof result.body === 'string' || Buffer.isBuffer(result.body) || isStream(result.body)) return reply.send(result.body)
    return Array.isArray(result.body) ? sendList(ctx, reply, result.body) : sendJson(reply, result.body)
  }
  const status = declared.status ?? (declared.method === 'POST' ? 201 : declared.method === 'DELETE' ? 204 : 200)
  reply.code(status)
  if (status === 204) return reply.send()
  if (result instanceof Rendered) return sendJsonText(reply, result.text)
  if (Array.isArray(result)) return sendList(ctx, reply, result)
  if (!(result instanceof PageAnswer)) return sendJson(reply, result)
  reply.headers({ ...pageHeaders(result, originOf(request, ctx.links), request, request.query as ParameterBag), ...result.headers })
  return sendList(ctx, reply, result.items)
}

/** Sends a list element by element, so that a large one neither blocks the event loop nor is held in memory twice. */
async function sendList(ctx: Context, reply: FastifyReply, items: unknown[]) {
  const body = await listBody(ctx.cpu.slices, await renderElements(ctx, items))
  if (typeof body === 'string') return sendJsonText(reply, body)
  return reply.headers({ 'content-type': 'application/json', 'content-length': body.bytes }).send(Readable.from(body.pieces))
}
