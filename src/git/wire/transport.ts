import type { Writable } from 'node:stream'
import { GitFault, RepositoryMissing } from '../errors.js'
import { configOptions } from '../process/config-options.js'
import type { ProcessPool } from '../process/pool.js'
import type { PackedRefsCache } from '../refs/packed-refs.js'
import { RefStore } from '../refs/ref-store.js'
import { presence } from '../storage/create.js'
import { registerWriter } from '../storage/gates.js'
import type { PushPolicy, Service, TransportRequest } from '../types.js'
import { advertisedRefs, FLUSH, pktLine, protocolVersion, SERVICE_REFS, writeChunks } from './advertisement.js'
import { ARCHIVE_CONFIG, NO_OTHER_PROGRAMS } from './archive.js'
import { installHooks } from './hooks.js'
import { TRANSPORT_LIMITS, type TransportLimits } from './limits.js'
import { answerLsRefs, type Peel, readLsRefs } from './ls-refs.js'
import { type OpenWith, RECEIVE_CONFIG, type RemoveStaleLocks, receivePack, WRITABLE } from './receive-pack.js'
import { pipeInput, relay, stop, waitForExit } from './relay.js'
import { ArchiveOutput, archiveRefusal } from './upload-archive.js'

/** The configuration of `git upload-pack`; hides internal refs (SEC-86). */
const UPLOAD_CONFIG = [
  ...SERVICE_REFS.flatMap((prefix) => ['-c', `transfer.hideRefs=${prefix}`]),
  ...configOptions({
    'uploadpack.allowFilter': 'true',
    // only filters that cost no more than a full clone: others depend on paths or walk trees
    'uploadpackfilter.allow': 'false',
    'uploadpackfilter.blob:none.allow': 'true',
    'uploadpackfilter.blob:limit.allow': 'true',
    'uploadpackfilter.tree.allow': 'true',
    'uploadpackfilter.tree.maxDepth': '0',
  }),
]

/** With hidden refs there are no partial clones: they fetch single objects, which older protocols do not serve. */
const hidingConfig = (hidden: string[]) =>
  hidden.length === 0 ? [] : ['-c', 'uploadpack.allowFilter=false', ...hidden.flatMap((prefix) => ['-c', `transfer.hideRefs=${prefix}`])]

/**
 * The version of the protocol to speak. In version 2 git serves any object by its hash, in the others only what visible
 * refs reach (GH-28).
 */
const versionFor = (protocol: string | undefined, hidden: string[]) => {
  const version = protocolVersion(protocol)
  return version === 2 && hidden.length > 0 ? 0 : version
}

/**
 * Serves fetches and pushes as streams of the wire protocol. Use a separate pool: a clone occupies its slot for as long
 * as it takes.
 */
export class Transport {
  #uploadCapabilities: Promise<Buffer> | undefined
  #receiveCapabilities: Promise<string> | undefined

  constructor(
    readonly pool: ProcessPool,
    /** A directory that only the service can write to, for the hooks. */
    readonly hooksParent: string,
    readonly packed: PackedRefsCache,
    readonly limits: TransportLimits = TRANSPORT_LIMITS,
    readonly removeStaleLocks: RemoveStaleLocks = async () => {},
  ) {}

