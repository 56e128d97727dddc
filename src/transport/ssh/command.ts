import { type Readable, Writable } from 'node:stream'
import { checkAddress } from '../../access/addresses.js'
import { fullPathOf } from '../../access/rules.js'
import type { Context } from '../../context.js'
import { Failure } from '../../failures.js'
import { GitFault } from '../../git/errors.js'
import type { Service, TransportRequest } from '../../git/types.js'
import { holderOfCall, runAsHolder } from '../../lib/async/holder.js'
import { newRequestId } from '../../lib/request-id.js'
import { withoutTrailing } from '../../lib/text/without-trailing.js'
import { asUnavailable } from '../../lib/unavailable.js'
import { restrictionOf } from '../../services/identity/keys.js'
import { findSshLogin, recordKeyUse, type SshLogin } from '../../services/identity/ssh-logins.js'
import { type Admission, admit, type GitAccessRequest, type GitCaller, isRefusal } from '../admission.js'
import { clientNetwork, PROTOCOL_ERROR } from '../clients.js'
import { keyCaller } from '../key-caller.js'
import { push } from '../push.js'
import { commandFault, type RunRequest } from './frames.js'
import { type LfsCommand, lfsAuthenticate } from './lfs-authenticate.js'

/** The streams of a command. */
export interface CommandStreams {
  input: Readable
  output: Writable
  /** Bytes received from the client. */
  received(): number
  /** Writes a line to standard error. */
  writeError(line: string): void
  /** The socket to which git may write directly instead of `output`. */
  outlet: TransportRequest['outlet']
  /** Fires when the client disconnects. */
  disconnected: AbortController
}

/** A parsed Git command. */
interface GitCommand {
  service: Service | 'git-upload-archive'
  /** Without the leading slash and `.git`. */
  path: string
}

/** A push is aborted after this time without data, in milliseconds. */
const PUSH_STALL_TIMEOUT_MS = 900_000

/** Parses a Git command with its one argument (GS-3); null for anything else. */
export function parseCommand(command: string): GitCommand | null {
  const [, name, text] = /^git[ -](upload-pack|receive-pack|upload-archive) (.*)$/s.exec(command) ?? []
  const [path, ...others] = text === undefined ? [] : parseArguments(text)
  return path && others.length === 0 ? { service: `git-${name}` as GitCommand['service'], path } : null
}

/** Parses the command of git-lfs; the additional argument of older clients is ignored. */
export function parseLfsCommand(command: string): LfsCommand | null {
  const [, text] = /^git-lfs-authenticate (.*)$/s.exec(command) ?? []
  const [path, operation, ...others] = text === undefined ? [] : parseArguments(text)
  return path && (operation === 'download' || operation === 'upload') && others.length <= 1 ? { path, operation } : null
}

/** A shell-quoted word, in which a quote and an exclamation mark are escaped outside of quotes, or a plain one. */
const WORD = /^(?:(?:'[^']*'|\\['!])+|[^\s'"\\]+)(?= |$)/

/** The path that is the first of the arguments, and the words after it; empty if it is none. */
function parseArguments(text: string): string[] {
  const words = text.replace(/^ +/, '')
  const [word] = WORD.exec(words) ?? []
  const path = word === undefined ? null : pathOf(word)
  return path === null
    ? []
    : [
        path,
        ...words
          .slice(word?.length)
          .split(' ')
          .filter((each) => each !== ''),
      ]
}

/** The path in a word, without surrounding slashes and `.git`; null if it is none. */
function pathOf(word: string): string | null {
  const unquoted = word.replace(/'([^']*)'|\\(['!])/g, (_, quoted?: string, escaped?: string) => quoted ?? escaped ?? '')
  const path = withoutTrailing(unquoted.replace(/^\/+/, ''), '/').replace(/\.git$/, '')
  return path === '' || /\p{Cc}/u.test(path) || !path.isWellFormed() ? null : path
}

/** Runs the command of an authenticated client; resolves with its exit code. */
export async function runCommand(ctx: Context, request: RunRequest, streams: CommandStreams): Promise<number> {
  const start = performance.now()
  const logFields: Record<string, unknown> = { method: 'SSH', route: 'shell', ip: request.address }
  let code = 1
  try {
    code = await run(ctx, request, streams, logFields)
  } catch (error) {
    if (!streams.disconnected.signal.aborted) {
      const busy = asUnavailable(error)
      const senseless = error instanceof GitFault && PROTOCOL_ERROR.test(error.stderr)
      if (busy) ctx.log.warn({ err: error }, 'a Git call could not be served')
      else if (!senseless) ctx.log.error({ err: error }, 'a Git call failed')
      if (!senseless) ctx.monitoring.errors.report(error, { method: 'SSH', route: String(logFields['route']) })
      if (!senseless) streams.writeError(busy ? `${busy.message}. Please try again.` : 'Internal error')
    }
  }
  ctx.log.info({ ...logFields, status: code, ms: Math.round(performance.now() - start) }, 'request')
  return code
}

