import { type Readable, Writable } from 'node:stream'
import { checkAddress } from '../../access/addresses.js'
import { fullPathOf } from '../../access/rules.js'
import type { Context } from '../../context.js'
import { Failure } from '../../failures.js'
import { GitFault } from '../../git/errors.js'
import type { Service, TransportRequest } from '../../git/types.js'
import { holderOfCall, runAsHolder } from '../../lib/async/holder.js'
import { newRequestId } from '../../lib/request-id.js'
import { asUnavailable } from '../../lib/unavailable.js'
import { restrictionOf } from '../../services/identity/keys.js'
import { findSshLogin, recordKeyUse, type SshLogin } from '../../services/identity/ssh-logins.js'
import { type Admitted, type Asked, admit, type GitCaller, isRefusal } from '../admission.js'
import { holderOf, SENSELESS } from '../clients.js'
import { deployKeyCaller } from '../deploy-keys.js'
import { push } from '../push.js'
import type { RunQuestion } from './frames.js'
import { type LfsCommand, lfsAuthenticate } from './lfs-authenticate.js'

/** The streams of a command. */
export interface CommandStreams {
  input: Readable
  output: Writable
  /** Bytes that have come from the client. */
  received(): number
  /** Writes a line on standard error. */
  say(line: string): void
  /** Where git may write in place of `output`. */
  outlet: TransportRequest['outlet']
  /** Fires when the client has gone. */
  gone: AbortController
}

/** What a client asks git for. */
interface GitCommand {
  service: Service | 'git-upload-archive'
  /** Without the slash before it and `.git` after it. */
  path: string
}

/** Milliseconds without a byte of a push, while git may be waiting for more. */
const PUSH_STALL = 900_000

/** The one command with one argument that Git sends (GS-3); null for anything else. */
export function parseCommand(command: string): GitCommand | null {
  const [, name, argument] = /^git[ -](upload-pack|receive-pack|upload-archive) +(\S.*?) *$/s.exec(command) ?? []
  const path = argument === undefined ? null : parsePath(argument)
  return path === null ? null : { service: `git-${name}` as GitCommand['service'], path }
}

/** The command of git-lfs; what older clients say after the operation does not matter. */
export function parseLfsCommand(command: string): LfsCommand | null {
  const [, argument, operation] = /^git-lfs-authenticate +(\S.*?) +(download|upload)(?: +\S*)? *$/s.exec(command) ?? []
  const path = argument === undefined ? null : parsePath(argument)
  return path === null ? null : { path, operation: operation as LfsCommand['operation'] }
}

/** The path in a shell's word, without the slashes around it and `.git`. */
function parsePath(argument: string): string | null {
  // a quote and an exclamation mark are escaped outside of quotes
  const whole = /^(?:'[^']*'|\\['!])+$/.test(argument)
  if (!whole && /['"\\\s]/.test(argument)) return null
  const path = (whole ? argument.replace(/'([^']*)'|\\(['!])/g, (_, quoted?: string, escaped?: string) => quoted ?? escaped ?? '') : argument)
    .replace(/^\/+/, '')
    .replace(/\/+$/, '')
    .replace(/\.git$/, '')
  return path === '' || /\p{Cc}/u.test(path) || !path.isWellFormed() ? null : path
}

/** Runs the command of somebody who has proved to have a key; resolves with its exit code. */
export async function runCommand(ctx: Context, asked: RunQuestion, streams: CommandStreams): Promise<number> {
  const began = performance.now()
  const about: Record<string, unknown> = { method: 'SSH', route: 'shell', ip: asked.address }
  let code = 1
  try {
    code = await run(ctx, asked, streams, about)
  } catch (error) {
    if (!streams.gone.signal.aborted) {
      const busy = asUnavailable(error)
      const senseless = error instanceof GitFault && SENSELESS.test(error.stderr)
      if (busy) ctx.log.warn({ err: error }, 'a Git call could not be served')
      else if (!senseless) ctx.log.error({ err: error }, 'a Git call failed')
      if (!senseless) streams.say(busy ? `${busy.message}. Please try again.` : 'Internal error')
    }
  }
  ctx.log.info({ ...about, status: code, ms: Math.round(performance.now() - began) }, 'request')
  return code
}

