import { type BigIntStats, type Dirent, promises as fs, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { LRUCache } from 'lru-cache'
import { yieldToEventLoop } from '../../lib/async/yield.js'
import { checkRefName } from '../../lib/ref-name.js'
import { isOid } from '../objects/cat-file.js'
import type { Oid } from '../types.js'

/** A ref as stored; `peeled` only where packed-refs has it. */
export interface StoredRef {
  name: string
  oid: Oid
  peeled: Oid | null
}

interface Packed {
  stamp: string
  refs: Map<string, StoredRef>
}

/** Parsed packed-refs files of all repositories; a file is read again when its stamp differs. */
export type PackedCache = LRUCache<string, Packed>
export const packedCache = (bytes: number): PackedCache => new LRUCache({ maxSize: bytes, sizeCalculation: ({ refs }) => 1_000 + refs.size * 300 })

/** How many symbolic refs are followed, as in git. */
const DEPTH = 5

/**
 * Reads the refs of one repository from its files. Loose refs are read before packed ones, which is the order in which
 * git moves them, so none is missed.
 */
export class RefStore {
  constructor(
    readonly directory: string,
    readonly cache: PackedCache,
  ) {}

  /** The object that a full ref name, or HEAD, points at. */
  async ref(name: string, depth = 0): Promise<Oid | null> {
    if ((name !== 'HEAD' && !isRef(name)) || depth > DEPTH) return null
    const text = this.#loose(name)
    if (text === null) return (await this.#packed()).get(name)?.oid ?? null
    const target = symbolic(text)
    return target === null ? oidOf(text) : this.ref(target, depth + 1)
  }

  /** All refs below a prefix that ends with a slash, in byte order of their names. */
  async refs(prefix: string): Promise<StoredRef[]> {
    if (!prefix.endsWith('/') || !isRef(`${prefix}x`)) return []
    const found = new Map<string, StoredRef>()
    const loose = await this.#below(prefix)
    for (const [name, ref] of await this.#packed()) if (name.startsWith(prefix)) found.set(name, ref)
    for (const ref of loose) found.set(ref.name, ref)
    await yieldToEventLoop()
    const names = [...found.keys()].sort() // differs from byte order only beyond the basic multilingual plane
    return names.map((name) => found.get(name) as StoredRef)
  }

  /** The full ref name HEAD holds; null when it holds an object id or cannot be read. */
  async head(): Promise<string | null> {
    const text = this.#loose('HEAD')
    return text === null ? null : symbolic(text)
  }

  async #below(prefix: string): Promise<StoredRef[]> {
    const found: StoredRef[] = []
    const folders = [prefix]
    for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
      const entries = await fs.readdir(join(this.directory, folder), { withFileTypes: true }).catch(ignoreMissing<Dirent[]>([]))
      const names: string[] = []
      for (const entry of entries) {
        if (entry.isDirectory()) folders.push(`${folder}${entry.name}/`)
        else if (isRef(folder + entry.name)) names.push(folder + entry.name)
      }
      for (let i = 0; i < names.length; i += 32) {
        const oids = await Promise.all(names.slice(i, i + 32).map(async (name) => ({ name, oid: await this.ref(name) })))
        for (const { name, oid } of oids) if (oid) found.push({ name, oid, peeled: null })
      }
    }
    return found
  }

  /**
   * Synchronously: it is a file of one line that every call reads, and four turns in the thread pool cost ten times as
   * much as the reading.
   */
  #loose(name: string): string | null {
    const path = join(this.directory, name)
    try {
      if (!statSync(path, { throwIfNoEntry: false })?.isFile()) return null
      return readFileSync(path, 'utf8') || null
    } catch (fault) {
      return ignoreMissing(null)(fault as NodeJS.ErrnoException)
    }
  }

  async #packed(): Promise<Map<string, StoredRef>> {
    const path = join(this.directory, 'packed-refs')
    const seen = statSync(path, { bigint: true, throwIfNoEntry: false })
    if (!seen) return new Map()
    const known = this.cache.get(this.directory)
    if (known?.stamp === stampOf(seen)) return known.refs
    const file = await fs.open(path).catch(ignoreMissing(null))
    if (!file) return new Map()
    try {
      const stat = await file.stat({ bigint: true })
      const { mtimeMs } = stat
      const stamp = stampOf(stat)
      const refs = await parse(await file.readFile('utf8'))
      // a file written just now may be written again within one tick of the clock, and look the same
      if (Date.now() - Number(mtimeMs) > SETTLED) this.cache.set(this.directory, { stamp, refs })
      return refs
    } finally {
      await file.close()
    }
  }
}

/** Milliseconds after which a file counts as settled. */
const SETTLED = 100

const stampOf = ({ mtimeNs, ctimeNs, size, ino }: BigIntStats) => `${mtimeNs} ${ctimeNs} ${size} ${ino}`

/** Whether this may be looked up: a valid name below refs/, which therefore cannot lead out of it. */
const isRef = (name: string) => name.startsWith('refs/') && checkRefName(name)

const oidOf = (text: string) => {
  const oid = text.slice(0, 40)
  return isOid(oid) ? oid : null
}

const symbolic = (text: string) => /^ref:\s*(\S.*?)\s*$/.exec(text)?.[1] ?? null

/**
 * Lines of `oid name`, each followed by `^oid` for an annotated tag; the first line of a file that a modern git wrote
 * says so.
 */
async function parse(text: string): Promise<Map<string, StoredRef>> {
  const refs = new Map<string, StoredRef>()
  const full = /^#.* fully-peeled/.test(text)
  let last: StoredRef | null = null
  let lines = 0
  for (let at = 0; at < text.length; ) {
    if (++lines % 5_000 === 0) await yieldToEventLoop()
    const found = text.indexOf('\n', at)
    const end = found < 0 ? text.length : found
    const oid = text.slice(at, at + 40)
    if (text[at] === '^') {
      if (last) last.peeled = text.slice(at + 1, at + 41)
    } else if (isOid(oid)) {
      last = { name: text.slice(at + 41, end).trimEnd(), oid, peeled: full ? oid : null }
      refs.set(last.name, last)
    }
    at = end + 1
  }
  return refs
}

/** A missing file has this value; a folder read as a file, or a name too long for the disk, counts as missing too. */
function ignoreMissing<T>(value: T) {
  return (fault: NodeJS.ErrnoException): T => {
    if (['ENOENT', 'ENOTDIR', 'EISDIR', 'ENAMETOOLONG', 'ELOOP'].includes(fault.code ?? '')) return value
    throw fault
  }
}
