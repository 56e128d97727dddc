import { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { actingAs } from '../access/actor.js'
import type { ProjectSubject } from '../access/rules.js'
import type { Context } from '../context.js'
import { Failure, failureText, noSuchRoute, notFound, STATUS, tooLarge, unprocessable } from '../failures.js'
import { type MinimumRate, watchRate } from '../lib/async/minimum-rate.js'
import { isObjectId, WrongObject } from '../lib/files/object-store.js'
import { asUnavailable } from '../lib/unavailable.js'
import { readOnlyNow } from '../services/core/maintenance.js'
import { readSettings } from '../services/core/settings.js'
import { answerBatch, quotaText, tooLargeText } from '../services/repository/lfs/batch.js'
import { lfsCredentials, lfsUrl } from '../services/repository/lfs/credentials.js'
import { type LfsLock, listLocks, lockFile, unlockFile } from '../services/repository/lfs/locks.js'
import { lfsLimits, objectsOf, servesLfs, storeObject } from '../services/repository/lfs/objects.js'
import { DENIED, findRepository, type GitCaller, type GitRefusal, isRefusal, NO_DOWNLOAD, NOT_FOUND, noAccessOver, pushRefusal } from './admission.js'
import { gitCaller } from './credentials.js'

/** The routes below `<path>.git/`. */
export const LFS_ACTION = /info\/lfs\/(?:objects\/(?:batch|verify|[0-9a-f]{64})|locks(?:\/verify|\/\d{1,15}\/unlock)?)/

const TYPE = 'application/vnd.git-lfs+json'
/** Maximum bytes of a JSON body, and objects of one batch; git-lfs sends 100. */
const MAX_JSON = 1024 * 1024
const MAX_OBJECTS = 1_000
/** A download ends after this time without traffic, in milliseconds. */
const DOWNLOAD_STALL_TIMEOUT_MS = 60_000

interface LfsOptions {
  ctx: Context
  minimumRate: MinimumRate
}

/** An admitted request. */
interface Call extends LfsOptions {
  request: FastifyRequest
  reply: FastifyReply
  caller: GitCaller
  subject: ProjectSubject
}

/** An error in the format of the LFS API. */
class LfsError extends Error {
  constructor(
    readonly status: number,
    message: string,
    readonly fields: object = {},
  ) {
    super(message)
  }
}

/** Git LFS over HTTP (companions 31.5): the batch API with the basic transfer, and locks. */
export async function serveLfs(
  options: LfsOptions,
  request: FastifyRequest,
  reply: FastifyReply,
  { path, action }: { path: string; action: string },
) {
  const handler = handlerOf(request.method, action)
  if (!handler) throw noSuchRoute()
  try {
    const admitted = await admit(options.ctx, request, path)
    if (isRefusal(admitted)) return refuse(reply, admitted.status, admitted.text)
    return await handler({ ...options, request, reply, ...admitted })
  } catch (error) {
    if (error instanceof LfsError) return refuse(reply, error.status, error.message, error.fields)
    if (error instanceof Failure) return refuse(reply, STATUS[error.kind], failureText(error.body))
    const unavailable = asUnavailable(error)
    if (!unavailable) throw error
    request.log.warn({ err: error }, 'an LFS call could not be served')
    return refuse(reply.header('retry-after', String(unavailable.retryAfter)), 503, unavailable.message)
  }
}

type Handler = (call: Call) => Promise<unknown>

function handlerOf(method: string, action: string): Handler | undefined {
  const object = /^objects\/([0-9a-f]{64})$/.exec(action)?.[1]
  if (object && method === 'GET') return (call) => download(call, object)
  if (object && method === 'PUT') return (call) => upload(call, object)
  const lock = /^locks\/(\d+)\/unlock$/.exec(action)?.[1]
  if (lock && method === 'POST') return (call) => unlock(call, Number(lock))
  const handlers: Record<string, Handler> = {
    'POST objects/batch': batch,
    'POST objects/verify': verify,
    'GET locks': locks,
    'POST locks': lockPath,
    'POST locks/verify': verifyLocks,
  }
  return handlers[`${method} ${action}`]
}

function refuse(reply: FastifyReply, status: number, message: string, fields: object = {}) {
  if (status === 401) reply.header('lfs-authenticate', 'Basic realm="Roost"').header('www-authenticate', 'Basic realm="Roost"')
  return answer(reply, status, { message, ...fields })
}

const answer = (reply: FastifyReply, status: number, body: object) =>
  reply
    .code(status)
    .type(TYPE)
    .send(Buffer.from(JSON.stringify(body)))

/** Credentials first, then visibility of the project, then whether LFS is served and the code may be read (LF-4). */
async function admit(ctx: Context, request: FastifyRequest, path: string): Promise<Pick<Call, 'caller' | 'subject'> | GitRefusal> {
  const caller = await gitCaller(ctx, request.headers, request.ip, { lfs: true })
  if (isRefusal(caller)) return caller
  const anonymous = caller.user === null && !caller.level
  const found = await findRepository(ctx, caller, path)
  if (!found) return anonymous ? DENIED : NOT_FOUND
  const { subject, wiki } = found
  if (caller.projectId !== undefined && caller.projectId !== subject.project.id) return DENIED
  // a client that authenticated over SSH has an LFS token, and continues over HTTP
  if (caller.projectId === undefined && (await readSettings(ctx)).enabled_git_access_protocol === 'ssh')
    return { status: 403, text: noAccessOver('http') }
  if (!subject.can('download_code')) return anonymous ? DENIED : { status: 403, text: NO_DOWNLOAD }
  // with this status git-lfs knows that locks are not supported, and pushes without a warning
  if (wiki || !servesLfs(subject.project)) throw new LfsError(501, 'Git LFS is not enabled for this project')
  return { caller, subject }
}

/** Throws unless the caller may push (LF-4), or while the service is read-only (WB-180). */
async function checkWrites({ ctx, caller, subject }: Pick<Call, 'ctx' | 'caller' | 'subject'>) {
  const readOnly = await readOnlyNow(ctx)
  if (readOnly !== null) throw new LfsError(503, readOnly)
  if (!caller.user) throw new LfsError(401, DENIED.text)
  if (!caller.writes) throw new LfsError(403, 'The token was made for reading only')
  if (!subject.can('push_code')) throw new LfsError(403, pushRefusal(subject))
  return actingAs(caller.user)
}

const bodyOf = (request: FastifyRequest) => (request.body as Readable | undefined) ?? Readable.from([])

/** Runs work on a body, and aborts it if the client sends too slowly (SEC-142). */
async function withMinimumRate<T>({ request, minimumRate }: Pick<Call, 'request' | 'minimumRate'>, work: (body: Readable) => Promise<T>): Promise<T> {
  const body = bodyOf(request)
  const slow = new LfsError(408, 'The request took too long')
  const unwatch = watchRate(request.raw, minimumRate, () => body.destroy(slow))
  try {
    return await work(body)
  } finally {
    unwatch()
  }
}

/** Parses the JSON body; 422 if it does not match the schema. */
async function json<Shape extends z.ZodType>(call: Call, shape: Shape): Promise<z.output<Shape>> {
  const { headers } = call.request
  const accept = headers.accept ?? '*/*'
  if (![TYPE, '*/*', 'application/*', 'application/json'].some((type) => accept.includes(type))) throw new LfsError(406, `The answer is ${TYPE}`)
  if (!/^application\/(vnd\.git-lfs\+)?json\b/.test(headers['content-type'] ?? '')) throw new LfsError(415, `The body must be ${TYPE}`)
  const text = await withMinimumRate(call, async (body) => {
    const chunks: Buffer[] = []
    let size = 0
    for await (const chunk of body.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      size += chunk.length
      if (size > MAX_JSON) throw new LfsError(413, 'The request is too large')
      chunks.push(chunk)
    }
    return Buffer.concat(chunks).toString('utf8')
  })
  return parsed(text, shape)
}

function parsed<Shape extends z.ZodType>(text: string, shape: Shape): z.output<Shape> {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw new LfsError(422, 'The body is not JSON')
  }
  const { success, data, error } = shape.safeParse(value)
  if (!success)
    throw new LfsError(
      422,
      error.issues
        .map(({ path, message }) => `${path.join('.')}: ${message}`)
        .slice(0, 5)
        .join('; '),
    )
  return data
}

