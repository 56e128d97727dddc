import { finished, Readable } from 'node:stream'
import { GitFault, gitFailure } from '../errors.js'
import { BatchProcess, type Exchange } from '../process/batch-process.js'
import type { ProcessPool } from '../process/pool.js'
import { kill } from '../process/spawner.js'
import type { Oid } from '../types.js'

export type ObjectType = 'commit' | 'tree' | 'blob' | 'tag'
export interface ObjectInfo {
  oid: Oid
  type: ObjectType
  size: number
}
export interface GitObject extends ObjectInfo {
  content: Buffer
}

/** Larger objects are not read through the shared process, because one slow response delays all that follow. */
const MAX_SHARED_BYTES = 1_048_576
const OID = /^[0-9a-f]{40}$/

/**
 * Whether a string is a full object id. Only ids and prefixes of them ever reach the process, so no input can break its
 * line protocol.
 */
export const isOid = (text: string): text is Oid => OID.test(text)

/**
 * Reads the objects of one repository through `git cat-file --batch-command`. New pushes and repacks are visible,
 * because git rescans the packs when an object is missing.
 */
export class CatFile {
  readonly batchProcess: BatchProcess

  constructor(
    readonly pool: ProcessPool,
    readonly directory: string,
    readonly env?: NodeJS.ProcessEnv,
  ) {
    // an abbreviated id refers to commits only
    const args = ['-c', 'core.disambiguate=commit', '-c', 'core.warnAmbiguousRefs=false', 'cat-file', '--batch-command', '--buffer']
    this.batchProcess = new BatchProcess(() => pool.start(directory, args, { env, deadline: 0 }), pool.limits.deadline, 'flush\n')
  }

  /** The type and size of an object; null if it does not exist. */
  async info(oid: Oid): Promise<ObjectInfo | null> {
    if (!isOid(oid)) return null
    return this.#info(oid)
  }

  /** Follows a chain of tags to its end; null if the object does not exist. */
  async peel(oid: Oid): Promise<ObjectInfo | null> {
    if (!isOid(oid)) return null
    return this.#info(`${oid}^{}`)
  }

