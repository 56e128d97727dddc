import { link, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { syncDirectory } from '../../lib/files/durable.js'
import { GitFault } from '../errors.js'
import type { ProcessPool } from '../process/pool.js'
import type { GitProcess } from '../process/spawner.js'
import { syncRefs } from '../refs/ref-updates.js'
import type { GitRepository, PushCommand, PushPolicy, Quarantine, TransportRequest } from '../types.js'
import { protocolVersion } from './advertisement.js'
import { checkObjects } from './check-push.js'
import { HookChannel, type Verdict } from './hooks.js'
import { pointersAmong } from './lfs-pointers.js'
import type { TransportLimits } from './limits.js'
import { feed, relay, stop } from './relay.js'
import { tolerated } from './tolerated.js'

/** Reads a repository with more environment, such as a quarantine's; `close` ends what reading has started. */
export type OpenWith = (env: NodeJS.ProcessEnv) => Omit<Quarantine, 'newPointers'> & Pick<GitRepository, 'ref'> & { close(): void }

/**
 * Removes lock files that no living process holds, by their paths in the repository; the process that asks holds none.
 */
export type Unlock = (directory: string, paths: string[], asking: number | undefined) => Promise<void>

/** What can be pushed (GH-19). */
export const WRITABLE = ['refs/heads', 'refs/notes', 'refs/tags']
/** What the service itself keeps in a repository. */
const OWN = ['refs/merge-requests', 'refs/keep-around', 'refs/roost']

const isBelow = (prefixes: string[], ref: string) => prefixes.some((prefix) => ref.startsWith(`${prefix}/`))

/** What git advertises and accepts of a push. */
export const RECEIVE_CONFIG = [
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

/** One push into a repository. */
interface Push {
  transport: { pool: ProcessPool; limits: TransportLimits; unlock: Unlock }
  directory: string
  /** The directory of the hooks that git runs. */
  hooks: string
  request: TransportRequest
  policy: PushPolicy
  openWith: OpenWith
}

/**
 * Runs `git receive-pack` and answers its hooks. A client that leaves before the verdict ends git; afterwards it
 * changes nothing.
 */
export async function receivePack(push: Push): Promise<void> {
  const { directory } = push
  const { body, out, signal } = push.request
  const child = await start(push)
  const isAtomic = watchAtomic(body)
  const channel: HookChannel = new HookChannel(child, directory, push.transport.limits.commands, {
    asked: (commands, quarantine) => verdictOn(push, commands, { quarantine, isAtomic, pid: child.pid }),
    moved: (commands) => reportMoved(push, channel, commands),
  })
  const giveUp = () => {
    if (channel.accepted) return
    channel.abandoned = true
    stop(child)
  }
  if (signal.aborted) giveUp()
  signal.addEventListener('abort', giveUp, { once: true })
  feed(body, child, giveUp)
  try {
    await relay(child, out, 'receive-pack', { leave: giveUp, exits: true })
  } finally {
    signal.removeEventListener('abort', giveUp)
    await channel.ended()
    if (channel.quarantine !== undefined && isInside(directory, channel.quarantine)) await rm(channel.quarantine, { recursive: true, force: true })
    if (channel.accepted && !channel.reported) await reportUnreported(push, channel, channel.accepted)
  }
  if (channel.fault) throw channel.fault
}

function start({ transport: { pool, limits }, directory, hooks, request }: Push): Promise<GitProcess> {
  const args = [
    ...RECEIVE_CONFIG,
    ...tolerated('receive'),
    ...['-c', `receive.maxInputSize=${limits.packBytes}`, '-c', `core.hooksPath=${hooks}`],
    ...['receive-pack', '--stateless-rpc', '.'],
  ]
  return pool.start(directory, args, {
    env: { GIT_ALLOC_LIMIT: `${limits.objectBytes}`, ...(protocolVersion(request.protocol) === 1 && { GIT_PROTOCOL: 'version=1' }) },
    deadline: limits.deadline,
    stdio: ['pipe', 'pipe', 'pipe', 'pipe', 'pipe'],
  })
}

interface PreReceive {
  /** Undefined: the push has no objects. */
  quarantine: string | undefined
  isAtomic: () => boolean
  /** The process of git, whose own locks are no leftovers. */
  pid: number | undefined
}

/**
 * Answers the pre-receive hook: checks the objects, asks the policy, and makes the objects durable before a ref moves.
 */
async function verdictOn(push: Push, commands: PushCommand[], { quarantine, isAtomic, pid }: PreReceive): Promise<Verdict> {
  const { directory, policy, openWith } = push
  const { pool, unlock, limits } = push.transport
  const { objectBytes, deadline } = limits
  if (quarantine !== undefined && !isInside(directory, quarantine))
    throw new GitFault('receive-pack', null, 'the quarantine is not in the repository')
  const accepted = commands.filter(({ ref }) => isBelow(WRITABLE, ref))
  const lines = linesAbout(commands.filter(({ ref }) => !isBelow(WRITABLE, ref)))
  // git itself would execute the rest
  if (lines.length > 0 && isAtomic()) return lines.join('\n')
  if (accepted.length === 0) return { accepted, lines }
  const env = quarantine === undefined ? undefined : quarantineEnvironment(directory, quarantine)
  const { fault, small } = env ? await checkObjects({ pool, directory, env, objectBytes, deadline }) : NO_OBJECTS
  if (fault !== null) return fault
  const inside = openWith(env ?? {})
  const newPointers = () => pointersAmong({ pool, directory, env, deadline }, small)
  const refusal = await policy.verdict(accepted, { ...inside, newPointers }).finally(() => inside.close())
  if (refusal !== null) return refusal
  if (quarantine !== undefined) await keepPacks(quarantine, directory)
  // a lock that a killed process left would fail this push and all that follow
  await unlock(directory, ['packed-refs.lock', ...accepted.map(({ ref }) => `${ref}.lock`)], pid)
  return { accepted, lines }
}

/** The environment in which git reads the repository together with the objects of a quarantine. */
const quarantineEnvironment = (directory: string, quarantine: string) => ({
  GIT_OBJECT_DIRECTORY: quarantine,
  GIT_ALTERNATE_OBJECT_DIRECTORIES: join(directory, 'objects'),
  GIT_QUARANTINE_PATH: quarantine,
})

/** Answers the post-receive hook: the moved refs are synced, and the policy does what follows. */
async function reportMoved({ directory, policy }: Push, channel: HookChannel, commands: PushCommand[]): Promise<void> {
  await syncRefs(
    directory,
    commands.map(({ ref }) => ref),
  )
  channel.say(await policy.moved(commands))
}

/** After a git that ended before its post-receive hook: what has moved is found by reading the refs. */
async function reportUnreported(push: Push, channel: HookChannel, accepted: PushCommand[]): Promise<void> {
  const reader = push.openWith({})
  const values = await Promise.all(accepted.map(({ ref }) => reader.ref(ref))).finally(() => reader.close())
  const done = accepted.filter((command, i) => (values[i] ?? '0'.repeat(40)) === command.new && command.new !== command.old)
  if (done.length > 0) await reportMoved(push, channel, done)
}

/** What a push without objects, such as a deletion, brings. */
const NO_OBJECTS = { fault: null, small: [] }

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
