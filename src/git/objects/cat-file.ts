import { finished, Readable } from 'node:stream'
import { GitFault } from '../errors.js'
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

/** Bytes from which on objects are not read through the shared process: one slow answer delays all that follow. */
const SHARED = 1_048_576
const OID = /^[0-9a-f]{40}$/

/**
 * Whether a text is a full object id; only these, and prefixes of them, ever reach the process, so no text can break
 * its line protocol.
 */
export const isOid = (text: string): text is Oid => OID.test(text)

/**
 * Reads the objects of one repository through `git cat-file --batch-command`; it sees what was pushed or repacked since
 * it started, because git looks again for what it misses.
 */
export class CatFile {
  readonly batchProcess: BatchProcess

  constructor(
    readonly pool: ProcessPool,
    readonly directory: string,
    readonly env?: NodeJS.ProcessEnv,
  ) {
    // of the objects that an abbreviation may mean, only commits count
    const args = ['-c', 'core.disambiguate=commit', '-c', 'core.warnAmbiguousRefs=false', 'cat-file', '--batch-command', '--buffer']
    this.batchProcess = new BatchProcess(() => pool.start(directory, args, { env, deadline: 0 }), pool.limits.deadline, 'flush\n')
  }

  /** Type and size of an object; null when there is none. */
  async info(oid: Oid): Promise<ObjectInfo | null> {
    if (!isOid(oid)) return null
    return this.#info(oid)
  }

  /** The object at the end of a chain of tags; null when there is none. */
  async peel(oid: Oid): Promise<ObjectInfo | null> {
    if (!isOid(oid)) return null
    return this.#info(`${oid}^{}`)
  }

  /** The only commit whose id starts with these 4 to 39 hex digits. */
  async abbreviated(prefix: string): Promise<Oid | null> {
    if (!/^[0-9a-f]{4,39}$/.test(prefix)) return null
    // a miss makes git look for new packs, which may make an abbreviation ambiguous
    const [, found] = await Promise.all([this.#info(MISSING), this.#info(prefix)])
    if (found && !found.oid.startsWith(prefix)) return this.#disambiguate(prefix) // a ref has that name
    return found?.type === 'commit' ? found.oid : null
  }

  /**
   * An object with its content; null when there is none. For objects known to be small: one above `limit` bytes is not
   * read and is null too.
   */
  async read(oid: Oid, limit = SHARED): Promise<GitObject | null> {
    const info = await this.info(oid)
    if (!info || info.size > limit) return null
    if (info.size > SHARED) return { ...info, content: await this.#large(info) }
    return this.#contents(oid, info.size)
  }

  /** The same without asking for the size first: only for ids found in commits and trees that are not blobs. */
  async readKnown(oid: Oid): Promise<GitObject | null> {
    if (!isOid(oid)) return null
    return this.#contents(oid, 4_096)
  }

  /**
   * A blob's content as a stream; a large one gets a process and a turn in the pool, so a slow reader delays nobody.
   */
  async stream(info: ObjectInfo, signal?: AbortSignal): Promise<Readable> {
    if (info.size <= SHARED) {
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
        if (code !== 0) throw new GitFault('cat-file', code, 'ended early')
      }
      const stream = Readable.from(relay(), { objectMode: false })
      // the deadline counts from the last byte that was read, not from the start
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

  /** Ends the process after everything asked so far. */
  retire() {
    this.batchProcess.retire()
  }

  async #info(name: string): Promise<ObjectInfo | null> {
    const answer = new Answer(`info ${name}\n`, 128, false)
    await this.batchProcess.ask(answer)
    return answer.info
  }

  async #contents(oid: Oid, size: number): Promise<GitObject | null> {
    const answer = new Answer(`contents ${oid}\n`, size, true)
    await this.batchProcess.ask(answer)
    return answer.info && { ...answer.info, content: answer.content }
  }

  async #large({ type, oid, size }: ObjectInfo): Promise<Buffer> {
    return (await this.pool.run(this.directory, ['cat-file', type, oid], { ...(this.env && { env: this.env }), maxBytes: size })).stdout
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

const MISSING = 'f'.repeat(40)

/**
 * Reads `<oid> <type> <size>`, followed by the content when asked for, or a line that says that there is no such
 * object.
 */
class Answer implements Exchange {
  info: ObjectInfo | null = null
  content: Buffer = Buffer.alloc(0)
  #header = ''
  #chunks: Buffer[] = []
  /** Bytes still to come, including the newline after the content; negative while the header is being read. */
  #left = -1

  constructor(
    readonly input: string,
    readonly expectedBytes: number,
    readonly withContent: boolean,
  ) {}

  consume(chunk: Buffer): Buffer | null {
    let rest = chunk
    if (this.#left < 0) {
      const end = rest.indexOf(0x0a)
      this.#header += rest.toString('latin1', 0, end < 0 ? rest.length : end)
      if (end < 0) return null
      rest = rest.subarray(end + 1)
      const [, oid, type, size] = /^([0-9a-f]{40}) (commit|tree|blob|tag) (\d+)$/.exec(this.#header) ?? []
      this.info = oid ? { oid, type: type as ObjectType, size: Number(size) } : null
      if (!this.info || !this.withContent) return rest
      this.#left = this.info.size + 1
    }
    const part = rest.subarray(0, this.#left)
    this.#chunks.push(part)
    this.#left -= part.length
    if (this.#left > 0) return null
    this.content = (this.#chunks.length === 1 ? part : Buffer.concat(this.#chunks)).subarray(0, -1)
    // small answers share a chunk of output: keeping one must not keep all
    if (this.#chunks.length === 1 && part.length * 4 < part.buffer.byteLength) this.content = Buffer.from(this.content)
    this.#chunks = []
    return rest.subarray(part.length)
  }

  reset() {
    this.info = null
    this.#header = ''
    this.#chunks = []
    this.#left = -1
  }
}
