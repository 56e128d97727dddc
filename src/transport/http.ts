import { PassThrough, type Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGunzip } from 'node:zlib'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import ipaddr from 'ipaddr.js'
import { type ActorUser, withoutToken } from '../access/actor.js'
import { fullPathOf, type ProjectSubject } from '../access/rules.js'
import { type Context, during } from '../context.js'
import { Failure, noSuchRoute, wordsOf } from '../failures.js'
import { GitFault, RepositoryMissing } from '../git/errors.js'
import { type GitRepository, type PushCommand, type PushPolicy, type RepositoryKey, type Service, type TransportRequest, ZERO } from '../git/types.js'
import { holderOfCall, inNameOf } from '../lib/async/holder.js'
import { PACE, type Pace, watchPace } from '../lib/async/pace.js'
import { originOf } from '../lib/origin.js'
import { asUnavailable } from '../lib/unavailable.js'
import { keepUpWikiSoon } from '../services/content/wikis.js'
import { readSettings } from '../services/core/settings.js'
import { recordActivity } from '../services/identity/users.js'
import { mergeRequestMessages } from '../services/issuables/merge-requests/writing/push-messages.js'
import { createProject, type PushPlace, placeForPush } from '../services/projects/create.js'
import { acceptPush, type PushIntent } from '../services/repository/push/door.js'
import { quotaRefusal } from '../services/repository/quotas.js'
import { BodyRefused, limited, ReadAhead, type Waiting } from './bodies.js'
import { DENIED, type GitRefusal, gitCaller, isRefusal } from './credentials.js'
import { LFS_ACTION, serveLfs } from './lfs.js'
import { findRepository, findSubject } from './repository.js'

const ROUTE = new RegExp(`^(.+?)(\\.git)?/(info/refs|git-upload-pack|git-receive-pack|${LFS_ACTION.source})$`)
const SERVICES = new Set(['git-upload-pack', 'git-receive-pack'])
const config = { policy: 'Git: the credentials and rights of section 31' }
/** The headers of git's own server: proxies of any age do not cache such answers. */
const UNCACHED = { 'cache-control': 'no-cache, max-age=0, must-revalidate', pragma: 'no-cache', expires: 'Fri, 01 Jan 1980 00:00:00 GMT' }
/** Refs of one push that the log names. */
const MAX_LOGGED = 20

/** What answering needs in addition to the call. */
interface Serving {
  ctx: Context
  pace: Pace
  /** Of the bodies of fetches. */
  waiting: Waiting
}

