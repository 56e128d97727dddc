import { once } from 'node:events'
import { link, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Readable, Writable } from 'node:stream'
import { finished } from 'node:stream/promises'
import { gathered } from '../../lib/async/gathered.js'
import { syncDirectory } from '../../lib/files/durable.js'
import { Unavailable } from '../../lib/unavailable.js'
import { GitFault, gitFailure, RepositoryMissing } from '../errors.js'
import type { ProcessPool } from '../process/pool.js'
import { type GitProcess, kill } from '../process/spawner.js'
import type { PackedCache } from '../refs/packed-refs.js'
import { RefStore } from '../refs/ref-store.js'
import { syncRefs } from '../refs/ref-updates.js'
import { presence } from '../storage/create.js'
import { enter } from '../storage/gates.js'
import type { GitRepository, PushCommand, PushPolicy, Quarantine, Service, TransportRequest } from '../types.js'
import { advertisedRefs, FLUSH, packetLine, writePieces } from './advertisement.js'
import { ALONE, ARCHIVE_CONFIG } from './archive.js'
import { checkObjects } from './check-push.js'
import { HookChannel, installHooks } from './hooks.js'
import { pointersAmong } from './lfs-pointers.js'
import { tolerated } from './tolerated.js'

export interface TransportLimits {
  /** Milliseconds one fetch or push may take. */
  deadline: number
  /** Bytes of a received pack (GH-24, SEC-88). */
  packBytes: number
  /** Bytes of a single received object. */
  objectBytes: number
  /** Refs one push may update. */
  commands: number
  /** Milliseconds without a byte sent after which a fetch is ended. */
  stall: number
}

export const TRANSPORT_LIMITS: TransportLimits = {
  deadline: 3_600_000,
  packBytes: 5 * 1024 ** 3,
  objectBytes: 1024 ** 3,
  commands: 10_000,
  stall: 60_000,
}

/** Reads a repository with more environment, such as a quarantine's; `close` ends what reading has started. */
export type OpenWith = (env: NodeJS.ProcessEnv) => Omit<Quarantine, 'newPointers'> & Pick<GitRepository, 'ref'> & { close(): void }

/** What a push without objects, such as a deletion, brings. */
const NO_OBJECTS = { fault: null, small: [] }

/**
 * What git advertises and accepts; the service's own refs cannot be written, and the hidden ones cannot be seen
 * (SEC-86).
 */
const UPLOAD = [
  '-c', 'transfer.hideRefs=refs/keep-around',
  '-c', 'transfer.hideRefs=refs/roost',
  '-c', 'uploadpack.allowFilter=true',
  // those that cost git no more than a clone does: others depend on paths, or count through trees
  '-c', 'uploadpackfilter.allow=false',
  '-c', 'uploadpackfilter.blob:none.allow=true',
  '-c', 'uploadpackfilter.blob:limit.allow=true',
  '-c', 'uploadpackfilter.tree.allow=true',
  '-c', 'uploadpackfilter.tree.maxDepth=0',
] // biome-ignore format: pairs belong on one line

/** What can be pushed (GH-19). */
const WRITABLE = ['refs/heads', 'refs/notes', 'refs/tags']
/** What the service itself keeps in a repository. */
const OWN = ['refs/merge-requests', 'refs/keep-around', 'refs/roost']

const isBelow = (prefixes: string[], ref: string) => prefixes.some((prefix) => ref.startsWith(`${prefix}/`))

const RECEIVE = [
  '-c', 'core.fsync=committed,loose-object,reference',
  '-c', 'core.filesRefLockTimeout=5000',
  '-c', 'core.packedRefsTimeout=10000',
  '-c', 'core.bigFileThreshold=50m',
  // git itself refuses hidden refs, each command alone, so that the rest of a push is executed (GH-18)
  '-c', 'receive.hideRefs=refs',
  ...WRITABLE.flatMap((prefix) => ['-c', `receive.hideRefs=!${prefix}`]),
  '-c', 'receive.autogc=false',
  '-c', 'receive.updateServerInfo=false',
  '-c', 'receive.unpackLimit=1',
  '-c', 'receive.advertiseAtomic=true',
  '-c', 'receive.denyCurrentBranch=ignore',
  '-c', 'receive.denyDeleteCurrent=ignore',
  '-c', 'receive.denyDeletes=false',
  '-c', 'receive.denyNonFastForwards=false',
  '-c', 'receive.fsckObjects=true',
] // biome-ignore format: pairs belong on one line

