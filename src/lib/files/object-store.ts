import { createHash, randomBytes } from 'node:crypto'
import { createReadStream, createWriteStream } from 'node:fs'
import { mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { syncDirectory } from './durable.js'

/** Objects by the SHA-256 of their bytes, in hex. */
export interface ObjectStore {
  /**
   * Reads a body to its end and checks it; nobody sees the object before it is kept. Throws WrongObject, and leaves
   * nothing, where the bytes are not those of `oid` or more than `limit`. The body is never destroyed.
   */
  stage(body: Readable, oid: string, limit: number): Promise<StagedObject>
  /** Its bytes, or those from `start` to `end`, both included; null: there is no such object. */
  get(oid: string, range?: { start: number; end: number }): Promise<Readable | null>
  /** Its size in bytes; null: there is no such object. */
  size(oid: string): Promise<number | null>
  /** Whether the objects are this installation's; only then is anything deleted. A store without an owner gets one. */
  claim(): Promise<boolean>
  /** Throws where the store belongs to another installation. */
  delete(oid: string): Promise<void>
  /** All objects, with the time when each was kept. */
  list(): AsyncGenerator<{ oid: string; keptAt: number }>
  /** What broken uploads left behind and nobody has written to for some milliseconds. */
  leftovers(unchanged: number): Promise<string[]>
  removeLeftover(name: string): Promise<void>
  close(): void
}

/** An object that has arrived whole, and that nobody can get yet. */
export interface StagedObject {
  size: number
  /** Puts it in its place, durably; a second call does nothing. */
  keep(): Promise<void>
  /** Must be called at last: removes it, unless it was kept, and whatever it took to receive it. */
  discard(): Promise<void>
}

export class WrongObject extends Error {
  override name = 'WrongObject'
  constructor(readonly fault: 'digest' | 'size') {
    super(fault === 'size' ? 'the object has more bytes than allowed' : 'the bytes are not those of the object')
  }
}

const OID = /^[0-9a-f]{64}$/

/** Whether a text is the id of an object; nothing else ever becomes a path. */
export const isObjectId = (text: unknown): text is string => typeof text === 'string' && OID.test(text)

const absent = (error: NodeJS.ErrnoException) => {
  if (error.code !== 'ENOENT') throw error
  return null
}

/** Keeps objects in a folder: `ab/cd/` and the rest of the id; what is still arriving is in `incoming/`. */
export function objectFolder(root: string): ObjectStore {
  const incoming = join(root, 'incoming')
  const placeOf = (oid: string) => {
    if (!isObjectId(oid)) throw new Error('no object id')
    return join(root, oid.slice(0, 2), oid.slice(2, 4), oid.slice(4))
  }
  return {
    async stage(body, oid, limit) {
      const place = placeOf(oid)
      await mkdir(incoming, { recursive: true, mode: 0o700 })
      const aside = join(incoming, randomBytes(16).toString('hex'))
      const discard = () => rm(aside, { force: true })
      try {
        const size = await receive(body, aside, oid, limit)
        let kept = false
        return {
          size,
          async keep() {
            if (!kept) await putInPlace(aside, place)
            kept = true
          },
          discard,
        }
      } catch (error) {
        await discard()
        throw error
      }
    },
    async get(oid, range) {
      const file = await open(placeOf(oid), 'r').catch(absent)
      return file && createReadStream('', { fd: file, highWaterMark: 1 << 18, ...range })
    },
    size: async (oid) => (await stat(placeOf(oid)).catch(absent))?.size ?? null,
    claim: async () => true,
    async delete(oid) {
      const place = placeOf(oid)
      await rm(place, { force: true })
      await syncDirectory(dirname(place))
    },
    async *list() {
      for (const first of await folders(root, /^[0-9a-f]{2}$/))
        for (const second of await folders(join(root, first), /^[0-9a-f]{2}$/))
          for (const rest of await folders(join(root, first, second), /^[0-9a-f]{60}$/)) {
            const found = await stat(join(root, first, second, rest)).catch(absent)
            if (found) yield { oid: first + second + rest, keptAt: found.ctimeMs }
          }
    },
    async leftovers(unchanged) {
      const stale: string[] = []
      for (const name of await folders(incoming, /^[0-9a-f]{32}$/)) {
        const found = await stat(join(incoming, name)).catch(absent)
        if (found && Date.now() - found.mtimeMs >= unchanged) stale.push(name)
      }
      return stale
    },
    removeLeftover: (name) => rm(join(incoming, name), { force: true }),
    close() {},
  }
}

const folders = async (path: string, names: RegExp) => ((await readdir(path).catch(absent)) ?? []).filter((name) => names.test(name)).sort()

/** Writes a body to a new file and syncs it; its size. */
async function receive(body: Readable, path: string, oid: string, limit: number): Promise<number> {
  const hash = createHash('sha256')
  let size = 0
  async function* checked() {
    // whoever sent it still gets an answer
    for await (const chunk of body.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      size += chunk.length
      if (size > limit) throw new WrongObject('size')
      hash.update(chunk)
      yield chunk
    }
    if (hash.digest('hex') !== oid) throw new WrongObject('digest')
  }
  await pipeline(checked, createWriteStream(path, { flags: 'wx', mode: 0o600, flush: true, highWaterMark: 1 << 20 }))
  return size
}

/** Renames a file and makes its new name durable, and those of the folders that were missing. */
async function putInPlace(aside: string, place: string): Promise<void> {
  const made = await mkdir(dirname(place), { recursive: true, mode: 0o700 })
  await rename(aside, place)
  await syncDirectory(dirname(place))
  if (made === undefined) return
  for (const levels of [2, 3]) await syncDirectory(join(place, ...Array<string>(levels).fill('..')))
}