const Batch = z.object({
  operation: z.enum(['download', 'upload']),
  objects: z.array(z.object({ oid: z.string().max(200), size: z.number() })),
  hash_algo: z.string().optional(),
})

async function batch(call: Call) {
  const { ctx, reply, caller, subject } = call
  const { operation, objects, hash_algo = 'sha256' } = await json(call, Batch)
  if (operation === 'upload') await checkWrites(call)
  if (hash_algo !== 'sha256') throw new LfsError(409, 'Objects are named by their SHA-256')
  if (objects.length > MAX_OBJECTS) throw new LfsError(413, `A batch may name at most ${MAX_OBJECTS} objects`)
  const { source, ...token } = caller
  const credentials = source ? lfsCredentials(ctx, { source, ...(token.end !== undefined && { end: token.end }) }, subject.project, operation) : null
  // a deploy key has no rights on other projects of the fork network
  const readerId = caller.level ? null : (caller.user?.id ?? null)
  return answer(reply, 200, {
    transfer: 'basic',
    objects: await answerBatch(ctx, { project: subject.project, readerId }, operation, objects, { href: lfsUrl(ctx, subject.project), credentials }),
    hash_algo: 'sha256',
  })
}

/** Receives an object; an incomplete upload is discarded (LF-7). */
async function upload(call: Call, oid: string) {
  const { ctx, request, reply, subject } = call
  await checkWrites(call)
  const limits = await lfsLimits(ctx)
  const announced = Number(request.headers['content-length'] ?? 0)
  if (announced > limits.object) throw new LfsError(413, tooLargeText(limits.object))
  if (request.headers['content-encoding'] !== undefined) throw new LfsError(415, 'Objects are sent as they are')
  const staged = await withMinimumRate(call, (body) => ctx.lfs.stage(body, oid, limits.object)).catch((error: unknown) => {
    if (!(error instanceof WrongObject)) throw error
    throw error.fault === 'size' ? new LfsError(413, tooLargeText(limits.object)) : new LfsError(422, 'The bytes are not those of the object')
  })
  try {
    await storeObject(ctx, subject.project.id, oid, staged)
  } catch (error) {
    throw error instanceof Failure && error.kind === tooLarge().kind ? new LfsError(413, quotaText(limits.project)) : error
  } finally {
    await staged.discard()
  }
  return reply.code(200).send()
}