/**
 * Fetches and pushes, as streams of the stateless wire protocol. Use a pool of its own: a clone keeps its turn for as
 * long as it takes.
 */
export class Transport {
  #capabilities: Promise<Buffer> | undefined
  #accepted: Promise<string> | undefined

  constructor(
    readonly pool: ProcessPool,
    /** A folder that only we can write to; the hooks are put there. */
    readonly hooksParent: string,
    readonly packed: PackedCache,
    readonly limits: TransportLimits = TRANSPORT_LIMITS,
    /**
     * Removes lock files that no living process holds, by their paths in the repository; the process that asks holds
     * none.
     */
    readonly unlock: (directory: string, paths: string[], asking: number | undefined) => Promise<void> = async () => {},
  ) {}

  /** Writes the answer to `info/refs`. For protocol 2 it does not depend on the repository, so it is made once. */
  async advertise(directory: string, service: Service, { out, protocol, duplex, signal, holder }: Omit<TransportRequest, 'body'>) {
    const version = protocolVersion(protocol)
    if (service === 'git-upload-pack' && version === 2) {
      this.#capabilities ??= this.#readCapabilities(directory)
      this.#capabilities.catch(() => {
        this.#capabilities = undefined
      })
      out.end(await this.#capabilities)
      return
    }
    const { stall, deadline } = this.limits
    const prefix = duplex ? '' : packetLine(`# service=${service}\n`) + FLUSH
    if (service === 'git-receive-pack') return this.#advertiseForPush(directory, out, version === 1 ? prefix + packetLine('version 1\n') : prefix)
    const release = await this.pool.acquire(directory, signal, holder)
    try {
      const env = version === 1 ? { GIT_PROTOCOL: 'version=1' } : {}
      const args = [...UPLOAD, 'upload-pack', '--stateless-rpc', '--http-backend-info-refs', '.']
      const child = await this.pool.start(directory, args, { env, signal, deadline, stdio: ['ignore', 'pipe', 'pipe'] })
      await relay(child, out, service, { prefix, stall })
    } finally {
      release()
    }
  }

  async #advertiseForPush(directory: string, out: Writable, prefix: string) {
    if ((await presence(directory)) !== 'readable') throw new RepositoryMissing()
    this.#accepted ??= this.#readAccepted(directory)
    this.#accepted.catch(() => {
      this.#accepted = undefined
    })
    const refs = new RefStore(directory, this.packed)
    await writePieces(advertisedRefs(refs, { prefixes: WRITABLE, capabilities: await this.#accepted, before: prefix }), out, this.limits.stall)
  }

  async uploadPack(directory: string, { body, out, protocol, duplex = false, outlet, signal, holder }: TransportRequest) {
    const release = await this.pool.acquire(directory, signal, holder)
    try {
      const version = protocolVersion(protocol)
      const child = await this.pool.start(directory, [...UPLOAD, 'upload-pack', '--strict', ...(duplex ? [] : ['--stateless-rpc']), '.'], {
        env: version > 0 ? { GIT_PROTOCOL: `version=${version}` } : {},
        signal,
        deadline: this.limits.deadline,
        stdio: ['pipe', outlet ? { path: outlet.path, greeting: outlet.greeting } : 'pipe', 'pipe'],
      })
      feed(body, child, () => stop(child))
      outlet?.opened()
      if (outlet) await ended(child, 'upload-pack', signal)
      else await relay(child, out, 'upload-pack', { stall: this.limits.stall, asking: body, exits: duplex })
    } finally {
      release()
    }
  }

  /** Runs in the pool of archives. Only what a ref names is served, and git starts no program but its own (SEC-85). */
  async uploadArchive(pool: ProcessPool, directory: string, { body, out, signal, holder }: TransportRequest) {
    const release = await pool.acquire(directory, signal, holder)
    try {
      const child = await pool.start(directory, [...ARCHIVE_CONFIG, 'upload-archive', '.'], { env: ALONE, signal, deadline: this.limits.deadline })
      feed(body, child, () => stop(child))
      await relay(child, out, 'upload-archive', { stall: this.limits.stall, asking: body, exits: true })
    } finally {
      release()
    }
  }

  /**
   * Once the verdict is yes, a client that leaves changes nothing: refs move and `moved` is called. Throws
   * RepositoryMoving before anything is read while the repository is leaving its storage.
   */
  async receivePack(directory: string, { body, out, protocol, signal, holder }: TransportRequest, policy: PushPolicy, openWith: OpenWith) {
    const hooks = await installHooks(this.hooksParent)
    const released = await this.pool.acquire(directory, signal, holder)
    const leave = await enter(directory).catch((error: unknown) => {
      released()
      throw error
    })
    const release = () => {
      released()
      return leave()
    }
    try {
      const { packBytes, objectBytes, commands, deadline } = this.limits
      const args = [
        ...RECEIVE,
        ...tolerated('receive'),
        ...['-c', `receive.maxInputSize=${packBytes}`, '-c', `core.hooksPath=${hooks}`],
        ...['receive-pack', '--stateless-rpc', '.'],
      ]
      const child = await this.pool.start(directory, args, {
        env: { GIT_ALLOC_LIMIT: `${objectBytes}`, ...(protocolVersion(protocol) === 1 && { GIT_PROTOCOL: 'version=1' }) },
        deadline,
        stdio: ['pipe', 'pipe', 'pipe', 'pipe', 'pipe'],
      })
      const quarantine = (path: string) => ({
        GIT_OBJECT_DIRECTORY: path,
        GIT_ALTERNATE_OBJECT_DIRECTORIES: join(directory, 'objects'),
        GIT_QUARANTINE_PATH: path,
      })
      const moved = async (updates: PushCommand[]) => {
        await syncRefs(
          directory,
          updates.map((update) => update.ref),
        )
        await policy.moved(updates).then((lines) => channel.say(lines))
      }
      const channel = new HookChannel(child, directory, commands, {
        asked: async (updates, path) => {
          if (path !== undefined && !isInside(directory, path)) throw new GitFault('receive-pack', null, 'the quarantine is not in the repository')
          const accepted = updates.filter(({ ref }) => isBelow(WRITABLE, ref))
          const lines = linesAbout(updates.filter(({ ref }) => !isBelow(WRITABLE, ref)))
          // git itself would execute the rest
          if (lines.length > 0 && atomic()) return lines.join('\n')
          if (accepted.length === 0) return { accepted, lines }
          const env = path === undefined ? undefined : quarantine(path)
          const { fault, small } = env ? await checkObjects({ pool: this.pool, directory, env, objectBytes, deadline }) : NO_OBJECTS
          if (fault !== null) return fault
          const inside = openWith(env ?? {})
          const newPointers = () => pointersAmong({ pool: this.pool, directory, env, deadline }, small)
          const refusal = await policy.verdict(accepted, { ...inside, newPointers }).finally(() => inside.close())
          if (refusal !== null) return refusal
          if (path !== undefined) await keepPacks(path, directory)
          // a lock that a killed process left would fail this push and all that follow
          await this.unlock(directory, ['packed-refs.lock', ...accepted.map(({ ref }) => `${ref}.lock`)], child.pid)
          return { accepted, lines }
        },
        moved,
      })
      const giveUp = () => {
        if (channel.accepted) return
        channel.abandoned = true
        stop(child)
      }
      if (signal.aborted) giveUp()
      signal.addEventListener('abort', giveUp, { once: true })
      const atomic = watchAtomic(body)
      feed(body, child, giveUp)
      try {
        await relay(child, out, 'receive-pack', { leave: giveUp, exits: true })
      } finally {
        signal.removeEventListener('abort', giveUp)
        await channel.ended()
        if (channel.quarantine !== undefined && isInside(directory, channel.quarantine))
          await rm(channel.quarantine, { recursive: true, force: true })
        if (channel.accepted && !channel.reported) {
          const now = openWith({})
          const values = await Promise.all(channel.accepted.map(({ ref }) => now.ref(ref))).finally(() => now.close())
          const done = channel.accepted.filter((command, i) => (values[i] ?? '0'.repeat(40)) === command.new && command.new !== command.old)
          if (done.length > 0) await moved(done)
        }
      }
      if (channel.fault) throw channel.fault
    } finally {
      await release()
    }
  }

  async #readCapabilities(directory: string) {
    const args = [...UPLOAD, 'upload-pack', '--stateless-rpc', '--http-backend-info-refs', '.']
    return (await this.pool.run(directory, args, { env: { GIT_PROTOCOL: 'version=2' } })).stdout
  }

  /** The capabilities of git's receive-pack, which depend on git and on our configuration only. */
  async #readAccepted(directory: string): Promise<string> {
    const hidden = ['-c', 'receive.hideRefs=refs']
    const { stdout } = await this.pool.run(directory, [...RECEIVE, ...hidden, 'receive-pack', '--stateless-rpc', '--http-backend-info-refs', '.'])
    const [, capabilities] = /\0(.*)\n/.exec(stdout.toString('latin1')) ?? []
    if (capabilities === undefined) throw new GitFault('receive-pack', 0, 'it advertised no capabilities')
    return capabilities
  }
}

