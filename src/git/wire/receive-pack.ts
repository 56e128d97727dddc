import { link, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { syncDirectory } from '../../lib/files/durable.js'
import { GitFault } from '../errors.js'
import { configOptions } from '../process/config-options.js'
import type { ProcessPool } from '../process/pool.js'
import type { GitProcess } from '../process/spawner.js'
import { syncRefs } from '../refs/ref-updates.js'
import type { GitRepository, PushCommand, PushPolicy, Quarantine, TransportRequest } from '../types.js'
import { FLUSH, pktLine, protocolVersion } from './advertisement.js'
import { checkObjects } from './check-push.js'
import { toleratedFsckConfig } from './fsck-config.js'
import { commandOf, HookChannel, type Verdict } from './hooks.js'
import { pointersAmong } from './lfs-pointers.js'
import type { TransportLimits } from './limits.js'
import { nextOf } from './ls-refs.js'
import { PackGuard } from './pack-guard.js'
import { pipeInput, relay, stop } from './relay.js'

/** Opens a reader with additional environment, such as a quarantine's; `close` ends its processes. */
export type OpenWith = (env: NodeJS.ProcessEnv) => Omit<Quarantine, 'newPointers'> & Pick<GitRepository, 'ref'> & { close(): void }

/**
 * Removes lock files that no living process holds, by their paths in the repository. The requesting process holds none.
 */
export type RemoveStaleLocks = (directory: string, paths: string[], asking: number | undefined) => Promise<void>

/** The refs that can be pushed (GH-19). */
export const WRITABLE = ['refs/heads', 'refs/notes', 'refs/tags']
/** The refs that the service manages itself. */
const INTERNAL_REFS = ['refs/merge-requests', 'refs/keep-around', 'refs/roost']

const isBelow = (prefixes: string[], ref: string) => prefixes.some((prefix) => ref.startsWith(`${prefix}/`))

/** The configuration of `git receive-pack`. */
export const RECEIVE_CONFIG = [
  ...configOptions({
    'core.fsync': 'committed,loose-object,reference',
    'core.filesRefLockTimeout': '5000',
    'core.packedRefsTimeout': '10000',
    'core.bigFileThreshold': '50m',
    // git rejects updates of hidden refs one by one and executes the rest of the push (GH-18)
    'receive.hideRefs': 'refs',
  }),
  ...WRITABLE.flatMap((prefix) => ['-c', `receive.hideRefs=!${prefix}`]),
  ...configOptions({
    'receive.autogc': 'false',
    'receive.updateServerInfo': 'false',
    'receive.unpackLimit': '1',
    'receive.advertiseAtomic': 'true',
    'receive.advertisePushOptions': 'true',
    'receive.denyCurrentBranch': 'ignore',
    'receive.denyDeleteCurrent': 'ignore',
    'receive.denyDeletes': 'false',
    'receive.denyNonFastForwards': 'false',
    'receive.fsckObjects': 'true',
  }),
]

/** Each is a line of git's configuration; with more refused names the whole push is refused. */
const MAX_REFUSED_NAMES = 500

/** One push into a repository. */
interface Push {
  transport: { pool: ProcessPool; limits: TransportLimits; removeStaleLocks: RemoveStaleLocks }
  directory: string
  hooks: string
  request: TransportRequest
  policy: PushPolicy
  openWith: OpenWith
}

/**
 * Runs `git receive-pack` and answers its hooks. If the client disconnects before the verdict, git is killed;
 * afterwards a disconnect has no effect.
 */
export async function receivePack(push: Push): Promise<void> {
  const { directory } = push
  const { out, signal } = push.request
  const head = await readHead(push.request.body, signal, push.transport.limits.commands)
  const { body, atomic, sideband, commands, options } = head
  if (options === 'too many') {
    body.resume()
    return void out.end(refusalOf(head))
  }
  const refusedNames = commands.filter((command) => push.policy.nameFault?.(command)).map(({ ref }) => ref)
  const hidden = new Set(refusedNames.slice(0, MAX_REFUSED_NAMES))
  const child = await start(push, hidden)
  const channel: HookChannel = new HookChannel(child, directory, push.transport.limits.commands, {
    preReceive: (commands, quarantine) => verdictOn(push, commands, { quarantine, atomic, hidden, pid: child.pid, options }),
    postReceive: (commands) => reportMoved(push, channel, commands),
  })
  const abandon = () => {
    if (channel.accepted) return
    channel.abandoned = true
    stop(child)
  }
  if (signal.aborted) abandon()
  signal.addEventListener('abort', abandon, { once: true })
  const guard = new PackGuard(push.transport.limits)
  pipeInput(body, child, abandon, guard)
  try {
    await relay(child, out, 'receive-pack', {
      onDisconnect: abandon,
      checkExitCode: true,
      transform: sideband ? (chunks) => explained(chunks, guard) : undefined,
    })
  } finally {
    signal.removeEventListener('abort', abandon)
    await channel.ended()
    if (channel.quarantine !== undefined && isInside(directory, channel.quarantine)) await rm(channel.quarantine, { recursive: true, force: true })
    if (channel.accepted && !channel.reported) await reportUnreported(push, channel, channel.accepted)
  }
  if (channel.fault) throw channel.fault
}

function start({ transport: { pool, limits }, directory, hooks, request }: Push, hidden: Set<string>): Promise<GitProcess> {
  const args = [
    ...RECEIVE_CONFIG,
    ...[...hidden].flatMap((ref) => ['-c', `receive.hideRefs=${ref}`]),
    ...toleratedFsckConfig('receive'),
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
  options: string[]
  /** Undefined for a push without objects. */
  quarantine: string | undefined
  atomic: boolean
  /** Refs that git refuses because of their names. */
  hidden: Set<string>
  /** The pid of git, which holds no ref locks yet. */
  pid: number | undefined
}

async function verdictOn(push: Push, commands: PushCommand[], { options, quarantine, atomic, hidden, pid }: PreReceive): Promise<Verdict> {
  const { directory, policy, openWith } = push
  const { pool, removeStaleLocks, limits } = push.transport
  const { objectBytes, deadline } = limits
  if (quarantine !== undefined && !isInside(directory, quarantine))
    throw new GitFault('receive-pack', null, 'the quarantine is not in the repository')
  const faults = commands.map((command) => singleFault(command, hidden, policy))
  const writable = commands.filter((_, i) => faults[i] === null)
  const lines = refusalLines(faults.filter((fault) => fault !== null))
  // git would execute the rest of an atomic push
  if (lines.length > 0 && atomic) return lines.join('\n')
  if (writable.length === 0) return { accepted: [], lines }
  const env = quarantine === undefined ? undefined : quarantineEnvironment(directory, quarantine)
  const { fault, pointerCandidates } = env ? await checkObjects({ pool, directory, env, objectBytes, deadline }) : NO_OBJECTS
  if (fault !== null) return fault
  const reader = openWith(env ?? {})
  const newPointers = () => pointersAmong({ pool, directory, env, deadline }, pointerCandidates)
  const refusal = await policy.verdict(writable, { ...reader, newPointers }, options).finally(() => reader.close())
  if (refusal !== null) return refusal
  if (quarantine !== undefined) await linkQuarantinedPacks(quarantine, directory)
  // a lock left by a killed process would fail this push and all later ones
  await removeStaleLocks(directory, ['packed-refs.lock', ...writable.map(({ ref }) => `${ref}.lock`)], pid)
  return { accepted: writable, lines }
}

/** The environment in which git reads the repository together with the objects of a quarantine. */
const quarantineEnvironment = (directory: string, quarantine: string) => ({
  GIT_OBJECT_DIRECTORY: quarantine,
  GIT_ALTERNATE_OBJECT_DIRECTORIES: join(directory, 'objects'),
  GIT_QUARANTINE_PATH: quarantine,
})

/** Answers the post-receive hook: syncs the moved refs and notifies the policy. */
async function reportMoved({ directory, policy }: Push, channel: HookChannel, commands: PushCommand[]): Promise<void> {
  await syncRefs(
    directory,
    commands.map(({ ref }) => ref),
  )
  channel.show(await policy.moved(commands))
}

/** If git ended before its post-receive hook, finds out what moved by reading the refs. */
async function reportUnreported(push: Push, channel: HookChannel, accepted: PushCommand[]): Promise<void> {
  const reader = push.openWith({})
  const values = await Promise.all(accepted.map(({ ref }) => reader.ref(ref))).finally(() => reader.close())
  const done = accepted.filter((command, i) => (values[i] ?? '0'.repeat(40)) === command.new && command.new !== command.old)
  if (done.length > 0) await reportMoved(push, channel, done)
}

/** The check result of a push without objects, such as a deletion. */
const NO_OBJECTS = { fault: null, pointerCandidates: [] }

/**
 * Links the packs of a quarantine into the repository and syncs their directory entries before a ref moves: git links
 * them later and never syncs the entries, so a power loss could leave a ref without its objects (SEC-157). Git accepts
 * files that are already there.
 *
 * The `.keep` files that git puts beside the packs until the refs have moved are left out: a repack that sees one after
 * choosing which packs to join omits that pack's objects and still removes the pack (not fixed in any git so far;
 * gitgitgadget/git#2219). Our repacks drop no recent unreachable objects, so the packs need no protection.
 */
async function linkQuarantinedPacks(quarantine: string, directory: string): Promise<void> {
  const [from, to] = [join(quarantine, 'pack'), join(directory, 'objects', 'pack')]
  const order = ['.pack', '.rev', '.idx'] // the index comes last: readers see a pack only once it has one
  const files = (await readdir(from).catch(() => [] as string[])).filter((name) => /^pack-[0-9a-f]{40}\.(pack|rev|idx|keep)$/.test(name))
  for (const name of files.filter((each) => each.endsWith('.keep'))) await rm(join(from, name), { force: true })
  const names = files.filter((each) => !each.endsWith('.keep'))
  const linkAll = async (ending: string) => {
    for (const name of names.filter((each) => each.endsWith(ending)))
      await link(join(from, name), join(to, name)).catch((error: NodeJS.ErrnoException) => {
        if (error.code !== 'EEXIST') throw error
      })
  }
  for (const ending of order) await linkAll(ending)
  // a pack that a killed push had left without its index may have been removed before the index came
  await linkAll('.pack')
  if (names.length > 0) await syncDirectory(to)
}

/** Maximum number of rejected refs that are listed by name. */
const MAX_NAMED_REFS = 20

/** Why one command is refused alone; null if it is not. */
function singleFault(command: PushCommand, hidden: Set<string>, policy: PushPolicy): string | null {
  const { ref } = command
  // what git does not refuse is for the verdict on the whole push
  if (isBelow(WRITABLE, ref)) return hidden.has(ref) ? (policy.nameFault?.(command) ?? null) : null
  return `${ref}: ${isBelow(INTERNAL_REFS, ref) ? 'such refs are kept by the service itself' : 'only branches, tags and notes can be pushed'}.`
}

/** Messages to the user about rejected commands. */
function refusalLines(faults: string[]): string[] {
  const lines = faults.slice(0, MAX_NAMED_REFS)
  return faults.length > MAX_NAMED_REFS ? [...lines, `${faults.length - MAX_NAMED_REFS} more refs are refused.`] : lines
}

/** The commands of a push must come within this many bytes: 10,000 with long names. */
const MAX_HEAD_BYTES = 4_194_304
const MAX_LINE_BYTES = 8_192
/** The longest packet. */
const MAX_PACKET_BYTES = 65_520
/** Limits of the options of a push (PO-2). Git gives them to its hooks as environment variables. */
const MAX_OPTIONS = 100
const MAX_OPTION_BYTES = 65_536

interface PushHead {
  /** Whether the push is atomic, which git does not tell its hooks; a push that cannot be parsed counts as atomic. */
  atomic: boolean
  /** Whether the answer is in packets that may also carry messages for the user. */
  sideband: boolean
  /** Whether the answer says what became of each command. */
  reports: boolean
  commands: PushCommand[]
  options: string[] | 'too many'
}

/** The head of a push that cannot be parsed. */
const OTHER_HEAD: PushHead = { atomic: true, sideband: false, reports: false, commands: [], options: [] }

/** Reads the commands and options of a push. The returned body is complete from its beginning. */
async function readHead(given: Readable, signal: AbortSignal, limit: number): Promise<PushHead & { body: Readable }> {
  const chunks: Buffer[] = []
  const commands = new PacketList(MAX_LINE_BYTES)
  const options = new PacketList(MAX_PACKET_BYTES)
  let list = commands
  let head = OTHER_HEAD
  let rest: Buffer = Buffer.alloc(0)
  let size = 0
  for (;;) {
    const chunk = await nextOf(given, signal)
    if (chunk === null) break
    chunks.push(chunk)
    size += chunk.length
    rest = list.take(Buffer.concat([rest, chunk]))
    if (list === commands && commands.state === 'complete') {
      const { takesOptions, ...parsed } = headOf(commands.packets, limit)
      head = parsed
      if (!takesOptions) break
      list = options
      rest = options.take(rest)
    }
    if (list === options) head = { ...head, options: optionsIn(options.packets) }
    if (list.state !== 'incomplete' || head.options === 'too many') break
    if (list === commands && size > MAX_HEAD_BYTES) break
  }
  if (options.state === 'other') head = OTHER_HEAD
  const read = Buffer.concat(chunks)
  const body = given.readableEnded ? Readable.from(read.length > 0 ? [read] : []) : given
  if (body === given && read.length > 0 && !body.destroyed) body.unshift(read)
  return { ...head, body }
}

/** The packets up to a flush. */
class PacketList {
  packets: Buffer[] = []
  state: 'incomplete' | 'complete' | 'other' = 'incomplete'

  constructor(readonly maxBytes: number) {}

  /** Takes the complete packets of the data; returns what is left of it. */
  take(data: Buffer): Buffer {
    let at = 0
    while (at + 4 <= data.length) {
      const digits = data.toString('latin1', at, at + 4)
      const length = /^[0-9a-f]{4}$/i.test(digits) ? Number.parseInt(digits, 16) : -1
      if (length === 0) this.state = 'complete'
      if (length === 0) return data.subarray(at + 4)
      if (length <= 4 || length > this.maxBytes) this.state = 'other'
      if (this.state === 'other' || at + length > data.length) break
      this.packets.push(data.subarray(at + 4, at + length))
      at += length
    }
    return data.subarray(at)
  }
}

/** The first line has the capabilities after a NUL. Of a push with too many commands, which is refused as a whole, the first are read. */
function headOf(packets: Buffer[], limit: number): PushHead & { takesOptions: boolean } {
  const own = packets.filter((packet) => packet.toString('latin1', 0, 8) !== 'shallow ')
  const lines = own.slice(0, limit + 1).map((packet) => packet.toString('latin1'))
  const capabilities = lines[0]?.split('\0')[1]?.split(/[ \n]/) ?? []
  const has = (name: string) => capabilities.includes(name)
  return {
    atomic: has('atomic'),
    sideband: has('side-band-64k'),
    reports: has('report-status') || has('report-status-v2'),
    commands: lines.map((line) => commandOf(line.split('\0', 1)[0] ?? '')),
    options: [],
    takesOptions: has('push-options'),
  }
}

function optionsIn(packets: Buffer[]): PushHead['options'] {
  const bytes = packets.reduce((sum, packet) => sum + packet.length, 0)
  if (packets.length > MAX_OPTIONS || bytes > MAX_OPTION_BYTES) return 'too many'
  return packets.map((packet) => packet.toString().split('\0', 1)[0]?.replace(/\n$/, '') ?? '')
}

/** The answer to a push with too many options, as git would give it. */
function refusalOf({ commands, sideband, reports }: PushHead): Buffer {
  const lines = ['unpack ok', ...commands.map(({ ref }) => `ng ${ref} too many push options`)]
  const report = reports ? lines.map((line) => pktLine(`${Buffer.from(line).toString('latin1')}\n`)).join('') + FLUSH : ''
  if (!sideband) return Buffer.from(report, 'latin1')
  const parts = [`\x02A push may have at most ${MAX_OPTIONS} options with ${MAX_OPTION_BYTES} bytes together.\n`]
  for (let at = 0; at < report.length; at += MAX_REPORT_PART) parts.push(`\x01${report.slice(at, at + MAX_REPORT_PART)}`)
  return Buffer.from(parts.map(pktLine).join('') + FLUSH, 'latin1')
}

/** What one packet of an answer can hold, without its header. */
const MAX_REPORT_PART = 65_000

/** Tells the user why a pack was cut off, before git says that it is incomplete. */
async function* explained(chunks: AsyncIterable<Buffer>, guard: PackGuard): AsyncIterable<Buffer> {
  let begun = false
  for await (const chunk of chunks) {
    if (!begun && guard.fault !== null) yield Buffer.from(pktLine(`\x02${guard.fault}\n`))
    begun = true
    yield chunk
  }
}

/** Guards the removal of a quarantine: nothing outside the object directory may be removed. */
const isInside = (directory: string, path: string) => path.startsWith(join(directory, 'objects', '/'))
