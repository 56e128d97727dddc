import { createHash, randomBytes } from 'node:crypto'
import { createReadStream, createWriteStream } from 'node:fs'
import { mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { syncDirectory } from './durable.js'

/** A store of objects by the SHA-256 of their content, in hex. */
export interface ObjectStore {
  /**
   * Reads and checks a body; the object is visible only after `commit`. Throws WrongObject, and leaves nothing behind,
   * if the bytes are not those of `oid` or more than `limit`. The body is never destroyed.
   */
  stage(body: Readable, oid: string, limit: number): Promise<StagedObject>
  /**
   * Like `stage`, for a body whose id is not known yet; also makes its other digests, in hex. `inspect` reads the whole
   * object in a local file, which is there no longer than that; what it throws refuses the object.
   */
  receive(body: Readable, limit: number, digests: readonly Digest[], inspect?: Inspect): Promise<ReceivedObject>
  /** The content, or the inclusive range from `start` to `end`; null if there is no such object. */
  get(oid: string, range?: { start: number; end: number }): Promise<Readable | null>
  /** The size in bytes; null if there is no such object. */
  size(oid: string): Promise<number | null>
  /**
   * Whether this installation owns the store; only then may objects be deleted. A store without an owner is claimed.
   */
  claim(): Promise<boolean>
  /** Throws if the store belongs to another installation. */
  delete(oid: string): Promise<void>
  /** All objects, with the time at which each was stored. */
  list(): AsyncGenerator<{ oid: string; storedAt: number }>
  /** Leftovers of interrupted uploads that have not changed for this many milliseconds. */
  leftovers(unchanged: number): Promise<string[]>
  removeLeftover(name: string): Promise<void>
  close(): void
}

/** A complete object that is not visible yet. */
export interface StagedObject {
  size: number
  /** Stores the object durably; a second call does nothing. */
  commit(): Promise<void>
  /** Must be called at the end: releases temporary resources, and removes the object unless it was committed. */
  discard(): Promise<void>
}

export type Digest = 'md5' | 'sha1' | 'sha512'
export type Inspect = (file: string) => Promise<void>

export interface ReceivedObject extends StagedObject {
  oid: string
  digests: Partial<Record<Digest, string>>
}

export class WrongObject extends Error {
  override name = 'WrongObject'
  constructor(readonly fault: 'digest' | 'size') {
    super(fault === 'size' ? 'the object has more bytes than allowed' : 'the bytes are not those of the object')
  }
}

const OID = /^[0-9a-f]{64}$/

/** Whether a text is an object id; nothing else ever becomes a path. */
export const isObjectId = (text: unknown): text is string => typeof text === 'string' && OID.test(text)

const nullIfMissing = (error: NodeJS.ErrnoException) => {
  if (error.code !== 'ENOENT') throw error
  return null
}

/** Stores objects in a folder: `ab/cd/` and the rest of the id; incomplete ones are in `incoming/`. */
export function objectFolder(root: string): ObjectStore {
  const incoming = join(root, 'incoming')
  const pathOf = (oid: string) => {
    if (!isObjectId(oid)) throw new Error('no object id')
    return join(root, oid.slice(0, 2), oid.slice(2, 4), oid.slice(4))
  }
  const receive: ObjectStore['receive'] = async (body, limit, digests, inspect) => {
    await mkdir(incoming, { recursive: true, mode: 0o700 })
    const temporary = join(incoming, randomBytes(16).toString('hex'))
    const discard = () => rm(temporary, { force: true })
    try {
      const written = await writeHashed(body, temporary, { limit, digests, flush: true })
      await inspect?.(temporary)
      let committed = false
      return {
        ...written,
        async commit() {
          if (!committed) await moveDurably(temporary, pathOf(written.oid))
          committed = true
        },
        discard,
      }
    } catch (error) {
      await discard()
      throw error
    }
  }
  return {
    async stage(body, oid, limit) {
      pathOf(oid)
      const received = await receive(body, limit, [])
      if (received.oid === oid) return received
      await received.discard()
      throw new WrongObject('digest')
    },
    receive,
    async get(oid, range) {
      const file = await open(pathOf(oid), 'r').catch(nullIfMissing)
      return file && createReadStream('', { fd: file, highWaterMark: 1 << 18, ...range })
    },
    size: async (oid) => (await stat(pathOf(oid)).catch(nullIfMissing))?.size ?? null,
    claim: async () => true,
    async delete(oid) {
      const path = pathOf(oid)
      await rm(path, { force: true })
      await syncDirectory(dirname(path))
    },
    async *list() {
      for (const first of await listMatching(root, /^[0-9a-f]{2}$/))
        for (const second of await listMatching(join(root, first), /^[0-9a-f]{2}$/))
          for (const rest of await listMatching(join(root, first, second), /^[0-9a-f]{60}$/)) {
            const found = await stat(join(root, first, second, rest)).catch(nullIfMissing)
            if (found) yield { oid: first + second + rest, storedAt: found.ctimeMs }
          }
    },
    async leftovers(unchanged) {
      const stale: string[] = []
      for (const name of await listMatching(incoming, /^[0-9a-f]{32}$/)) {
        const found = await stat(join(incoming, name)).catch(nullIfMissing)
        if (found && Date.now() - found.mtimeMs >= unchanged) stale.push(name)
      }
      return stale
    },
    removeLeftover: (name) => rm(join(incoming, name), { force: true }),
    close() {},
  }
}

const listMatching = async (path: string, names: RegExp) =>
  ((await readdir(path).catch(nullIfMissing)) ?? []).filter((name) => names.test(name)).sort()

/** Writes a body, which is never destroyed, to a new file; throws WrongObject if it has more bytes than `limit`. */
export async function writeHashed(
  body: Readable,
  path: string,
  { limit, digests, flush }: { limit: number; digests: readonly Digest[]; flush: boolean },
): Promise<Omit<ReceivedObject, keyof StagedObject> & { size: number }> {
  const hash = createHash('sha256')
  const others = digests.map((name) => [name, createHash(name)] as const)
  let size = 0
  async function* checked() {
    // the connection must stay open for the response
    for await (const chunk of body.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      size += chunk.length
      if (size > limit) throw new WrongObject('size')
      hash.update(chunk)
      for (const [, other] of others) other.update(chunk)
      yield chunk
    }
  }
  await pipeline(checked, createWriteStream(path, { flags: 'wx', mode: 0o600, flush, highWaterMark: 1 << 20 }))
  return { oid: hash.digest('hex'), size, digests: Object.fromEntries(others.map(([name, other]) => [name, other.digest('hex')])) }
}

/** Renames a file and makes its new name durable, together with those of the folders it created. */
async function moveDurably(temporary: string, path: string): Promise<void> {
  const made = await mkdir(dirname(path), { recursive: true, mode: 0o700 })
  await rename(temporary, path)
  await syncDirectory(dirname(path))
  if (made === undefined) return
  for (const levels of [2, 3]) await syncDirectory(join(path, ...Array<string>(levels).fill('..')))
}