/**
 * Links the packs of a quarantine into the repository, and syncs their directory entries, before a ref moves: git links
 * them after this, and never syncs the entries, so a loss of power could leave a ref without its objects (SEC-157). Git
 * accepts a file that is there already as its own.
 *
 * The `.keep` file that git puts beside each pack until its refs have moved is left out: a repack that meets it after
 * choosing which packs to join leaves their objects out and removes them all the same (not fixed in any git so far;
 * gitgitgadget/git#2219). Our repacks drop nothing that is not reached yet, so there is nothing to protect a pack from.
 */
async function keepPacks(quarantine: string, directory: string): Promise<void> {
  const [from, to] = [join(quarantine, 'pack'), join(directory, 'objects', 'pack')]
  const order = ['.pack', '.rev', '.idx'] // no reader sees a pack before its index
  const files = (await readdir(from).catch(() => [] as string[])).filter((name) => /^pack-[0-9a-f]{40}\.(pack|rev|idx|keep)$/.test(name))
  for (const name of files.filter((each) => each.endsWith('.keep'))) await rm(join(from, name), { force: true })
  const names = files.filter((each) => !each.endsWith('.keep'))
  for (const ending of order)
    for (const name of names.filter((each) => each.endsWith(ending)))
      await link(join(from, name), join(to, name)).catch((error: NodeJS.ErrnoException) => {
        if (error.code !== 'EEXIST') throw error
      })
  if (names.length > 0) await syncDirectory(to)
}