  /** The only commit whose id starts with the given 4 to 39 hex digits; null if there is none or several. */
  async abbreviated(prefix: string): Promise<Oid | null> {
    if (!/^[0-9a-f]{4,39}$/.test(prefix)) return null
    // the lookup of a missing object makes git rescan the packs, so that the abbreviation is checked against all
    // objects
    const [, found] = await Promise.all([this.#info(MISSING_OID), this.#info(prefix)])
    if (found && !found.oid.startsWith(prefix)) return this.#disambiguate(prefix) // a ref has this name
    return found?.type === 'commit' ? found.oid : null
  }

  /** An object with its content; null if it does not exist or is larger than `limit` bytes. */
  async read(oid: Oid, limit = MAX_SHARED_BYTES): Promise<GitObject | null> {
    const info = await this.info(oid)
    if (!info || info.size > limit) return null
    if (info.size > MAX_SHARED_BYTES) return { ...info, content: await this.#large(info) }
    return this.#contents(oid, info.size)
  }

  /** Like `read`, but of a large commit only the first `bytes`, unless its headers are longer. */
  async readCommitStart(oid: Oid, bytes: number, limit: number): Promise<GitObject | null> {
    const info = await this.info(oid)
    if (info?.type !== 'commit' || info.size > limit) return null
    if (info.size <= MAX_SHARED_BYTES) return this.#contents(oid, info.size)
    const content = (await this.#large(info, bytes)).subarray(0, bytes)
    return { ...info, content: content.includes('\n\n') ? content : await this.#large(info) }
  }

  /** Like `read`, but without a size check. Only for commits and trees whose ids come from other objects. */
  async readKnown(oid: Oid): Promise<GitObject | null> {
    if (!isOid(oid)) return null
    return this.#contents(oid, 4_096)
  }

  /**
   * A blob's content as a stream; a large one gets a separate process and a slot in the pool, so that a slow reader
   * delays no other reads.
   */
  async stream(info: ObjectInfo, signal?: AbortSignal): Promise<Readable> {
    if (info.size <= MAX_SHARED_BYTES) {
      const object = await this.#contents(info.oid, info.size)
      return Readable.from(object && object.size > 0 ? [object.content] : [], { objectMode: false })
    }
    const release = await this.pool.acquire(this.directory, signal)
    try {
      const child = await this.pool.start(this.directory, ['cat-file', info.type, info.oid], {
        env: this.env,
        signal,
        deadline: 0,
        stdio: ['ignore', 'pipe', 'ignore'],
      })
      void child.closed.then(release)
      const stdout = child.stdout as Readable
      const relay = async function* () {
        for await (const chunk of stdout) {
          timer.refresh()
          yield chunk as Buffer
        }
        const code = await child.exited
        if (code !== 0) throw gitFailure('cat-file', code, 'ended early')
      }
      const stream = Readable.from(relay(), { objectMode: false })
      // the deadline restarts with each chunk that is read
      const timer = setTimeout(() => stream.destroy(new GitFault('cat-file', null, 'stalled')), this.pool.limits.deadline)
      finished(stream, () => {
        clearTimeout(timer)
        stdout.destroy()
        kill(child)
      })
      return stream
    } catch (fault) {
      release()
      throw fault
    }
  }

  /** Ends the process when all requests are answered. */
  retire() {
    this.batchProcess.retire()
  }

  async #info(name: string): Promise<ObjectInfo | null> {
    const exchange = new CatFileExchange(`info ${name}\n`, 128, false)
    await this.batchProcess.ask(exchange)
    return exchange.info
  }

  async #contents(oid: Oid, size: number): Promise<GitObject | null> {
    const exchange = new CatFileExchange(`contents ${oid}\n`, size, true)
    await this.batchProcess.ask(exchange)
    return exchange.info && { ...exchange.info, content: exchange.content }
  }

  async #large({ type, oid, size }: ObjectInfo, maxBytes = size): Promise<Buffer> {
    return (await this.pool.run(this.directory, ['cat-file', type, oid], { ...(this.env && { env: this.env }), maxBytes })).stdout
  }

  async #disambiguate(prefix: string): Promise<Oid | null> {
    const { stdout } = await this.pool.run(this.directory, ['rev-parse', `--disambiguate=${prefix}`], { ...(this.env && { env: this.env }) })
    const infos = await Promise.all(
      stdout
        .toString('latin1')
        .split('\n')
        .filter(isOid)
        .map((oid) => this.#info(oid)),
    )
    const commits = infos.filter((info) => info?.type === 'commit')
    return commits.length === 1 ? (commits[0]?.oid ?? null) : null
  }
}

const MISSING_OID = 'f'.repeat(40)

/** Parses `<oid> <type> <size>`, followed by the content if requested, or a line saying that the object is missing. */
class CatFileExchange implements Exchange {
  info: ObjectInfo | null = null
  content: Buffer = Buffer.alloc(0)
  #header = ''
  #chunks: Buffer[] = []
  /** Bytes still expected, including the newline after the content; negative before the header is complete. */
  #remaining = -1

  constructor(
    readonly input: string,
    readonly expectedBytes: number,
    readonly withContent: boolean,
  ) {}

  consume(chunk: Buffer): Buffer | null {
    let rest = chunk
    if (this.#remaining < 0) {
      const end = rest.indexOf(0x0a)
      this.#header += rest.toString('latin1', 0, end < 0 ? rest.length : end)
      if (end < 0) return null
      rest = rest.subarray(end + 1)
      const [, oid, type, size] = /^([0-9a-f]{40}) (commit|tree|blob|tag) (\d+)$/.exec(this.#header) ?? []
      this.info = oid ? { oid, type: type as ObjectType, size: Number(size) } : null
      if (!this.info || !this.withContent) return rest
      this.#remaining = this.info.size + 1
    }
    const part = rest.subarray(0, this.#remaining)
    this.#chunks.push(part)
    this.#remaining -= part.length
    if (this.#remaining > 0) return null
    this.content = (this.#chunks.length === 1 ? part : Buffer.concat(this.#chunks)).subarray(0, -1)
    // small responses share a chunk of output: copy, so that keeping one does not keep the chunk
    if (this.#chunks.length === 1 && part.length * 4 < part.buffer.byteLength) this.content = Buffer.from(this.content)
    this.#chunks = []
    return rest.subarray(part.length)
  }

  reset() {
    this.info = null
    this.#header = ''
    this.#chunks = []
    this.#remaining = -1
  }
}