async function run(ctx: Context, request: RunRequest, streams: CommandStreams, logFields: Record<string, unknown>): Promise<number> {
  const refuse = (line: string) => {
    streams.writeError(line)
    return 1
  }
  const fault = commandFault(request.command)
  if (fault) return refuse(fault)
  // load the current state: the key may have been removed since the client connected (GS-2)
  const login = await findSshLogin(ctx, { id: request.key })
  if (!login) return refuse('Your key or your account can no longer be used.')
  if (login.user) logFields['user'] = login.user.username
  ctx.jobs.add('ssh key', () => recordKeyUse(ctx, login.key))
  const restriction = await restrictionOf(ctx, login.key)
  if (restriction) return refuse(`Your SSH key ${restriction}.`)
  const addressRefusal = await checkClientAddress(ctx, login, request.address)
  if (addressRefusal) return refuse(addressRefusal)
  const caller = keyCaller(ctx, login)
  const lfs = parseLfsCommand(request.command)
  if (lfs) {
    logFields['service'] = 'git-lfs-authenticate'
    const credentials = await lfsAuthenticate(ctx, caller, lfs)
    if (typeof credentials === 'string') return refuse(credentials)
    streams.output.write(`${JSON.stringify(credentials)}\n`)
    return 0
  }
  const command = parseCommand(request.command)
  if (!command) {
    streams.output.write(`Welcome to Roost, ${login.deploy ? `deploy key ${login.key.id}` : `@${login.user?.username}`}!\n`)
    return request.command === '' ? 0 : refuse('Disallowed command')
  }
  logFields['route'] = `/:project.git/${command.service}`
  logFields['service'] = command.service
  const holder = clientNetwork(request.address)
  return runAsHolder(holderOfCall(login.user?.id, holder), () => serve(ctx, caller, { ...request, ...command, holder }, streams, logFields))
}

async function checkClientAddress(ctx: Context, { user, deploy }: SshLogin, address: string): Promise<string | null> {
  if (!user || deploy) return null
  try {
    await checkAddress(ctx, user.id, address)
    return null
  } catch (thrown) {
    if (thrown instanceof Failure && thrown.kind === 'forbidden') return 'Too many logins from different IPs'
    throw thrown
  }
}

type ResolvedCommand = GitCommand & Pick<RunRequest, 'protocol' | 'address'> & { holder: string }

async function serve(
  ctx: Context,
  caller: GitCaller,
  command: ResolvedCommand,
  streams: CommandStreams,
  logFields: Record<string, unknown>,
): Promise<number> {
  const { service, path, address, protocol, holder } = command
  const client = { address, userAgent: '', requestId: newRequestId() }
  const readmit = async (advertises: boolean): Promise<Admission | null> => {
    const admitted = await admit(ctx, caller, { protocol: 'ssh', path, service, advertises, client } satisfies GitAccessRequest)
    if (isRefusal(admitted)) {
      streams.writeError(admitted.text)
      return null
    }
    if (admitted.subject) logFields['project'] = fullPathOf(admitted.subject.project)
    return admitted
  }
  const admitted = await readmit(service === 'git-receive-pack')
  if (!admitted) return 1
  const { input: body, output: out, disconnected } = streams
  const { hiddenRefs } = admitted
  const request = { body, out, signal: disconnected.signal, duplex: true, protocol, holder, hiddenRefs }
  if (service === 'git-upload-pack') await admitted.repository.uploadPack({ ...request, outlet: streams.outlet })
  else if (service === 'git-upload-archive') await admitted.repository.uploadArchive(request)
  else return servePush(ctx, { admitted, request, readmit }, streams, address)
  return 0
}

interface PushSession {
  admitted: Admission
  request: Parameters<Admission['repository']['receivePack']>[0]
  readmit(advertises: boolean): Promise<Admission | null>
}

/**
 * As over HTTP, the ref advertisement and the push are separate git processes, so that a client which packs for an hour
 * occupies none.
 */
async function servePush(ctx: Context, { admitted, request, readmit }: PushSession, streams: CommandStreams, ip: string): Promise<number> {
  await admitted.repository.advertise('git-receive-pack', { ...request, out: keepOpen(request.out) })
  const first = await peekHeader(request.body)
  // nothing to push
  if (first.length < 4 || first.toString('latin1') === '0000') return 0
  const entered = await readmit(false)
  if (!entered) return 1
  const unwatch = abortWhenStalled(streams)
  try {
    await push(ctx, entered, request, { log: ctx.log, ip, bytes: streams.received })
  } finally {
    unwatch()
  }
  return 0
}

/** A stream that writes to another one, but does not end it. */
function keepOpen(out: Writable): Writable {
  const open = new Writable({ write: (chunk: Buffer, _, done) => void out.write(chunk, done) })
  out.once('close', () => open.destroy())
  return open
}

/** Peeks at the first four bytes; fewer if the stream ends. */
async function peekHeader(body: Readable): Promise<Buffer> {
  while (!body.readableEnded && !body.destroyed) {
    const bytes = body.read(4) as Buffer | null
    if (bytes?.length === 4) body.unshift(bytes)
    if (bytes) return bytes
    await new Promise<void>((resolve) => {
      const done = () => {
        for (const event of ['readable', 'end', 'close']) body.off(event, done)
        resolve()
      }
      for (const event of ['readable', 'end', 'close']) body.on(event, done)
    })
  }
  return Buffer.alloc(0)
}

/** Aborts a push that has stalled, since it occupies a git process. Returns a function that stops the watch. */
function abortWhenStalled({ received, disconnected }: CommandStreams): () => void {
  let before = received()
  const timer = setInterval(() => {
    if (received() === before) disconnected.abort(new Error('the push has stalled'))
    before = received()
  }, PUSH_STALL_TIMEOUT_MS)
  timer.unref()
  return () => clearInterval(timer)
}