  /** Writes the response to `info/refs`. For protocol 2 it does not depend on the repository and is cached. */
  async advertise(directory: string, service: Service, { out, protocol, duplex, signal, holder, hiddenRefs }: Omit<TransportRequest, 'body'>) {
    const hidden = await this.#existing(directory, service === 'git-upload-pack' ? hiddenRefs : [])
    const version = versionFor(protocol, hidden)
    if (service === 'git-upload-pack' && version === 2) {
      this.#uploadCapabilities ??= this.#readUploadCapabilities(directory)
      this.#uploadCapabilities.catch(() => {
        this.#uploadCapabilities = undefined
      })
      out.end(await this.#uploadCapabilities)
      return
    }
    const { stall, deadline } = this.limits
    const prefix = duplex ? '' : pktLine(`# service=${service}\n`) + FLUSH
    if (service === 'git-receive-pack') return this.#advertiseForPush(directory, out, version === 1 ? prefix + pktLine('version 1\n') : prefix)
    const release = await this.pool.acquire(directory, signal, holder)
    try {
      const env = version === 1 ? { GIT_PROTOCOL: 'version=1' } : {}
      const args = [...UPLOAD_CONFIG, ...hidingConfig(hidden), 'upload-pack', '--stateless-rpc', '--http-backend-info-refs', '.']
      const child = await this.pool.start(directory, args, { env, signal, deadline, stdio: ['ignore', 'pipe', 'pipe'] })
      await relay(child, out, service, { prefix, stall })
    } finally {
      release()
    }
  }

  async #advertiseForPush(directory: string, out: Writable, prefix: string) {
    if (presence(directory) !== 'readable') throw new RepositoryMissing()
    this.#receiveCapabilities ??= this.#readReceiveCapabilities(directory)
    this.#receiveCapabilities.catch(() => {
      this.#receiveCapabilities = undefined
    })
    const refs = new RefStore(directory, this.packed)
    await writeChunks(advertisedRefs(refs, { prefixes: WRITABLE, capabilities: await this.#receiveCapabilities, prefix }), out, this.limits.stall)
  }

  /** In protocol 2, `ls-refs` is answered without a git process if possible; fetches run git. */
  async uploadPack(directory: string, request: TransportRequest, peel: Peel): Promise<boolean> {
    const hidden = await this.#existing(directory, request.hiddenRefs)
    if (request.duplex || versionFor(request.protocol, hidden) !== 2) {
      await this.#runUploadPack(directory, request, hidden)
      return true
    }
    const { request: lsRefs, body } = await readLsRefs(request.body)
    if (lsRefs) {
      if (presence(directory) !== 'readable') throw new RepositoryMissing()
      const answer = await answerLsRefs(new RefStore(directory, this.packed), lsRefs, peel)
      if (answer) {
        await writeChunks(answer, request.out, this.limits.stall)
        return false
      }
    }
    await this.#runUploadPack(directory, { ...request, body }, hidden)
    return !lsRefs
  }

  /** Those of the prefixes below which there are refs. */
  async #existing(directory: string, prefixes: readonly string[] = []): Promise<string[]> {
    const refs = new RefStore(directory, this.packed)
    const found = await Promise.all(prefixes.map(async (prefix) => ((await refs.page(`${prefix}/`, 0, 1)).total > 0 ? [prefix] : [])))
    return found.flat()
  }

  async #runUploadPack(directory: string, { body, out, protocol, duplex = false, outlet, signal, holder }: TransportRequest, hidden: string[]) {
    const release = await this.pool.acquire(directory, signal, holder)
    try {
      const version = versionFor(protocol, hidden)
      const child = await this.pool.start(
        directory,
        [...UPLOAD_CONFIG, ...hidingConfig(hidden), 'upload-pack', '--strict', ...(duplex ? [] : ['--stateless-rpc']), '.'],
        {
          env: version > 0 ? { GIT_PROTOCOL: `version=${version}` } : {},
          signal,
          deadline: this.limits.deadline,
          stdio: ['pipe', outlet ? { path: outlet.path, greeting: outlet.greeting } : 'pipe', 'pipe'],
        },
      )
      pipeInput(body, child, () => stop(child))
      outlet?.opened()
      if (outlet) await waitForExit(child, 'upload-pack', signal)
      else await relay(child, out, 'upload-pack', { stall: this.limits.stall, input: body, checkExitCode: duplex })
    } finally {
      release()
    }
  }

  /** Runs in the pool for archives. Serves only what a ref names, and git starts no other program (SEC-85). */
  async uploadArchive(pool: ProcessPool, directory: string, { body, out, signal, holder, hiddenRefs = [] }: TransportRequest) {
    const refusal = await archiveRefusal(body, signal, [...SERVICE_REFS, ...hiddenRefs])
    if (refusal) return void out.end(pktLine(`NACK ${refusal}\n`))
    const release = await pool.acquire(directory, signal, holder)
    try {
      const child = await pool.start(directory, [...ARCHIVE_CONFIG, 'upload-archive', '.'], {
        env: NO_OTHER_PROGRAMS,
        signal,
        deadline: this.limits.deadline,
      })
      pipeInput(body, child, () => stop(child))
      const output = new ArchiveOutput()
      const options = {
        stall: this.limits.stall,
        input: body,
        checkExitCode: true,
        transform: (chunks: AsyncIterable<Buffer>) => output.withoutErrors(chunks),
      }
      await relay(child, out, 'upload-archive', options).catch((error: unknown) => {
        throw error instanceof GitFault && output.fault ? new GitFault('upload-archive', error.exitCode, output.fault) : error
      })
    } finally {
      release()
    }
  }

  /**
   * After a positive verdict, a disconnect has no effect: refs move and `moved` is called. Throws RepositoryMoving
   * before anything is read while the repository is moving to another storage.
   */
  async receivePack(directory: string, request: TransportRequest, policy: PushPolicy, openWith: OpenWith) {
    const hooks = await installHooks(this.hooksParent)
    const release = await this.pool.acquire(directory, request.signal, request.holder)
    try {
      const leave = await registerWriter(directory)
      try {
        await receivePack({ transport: this, directory, hooks, request, policy, openWith })
      } finally {
        await leave()
      }
    } finally {
      release()
    }
  }

  async #readUploadCapabilities(directory: string) {
    const args = [...UPLOAD_CONFIG, 'upload-pack', '--stateless-rpc', '--http-backend-info-refs', '.']
    return (await this.pool.run(directory, args, { env: { GIT_PROTOCOL: 'version=2' } })).stdout
  }

  /** The capabilities of `git receive-pack`, which depend only on git and our configuration. */
  async #readReceiveCapabilities(directory: string): Promise<string> {
    const hidden = ['-c', 'receive.hideRefs=refs']
    const { stdout } = await this.pool.run(directory, [
      ...RECEIVE_CONFIG,
      ...hidden,
      'receive-pack',
      '--stateless-rpc',
      '--http-backend-info-refs',
      '.',
    ])
    const [, capabilities] = /^[^\0]*\0([^\n]*)\n/.exec(stdout.toString('latin1')) ?? []
    if (capabilities === undefined) throw new GitFault('receive-pack', 0, 'it advertised no capabilities')
    return capabilities
  }
}