async function run(ctx: Context, asked: RunQuestion, streams: CommandStreams, about: Record<string, unknown>): Promise<number> {
  const refuse = (line: string) => {
    streams.say(line)
    return 1
  }
  // as they are now: the connection may be older than the removal of the key (GS-2)
  const login = await findSshLogin(ctx, { id: asked.key })
  if (!login) return refuse('Your key or your account can no longer be used.')
  if (login.user) about['user'] = login.user.username
  ctx.jobs.add('ssh key', () => recordKeyUse(ctx, login.key))
  const restriction = await restrictionOf(ctx, login.key)
  if (restriction) return refuse(`Your SSH key ${restriction}.`)
  const crowded = await addressFault(ctx, login, asked.address)
  if (crowded) return refuse(crowded)
  const caller: GitCaller = login.deploy ? deployKeyCaller(ctx, login) : { user: login.user, reads: true, writes: true }
  const lfs = parseLfsCommand(asked.command)
  if (lfs) {
    about['service'] = 'git-lfs-authenticate'
    const credentials = await lfsAuthenticate(ctx, caller, lfs)
    if (typeof credentials === 'string') return refuse(credentials)
    streams.output.write(`${JSON.stringify(credentials)}\n`)
    return 0
  }
  const command = parseCommand(asked.command)
  if (!command) {
    streams.output.write(`Welcome to Roost, ${login.deploy ? `deploy key ${login.key.id}` : `@${login.user?.username}`}!\n`)
    return asked.command === '' ? 0 : refuse('Disallowed command')
  }
  about['route'] = `/:project.git/${command.service}`
  about['service'] = command.service
  const holder = holderOf(asked.address)
  return runAsHolder(holderOfCall(login.user?.id, holder), () => serve(ctx, caller, { ...asked, ...command, holder }, streams, about))
}

async function addressFault(ctx: Context, { user, deploy }: SshLogin, address: string): Promise<string | null> {
  if (!user || deploy) return null
  try {
    await checkAddress(ctx, user.id, address)
    return null
  } catch (thrown) {
    if (thrown instanceof Failure && thrown.kind === 'forbidden') return 'Too many logins from different IPs'
    throw thrown
  }
}

type Serving = GitCommand & Pick<RunQuestion, 'protocol' | 'address'> & { holder: string }

async function serve(ctx: Context, caller: GitCaller, asked: Serving, streams: CommandStreams, about: Record<string, unknown>): Promise<number> {
  const { service, path, address } = asked
  const client = { address, userAgent: '', requestId: newRequestId() }
  const enter = async (advertises: boolean): Promise<Admitted | null> => {
    const admitted = await admit(ctx, caller, { protocol: 'ssh', path, service, advertises, client } satisfies Asked)
    if (isRefusal(admitted)) {
      streams.say(admitted.text)
      return null
    }
    if (admitted.subject) about['project'] = fullPathOf(admitted.subject.project)
    return admitted
  }
  const admitted = await enter(service === 'git-receive-pack')
  if (!admitted) return 1
  const { input: body, output: out, gone } = streams
  const request = { body, out, signal: gone.signal, duplex: true, protocol: asked.protocol, holder: asked.holder }
  if (service === 'git-upload-pack') await admitted.repository.uploadPack({ ...request, outlet: streams.outlet })
  else if (service === 'git-upload-archive') await admitted.repository.uploadArchive(request)
  else return takePush(ctx, { admitted, request, enter }, streams, address)
  return 0
}

interface Pushing {
  admitted: Admitted
  request: Parameters<Admitted['repository']['receivePack']>[0]
  enter(advertises: boolean): Promise<Admitted | null>
}

/**
 * As over HTTP: an advertisement, then a push from its first byte. Whoever packs for an hour in between occupies no
 * process.
 */
async function takePush(ctx: Context, { admitted, request, enter }: Pushing, streams: CommandStreams, ip: string): Promise<number> {
  await admitted.repository.advertise('git-receive-pack', { ...request, out: withoutEnd(request.out) })
  const first = await head(request.body)
  // nothing to push
  if (first.length < 4 || first.toString('latin1') === '0000') return 0
  const entered = await enter(false)
  if (!entered) return 1
  const unwatch = watchStall(streams)
  try {
    await push(ctx, entered, request, { log: ctx.log, ip, bytes: streams.received })
  } finally {
    unwatch()
  }
  return 0
}

/** Writes to another stream, which stays open. */
function withoutEnd(out: Writable): Writable {
  const open = new Writable({ write: (chunk: Buffer, _, done) => void out.write(chunk, done) })
  out.once('close', () => open.destroy())
  return open
}

/** The first four bytes, which stay to be read; fewer where there are no more. */
async function head(body: Readable): Promise<Buffer> {
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

/** Ends a push of which nothing comes any more: it occupies a git process. Returns the function that ends the watch. */
function watchStall({ received, gone }: CommandStreams): () => void {
  let before = received()
  const timer = setInterval(() => {
    if (received() === before) gone.abort(new Error('the push has stalled'))
    before = received()
  }, PUSH_STALL)
  timer.unref()
  return () => clearInterval(timer)
}