/** Refs of one push that are named when they are refused. */
const MAX_NAMED = 20

/** Why each of these commands is refused, as messages to the user. */
function linesAbout(refused: PushCommand[]): string[] {
  const lines = refused
    .slice(0, MAX_NAMED)
    .map(({ ref }) => `${ref}: ${isBelow(OWN, ref) ? 'such refs are kept by the service itself' : 'only branches, tags and notes can be pushed'}.`)
  return refused.length > MAX_NAMED ? [...lines, `The same holds for ${refused.length - MAX_NAMED} more refs.`] : lines
}

/** Bytes at the beginning of a push within which its first command has to come. */
const HEAD = 1_048_576

/**
 * Reads along until the first command of a push, to find out whether the push is atomic, which git does not tell its
 * hooks. One that cannot be read counts as atomic.
 */
function watchAtomic(body: Readable): () => boolean {
  let head: Buffer | null = Buffer.alloc(0)
  let atomic = true
  const look = (chunk: Buffer) => {
    if (head === null) return
    head = Buffer.concat([head, chunk])
    const first = firstCommand(head)
    if (first === null && head.length < HEAD) return
    // the capabilities follow a NUL
    if (first) atomic = first.includes(0) && / atomic( |\n|$)/.test(` ${first.toString('latin1', first.indexOf(0) + 1)}`)
    head = null
    body.off('data', look)
  }
  body.on('data', look)
  return () => atomic
}

/** The first line that is not a `shallow` line; null: it has not come, or the input is no push. */
function firstCommand(head: Buffer): Buffer | null {
  for (let at = 0; at + 4 <= head.length; ) {
    const length = Number.parseInt(head.toString('latin1', at, at + 4), 16)
    if (!(length > 4) || at + length > head.length) return null
    const line = head.subarray(at + 4, at + length)
    if (line.toString('latin1', 0, 8) !== 'shallow ') return line
    at += length
  }
  return null
}