async function verify(call: Call) {
  const { ctx, reply, subject } = call
  await checkWrites(call)
  const { oid, size } = await json(call, z.object({ oid: z.string().max(200), size: z.number() }))
  const found = isObjectId(oid) ? (await objectsOf(ctx, subject.project.id, [oid])).get(oid) : undefined
  if (found === undefined || (await ctx.lfs.size(oid)) === null) throw new LfsError(404, 'The project does not have this object')
  if (found !== size) throw unprocessable(`The object has ${found} bytes`)
  return answer(reply, 200, { oid, size })
}

/** Sends an object, or a range of it, with which clients resume a download (LF-8). */
async function download({ ctx, request, reply, subject }: Call, oid: string) {
  const size = (await objectsOf(ctx, subject.project.id, [oid])).get(oid)
  if (size === undefined) throw notFound('Object')
  const range = rangeOf(request.headers.range, size)
  if (range === 'outside') return refuse(reply.header('content-range', `bytes */${size}`), 416, 'The range is outside the object')
  const stream = await ctx.lfs.get(oid, range ?? undefined)
  if (!stream) {
    ctx.log.error({ oid, project: subject.project.id }, 'an LFS object is missing: see roost doctor')
    throw notFound('Object')
  }
  // a client that stops reading must not keep the file open
  reply.raw.setTimeout(DOWNLOAD_STALL_TIMEOUT_MS, () => reply.raw.destroy())
  if (range) reply.code(206).header('content-range', `bytes ${range.start}-${range.end}/${size}`)
  return reply
    .header('content-type', 'application/octet-stream')
    .header('content-length', range ? range.end - range.start + 1 : size)
    .header('content-disposition', 'attachment')
    .header('accept-ranges', 'bytes')
    .header('content-security-policy', "default-src 'none'; sandbox")
    .send(stream)
}

/** The requested byte range; null for the whole object, also if several ranges are requested. */
function rangeOf(given: string | undefined, size: number): { start: number; end: number } | 'outside' | null {
  const [, first, last] = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(given ?? '') ?? []
  if (first === undefined || last === undefined || (first === '' && last === '')) return null
  const start = first === '' ? Math.max(size - Number(last), 0) : Number(first)
  const end = first === '' || last === '' ? size - 1 : Math.min(Number(last), size - 1)
  if (last !== '' && first !== '' && Number(last) < start) return null
  return start > end ? 'outside' : { start, end }
}

const presentLock = ({ id, path, locked_at, owner }: LfsLock) => ({
  id: String(id),
  path,
  locked_at: locked_at.toISOString().replace(/\.\d+Z$/, 'Z'),
  owner: { name: owner },
})

const count = z.coerce.number().int().min(0).max(Number.MAX_SAFE_INTEGER).optional().catch(undefined)

async function locks({ ctx, request, reply, subject }: Call) {
  const query = z.object({ path: z.string().optional(), id: count, cursor: count, limit: count }).safeParse({ ...(request.query as object) })
  if (!query.success) throw new LfsError(422, 'The query has an invalid path')
  const { path } = query.data
  if (path?.includes('\0')) throw new LfsError(422, 'The query has an invalid path')
  const { locks, next } = await listLocks(ctx, subject.project.id, query.data)
  return answer(reply, 200, { locks: locks.map(presentLock), ...(next !== null && { next_cursor: String(next) }) })
}

async function lockPath(call: Call) {
  const { ctx, reply, subject } = call
  const caller = await checkWrites(call)
  const { path } = await json(call, z.object({ path: z.string() }))
  const { lock, created } = await lockFile(ctx, caller, subject, path)
  if (!created) throw new LfsError(409, 'The file is locked already', { lock: presentLock(lock) })
  return answer(reply, 201, { lock: presentLock(lock) })
}

/** Lists the locks for a push, grouped by owner: the caller or others. */
async function verifyLocks(call: Call) {
  const { ctx, reply, subject } = call
  const { user } = await checkWrites(call)
  const filter = await json(call, z.object({ cursor: count, limit: count }))
  const { locks, next } = await listLocks(ctx, subject.project.id, filter)
  const [ours, theirs] = [true, false].map((own) => locks.filter(({ user_id }) => (user_id === user.id) === own).map(presentLock))
  return answer(reply, 200, { ours, theirs, ...(next !== null && { next_cursor: String(next) }) })
}

async function unlock(call: Call, id: number) {
  const { ctx, reply, subject } = call
  const caller = await checkWrites(call)
  const { force = false } = await json(call, z.object({ force: z.boolean().optional() }))
  return answer(reply, 200, { lock: presentLock(await unlockFile(ctx, caller, subject, id, force)) })
}
