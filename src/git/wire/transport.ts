import type { Writable } from 'node:stream'
import { GitFault, RepositoryMissing } from '../errors.js'
import type { ProcessPool } from '../process/pool.js'
import type { PackedRefsCache } from '../refs/packed-refs.js'
import { RefStore } from '../refs/ref-store.js'
import { presence } from '../storage/create.js'
import { enter } from '../storage/gates.js'
import type { PushPolicy, Service, TransportRequest } from '../types.js'
import { advertisedRefs, FLUSH, packetLine, protocolVersion, writePieces } from './advertisement.js'
import { ALONE, ARCHIVE_CONFIG } from './archive.js'
import { installHooks } from './hooks.js'
import { TRANSPORT_LIMITS, type TransportLimits } from './limits.js'
import { answerLsRefs, type Peel, readLsRefs } from './ls-refs.js'
import { type OpenWith, RECEIVE_CONFIG, receivePack, type Unlock, WRITABLE } from './receive-pack.js'
import { ended, feed, relay, stop } from './relay.js'

/**
 * What git advertises and accepts; the service's own refs cannot be written, and the hidden ones cannot be seen
 * (SEC-86).
 */
const UPLOAD_CONFIG = [
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

/**
 * Fetches and pushes, as streams of the stateless wire protocol. Use a pool of its own: a clone keeps its turn for as
 * long as it takes.
 */
export class Transport {
  #uploadCapabilities: Promise<Buffer> | undefined
  #receiveCapabilities: Promise<string> | undefined

  constructor(
    readonly pool: ProcessPool,
    /** A folder that only we can write to; the hooks are put there. */
    readonly hooksParent: string,
    readonly packed: PackedRefsCache,
    readonly limits: TransportLimits = TRANSPORT_LIMITS,
    readonly unlock: Unlock = async () => {},
  ) {}

  /** Writes the answer to `info/refs`. For protocol 2 it does not depend on the repository, so it is made once. */
  async advertise(directory: string, service: Service, { out, protocol, duplex, signal, holder }: Omit<TransportRequest, 'body'>) {
    const version = protocolVersion(protocol)
    if (service === 'git-upload-pack' && version === 2) {
      this.#uploadCapabilities ??= this.#readUploadCapabilities(directory)
      this.#uploadCapabilities.catch(() => {
        this.#uploadCapabilities = undefined
      })
      out.end(await this.#uploadCapabilities)
      return
    }
    const { stall, deadline } = this.limits
    const prefix = duplex ? '' : packetLine(`# service=${service}\n`) + FLUSH
    if (service === 'git-receive-pack') return this.#advertiseForPush(directory, out, version === 1 ? prefix + packetLine('version 1\n') : prefix)
    const release = await this.pool.acquire(directory, signal, holder)
    try {
      const env = version === 1 ? { GIT_PROTOCOL: 'version=1' } : {}
      const args = [...UPLOAD_CONFIG, 'upload-pack', '--stateless-rpc', '--http-backend-info-refs', '.']
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
    await writePieces(
      advertisedRefs(refs, { prefixes: WRITABLE, capabilities: await this.#receiveCapabilities, before: prefix }),
      out,
      this.limits.stall,
    )
  }

  /** In protocol 2 a call asks for refs or for objects; the former are listed without a git process. */
  async uploadPack(directory: string, request: TransportRequest, peel: Peel) {
    if (request.duplex || protocolVersion(request.protocol) !== 2) return this.#runUploadPack(directory, request)
    const { asked, body } = await readLsRefs(request.body)
    if (asked) {
      if (presence(directory) !== 'readable') throw new RepositoryMissing()
      const answer = await answerLsRefs(new RefStore(directory, this.packed), asked, peel)
      if (answer) return writePieces(answer, request.out, this.limits.stall)
    }
    return this.#runUploadPack(directory, { ...request, body })
  }

  async #runUploadPack(directory: string, { body, out, protocol, duplex = false, outlet, signal, holder }: TransportRequest) {
    const release = await this.pool.acquire(directory, signal, holder)
    try {
      const version = protocolVersion(protocol)
      const child = await this.pool.start(directory, [...UPLOAD_CONFIG, 'upload-pack', '--strict', ...(duplex ? [] : ['--stateless-rpc']), '.'], {
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
  async receivePack(directory: string, request: TransportRequest, policy: PushPolicy, openWith: OpenWith) {
    const hooks = await installHooks(this.hooksParent)
    const release = await this.pool.acquire(directory, request.signal, request.holder)
    try {
      const leave = await enter(directory)
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

  /** The capabilities of git's receive-pack, which depend on git and on our configuration only. */
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
    const [, capabilities] = /\0(.*)\n/.exec(stdout.toString('latin1')) ?? []
    if (capabilities === undefined) throw new GitFault('receive-pack', 0, 'it advertised no capabilities')
    return capabilities
  }
}