/** Handles other paths below those of projects: one route must serve them all, because project paths have any depth. */
type Others = (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>

const noOthers: Others = async () => {
  throw noSuchRoute()
}

const pathOf = (request: FastifyRequest) => (request.params as { '*': string })['*']

/**
 * Git over HTTP (companions 31): authenticates like the API, streams through git, and moves refs through the same
 * function as the API.
 */
export async function gitHttp(app: FastifyInstance, { ctx, pace = PACE, others = noOthers }: { ctx: Context; pace?: Pace; others?: Others }) {
  const serving: Serving = { ctx, pace, waiting: { bytes: 0 } }
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', (_request, payload, done) => done(null, payload))
  app.get('/*', { config, exposeHeadRoute: false }, (request, reply) =>
    ROUTE.test(pathOf(request)) ? serve(serving, request, reply) : others(request, reply),
  )
  app.post('/*', { config }, (request, reply) => serve(serving, request, reply))
  // uploads of LFS objects
  app.put('/*', { config }, (request, reply) => serve(serving, request, reply))
}

async function serve(serving: Serving, request: FastifyRequest, reply: FastifyReply) {
  const { ctx } = serving
  const route = ROUTE.exec(pathOf(request))
  const [, path, suffix, action] = route ?? []
  if (!path || !action || path.includes('\0') || !path.isWellFormed()) throw noSuchRoute()
  const get = request.method === 'GET'
  for (const name of ['access-control-allow-origin', 'access-control-expose-headers']) reply.removeHeader(name)
  reply.headers(UNCACHED)
  if (action.startsWith('info/lfs/')) {
    if (!suffix) throw noSuchRoute()
    return serveLfs({ ctx, pace: serving.pace }, request, reply, { path, action: action.slice('info/lfs/'.length) })
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
    return reply.redirect(
      `${originOf(request, ctx.links)}/${path.split('/').map(encodeURIComponent).join('/')}.git/info/refs?service=${service}`,
      301,
    )
  }
  if (!ENCODINGS.has(encodingOf(request))) return plain(reply, { status: 415, text: 'Only gzip is understood' })
  const admitted = await admit(ctx, request, path, service, get).catch((error: unknown): GitRefusal => {
    const unavailable = asUnavailable(error)
    if (!unavailable) throw error
    request.log.warn({ err: error }, 'a Git call could not be served')
    return { status: 503, text: `${unavailable.message}. Please try again.` }
  })
  if (isRefusal(admitted)) return plain(reply, admitted)
  return inNameOf(holderOfCall(admitted.user?.id, holderOf(request.ip)), () => stream(serving, request, reply, service, get, admitted))
}

const NOT_FOUND: GitRefusal = { status: 404, text: 'The project you were looking for could not be found.' }

/** Who has been admitted, and to what. */
interface Admitted {
  user: ActorUser | null
  /** Null where the project is created by the push that follows. */
  subject: ProjectSubject | null
  key?: RepositoryKey
  repository: Pick<GitRepository, 'advertise' | 'uploadPack' | 'receivePack'>
  /** Messages for whoever pushes. */
  notices: string[]
}

/** Credentials first, then visibility of the project, then rights on the repository (31.2, 31.3). */
async function admit(ctx: Context, request: FastifyRequest, path: string, service: Service, advertises: boolean): Promise<Admitted | GitRefusal> {
  const pushes = service === 'git-receive-pack'
  const caller = await gitCaller(ctx, request.headers, request.ip)
  if (isRefusal(caller)) return caller
  const { user } = caller
  const anonymous = user === null
  let found = await findRepository(ctx, user, path)
  if (!found && (!pushes || anonymous)) return anonymous ? DENIED : NOT_FOUND
  if (anonymous && pushes) return DENIED
  if (pushes && !caller.writes) return { status: 403, text: 'The token was made for reading only' }
  const { enabled_git_access_protocol } = await readSettings(ctx)
  if (enabled_git_access_protocol === 'ssh') return { status: 403, text: 'Git access over HTTP is not allowed' }
  const notices: string[] = []
  if (!found) {
    const place = user && (await placeForPush(ctx, withoutToken(user), path))
    if (!place) return NOT_FOUND
    // created by the push itself: asking alone leaves nothing behind
    if (advertises) return { user, subject: null, repository: { ...NO_REPOSITORY, advertise: ctx.git.advertiseEmpty }, notices }
    const refusal = await createByPush(ctx, user, place, request)
    if (refusal) return refusal
    found = await findRepository(ctx, user, path)
    if (!found) return NOT_FOUND
    const address = ctx.links.http(fullPathOf(found.subject.project))
    notices.push(
      `The private project ${fullPathOf(found.subject.project)} was created.`,
      '',
      'To add it as a remote:',
      '',
      `  git remote add origin ${address}`,
      '',
    )
  }
  const { subject, wiki } = found
  const mayRead = subject.can(wiki ? 'read_wiki' : 'download_code')
  if (!mayRead) return anonymous ? DENIED : { status: 403, text: 'You are not allowed to download code from this project.' }
  const mayWrite = subject.can(wiki ? 'write_wiki' : 'push_code')
  if (pushes && !mayWrite)
    return { status: 403, text: subject.project.archived ? 'This project is archived.' : 'You are not allowed to push code to this project.' }
  if (user) ctx.jobs.add('user activity', () => recordActivity(ctx, user.id))
  const key: RepositoryKey = { storage: subject.project.storage, id: subject.project.id, kind: wiki ? 'wiki' : 'project' }
  // a wiki's repository is created on first access; a project's exists since its creation
  if (wiki) await ctx.git.create(key, ctx.config.defaultBranch)
  else if (!(await ctx.git.exists(key))) {
    ctx.log.error({ repository: key }, 'a repository is missing')
    throw new RepositoryMissing()
  }
  if (found.moved) notices.push(`Project was moved. The new address is ${ctx.links.http(fullPathOf(subject.project))}`)
  return { user, subject, key, repository: ctx.git.open(key), notices }
}

/** For a project that is created by the push that follows. */
const NO_REPOSITORY = {
  uploadPack: () => Promise.reject(new RepositoryMissing()),
  receivePack: () => Promise.reject(new RepositoryMissing()),
}

/**
 * Creates the private project that somebody pushes to (GH-26); returns a refusal as text where that is not possible.
 */
async function createByPush(ctx: Context, user: ActorUser, place: PushPlace, request: FastifyRequest): Promise<GitRefusal | null> {
  const caller = withoutToken(user)
  try {
    await createProject(during(ctx, { caller, address: request.ip, userAgent: request.headers['user-agent'] ?? '', requestId: request.id }), caller, {
      namespace_id: place.namespace_id,
      path: place.path,
      visibility: 'private',
    })
    return null
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    // two pushes at once: the other one has created it
    return (await findRepository(ctx, user, place.full_path))
      ? null
      : { status: 403, text: `The project could not be created: ${wordsOf(error.body)}` }
  }
}

function plain(reply: FastifyReply, { status, text }: GitRefusal) {
  if (status === 401) reply.header('www-authenticate', 'Basic realm="Roost"')
  return reply.code(status).type('text/plain').send(`${text}\n`)
}

/** Connects the request to git: nothing is buffered, and the process ends when its client leaves. */
async function stream(
  { ctx, pace, waiting }: Serving,
  request: FastifyRequest,
  reply: FastifyReply,
  service: Service,
  advertises: boolean,
  admitted: Admitted,
) {
  const { repository } = admitted
  reply.hijack()
  const { raw } = reply
  const before = request.raw.socket.bytesRead
  const bytes = () => Number(request.headers['content-length'] ?? request.raw.socket.bytesRead - before)
  const gone = new AbortController()
  raw.once('close', () => {
    if (!raw.writableFinished) gone.abort(new Error('the client has gone'))
  })
  const out = new PassThrough()
  let delivered: Promise<void> = Promise.resolve()
  // the headers go out with the first byte, so that an earlier failure can still be answered
  out.once('readable', () => {
    const type = `application/x-${service}-${advertises ? 'advertisement' : 'result'}`
    raw.writeHead(200, { ...(reply.getHeaders() as Record<string, string>), 'content-type': type })
    delivered = pipeline(out, raw)
    delivered.catch(() => undefined)
  })
  const refuse = (status: number, text: string, headers: Record<string, string> = {}) => {
    raw.writeHead(status, { ...(reply.getHeaders() as Record<string, string>), 'content-type': 'text/plain', ...headers })
    raw.end(`${text}\n`)
  }
  const protocol = request.headers['git-protocol']
  const shared = { out, signal: gone.signal, protocol: typeof protocol === 'string' ? protocol : undefined, holder: holderOf(request.ip) }
  const ahead = service === 'git-upload-pack' && !advertises ? new ReadAhead(bodyOf(request), waiting) : null
  const body = advertises ? null : ahead ? limited(inflated(request, ahead)) : inflated(request)
  let late = false
  const slow = () => {
    late = true
    gone.abort(new Error('the body comes too slowly'))
  }
  // each half-sent request occupies a git process
  const unwatch = advertises ? null : watchPace(request.raw, pace, slow)
  try {
    if (body === null) await repository.advertise(service, shared)
    else {
      if (service === 'git-upload-pack') await repository.uploadPack({ ...shared, body })
      else await push(ctx, admitted, { ...shared, body }, request, bytes)
    }
    await delivered
  } catch (error) {
    if (late && !raw.headersSent && !raw.destroyed) return void refuse(408, 'The request took too long', { connection: 'close' })
    if (late) return void raw.destroy()
    if (gone.signal.aborted) return
    const refused = body?.errored instanceof BodyRefused ? body.errored : null
    if (refused) {
      if (raw.headersSent) return void raw.destroy()
      return void refuse(refused.status, refused.message, { connection: 'close', ...refused.headers })
    }
    const senseless = body?.errored || (error instanceof GitFault && SENSELESS.test(error.stderr))
    const busy = asUnavailable(error)
    if (busy) request.log.warn({ err: error }, 'a Git call could not be served')
    else if (!senseless) request.log.error({ err: error }, 'a Git call failed')
    if (raw.headersSent) return void raw.destroy()
    if (senseless) refuse(400, 'The request is not of the Git protocol', { connection: 'close' })
    else if (busy) refuse(503, `${busy.message}. Please try again.`, { 'retry-after': String(busy.retryAfter) })
    else refuse(500, 'Internal Server Error')
  } finally {
    unwatch?.()
    ahead?.destroy()
    const { method, ip } = request
    const { user, subject } = admitted
    const about = { ...(user && { user: user.username }), ...(subject && { project: fullPathOf(subject.project) }) }
    const ms = Math.round(reply.elapsedTime)
    request.log.info(
      { method, route: `/:project.git/${advertises ? 'info/refs' : service}`, service, ...about, status: raw.statusCode, ms, ip },
      'request',
    )
  }
}

/** What git says, in its locale C, about a request it cannot make sense of. */
const SENSELESS =
  /protocol error|the remote end hung up|unknown capability|invalid command|no command requested|unexpected (line|data|flush|end)|expected (flush|object)|early EOF/

const encodingOf = (request: FastifyRequest) => (request.headers['content-encoding'] ?? 'identity').toLowerCase()

const ENCODINGS = new Set(['identity', 'gzip', 'x-gzip'])

/** The holder of turns: for IPv6 the network, because one client has as many addresses as it likes. */
function holderOf(address: string): string {
  if (!ipaddr.IPv6.isValid(address)) return address
  const parsed = ipaddr.IPv6.parse(address)
  return parsed.isIPv4MappedAddress() ? parsed.toIPv4Address().toString() : parsed.toByteArray().slice(0, 8).join('.')
}

const bodyOf = (request: FastifyRequest) => (request.body as Readable | undefined) ?? request.raw

function inflated(request: FastifyRequest, body = bodyOf(request)): Readable {
  if (encodingOf(request) === 'identity') return body
  const inflating = createGunzip()
  inflating.on('error', () => {}) // it may come before git listens; whoever reads from it finds it destroyed
  // a body that is cut ends the inflating too, and git with it
  body.once('close', () => {
    if (!body.readableEnded) inflating.destroy(body.errored ?? undefined)
  })
  return body.pipe(inflating)
}

async function push(
  ctx: Context,
  { user, subject, key, repository, notices }: Admitted,
  request: TransportRequest,
  { log, ip }: Pick<FastifyRequest, 'log' | 'ip'>,
  bytes: () => number,
) {
  if (!user || !subject || !key) throw new Error('a push without a user or a project was let in')
  const tell = (commands: PushCommand[]) => {
    const refs = commands.slice(0, MAX_LOGGED).map(({ ref, old, new: to }) => `${ref} ${old.slice(0, 12)}..${to.slice(0, 12)}`)
    log.info(
      { user: user.username, project: fullPathOf(subject.project), kind: key.kind, refs, refs_total: commands.length, bytes: bytes(), ip },
      'push',
    )
  }
  if (key.kind === 'wiki') {
    const policy: PushPolicy = {
      verdict: async (commands) => (commands.some((command) => command.new !== ZERO) ? quotaRefusal(ctx, ctx.git.open(key)) : null),
      moved: async (commands) => {
        tell(commands)
        keepUpWikiSoon(ctx, subject.project)
        return notices
      },
    }
    return repository.receivePack(request, policy)
  }
  let intent: PushIntent | undefined
  const policy: PushPolicy = {
    async verdict(commands, quarantine) {
      // the rights as they are now: they may have changed while the pack arrived (SEC-14)
      const fresh = await findSubject(ctx, user, String(subject.project.id))
      if (!fresh) return NOT_FOUND.text
      const decided = await acceptPush(ctx, fresh, user.id, commands, quarantine)
      if (typeof decided === 'string') return decided
      intent = decided
      return null
    },
    async moved(commands) {
      tell(commands)
      await intent?.finish(commands)
      return [...notices, ...(await mergeRequestMessages(ctx, subject, commands))]
    },
  }
  try {
    await repository.receivePack(request, policy)
  } finally {
    await intent?.settle()
  }
}