/** Never remove more after a push than the push brought. */
const isInside = (directory: string, path: string) => path.startsWith(join(directory, 'objects', '/'))

function protocolVersion(protocol: string | undefined): 0 | 1 | 2 {
  const versions = (protocol ?? '').split(':').map((part) => (part === 'version=2' ? 2 : part === 'version=1' ? 1 : 0))
  return Math.max(...versions) as 0 | 1 | 2
}

/**
 * Pipes the body into git. A git that has read enough does not end the connection, because its answer still has to be
 * sent; a client that stops in the middle ends git.
 */
function feed(body: Readable, child: GitProcess, leave: () => void) {
  const stdin = child.stdin as Writable
  stdin.on('error', () => {
    body.unpipe(stdin)
    body.resume()
  })
  body.on('error', leave)
  body.on('close', () => {
    if (!body.readableEnded) leave()
  })
  if (body.destroyed) leave()
  else body.pipe(stdin)
}

interface Relaying {
  /** Written before the answer. */
  prefix?: string
  leave?: () => void
  /** Milliseconds without a byte sent after which the answer is ended; 0: never. */
  stall?: number
  /** Whether an exit code that is not 0 is a failure also after the first byte. */
  exits?: boolean
  /** A body that git may still be reading: while it arrives, an answer need not come. */
  asking?: Readable
}

/**
 * Pipes git's output to the client, as fast as the client reads it. Throws when git failed before its first byte, so
 * that a status can still be chosen; afterwards the output itself tells the client. Throws also when git was killed: the
 * output is cut then, and a client that takes it for whole waits for the rest for ever.
 */
async function relay(
  child: GitProcess,
  out: Writable,
  command: string,
  { prefix = '', leave = () => stop(child), stall = 0, asking, exits = false }: Relaying = {},
) {
  const stderr = errorsOf(child)
  let begun = false
  let gone = false
  let stalled = false
  const closed = finished(out, { readable: false }).catch(() => {
    gone = true
    leave()
  })
  const timer =
    stall > 0
      ? setTimeout(() => {
          stalled = true
          stop(child)
          out.destroy(begun ? new Unavailable(`git ${command} stalled`) : undefined)
        }, stall)
      : undefined
  const moved = () => void timer?.refresh()
  asking?.on('data', moved)
  try {
    for await (const chunk of gathered(child.stdout as Readable)) {
      if (gone) continue // read on: a git that has begun to move refs must not fail on a full pipe
      if (!begun && prefix) out.write(prefix)
      begun = true
      if (!out.write(chunk)) await Promise.race([once(out, 'drain').catch(() => {}), closed])
      moved()
    }
    const exitCode = await child.closed
    if (gone || stalled) {
      if (stalled && !begun) throw new Unavailable(`git ${command} stalled`)
      return
    }
    if (exitCode !== 0 && (!begun || exits || exitCode === null)) throw failureOf(command, exitCode, stderr())
    out.end()
    moved()
    await closed
  } finally {
    clearTimeout(timer)
    asking?.off('data', moved)
  }
}

/** Waits for a git whose output is read elsewhere. Throws when it failed, unless its client has gone. */
async function ended(child: GitProcess, command: string, signal: AbortSignal): Promise<void> {
  const stderr = errorsOf(child)
  const exitCode = await child.closed
  if (exitCode !== 0 && !signal.aborted) throw failureOf(command, exitCode, stderr())
}

/** What git has written on standard error so far, or the first part of it. */
function errorsOf(child: GitProcess): () => string {
  let stderr = ''
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    if (stderr.length < 65_536) stderr += text
  })
  return () => stderr
}

const failureOf = (command: string, exitCode: number | null, stderr: string) =>
  exitCode === null ? new Unavailable(`git ${command} was ended`) : gitFailure(command, exitCode, stderr)

/** Lets git clean up after itself, for a moment. */
function stop(child: GitProcess) {
  if (!child.running) return
  kill(child, 'SIGTERM')
  setTimeout(() => kill(child), 500)
}
