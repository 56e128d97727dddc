import { type Dirent, promises as fs, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { Turn } from '../../lib/async/yield.js'
import { ignoreMissing } from '../../lib/files/missing.js'
import { checkRefName } from '../../lib/ref-name.js'
import { isOid } from '../objects/cat-file.js'
import type { Oid } from '../types.js'
import { PackedRefs, type PackedRefsCache, type StoredRef } from './packed-refs.js'

/** Maximum depth of symbolic refs, as in git. */
const MAX_SYMREF_DEPTH = 5

/** The size of a directory with a few thousand entries; larger ones are read asynchronously. */
const LARGE_DIRECTORY_BYTES = 262_144

const MAX_PREFIXES = 64

/** A ref as `ls-refs` lists it. */
export interface RefLine {
  /** `oid name` in latin1, because a name need not be UTF-8. */
  line: string
  oid: Oid
  /** Whether the ref is loose; then it is not known whether it is an annotated tag. */
  loose: boolean
  /** The peeled object of a packed annotated tag. */
  peeled: Oid | null
}

/**
 * Reads the refs of one repository from its files. Loose refs are read before packed ones, the order in which git packs
 * them, so no ref is missed.
 */
export class RefStore {
  constructor(
    readonly directory: string,
    readonly cache: PackedRefsCache,
  ) {}

  /** The object that a full ref name, or HEAD, points at. */
  async ref(name: string, depth = 0): Promise<Oid | null> {
    if ((name !== 'HEAD' && !isRef(name)) || depth > MAX_SYMREF_DEPTH) return null
    const text = this.#loose(name)
    if (text === null) return (await this.cache.read(this.directory)).find(name)?.oid ?? null
    const target = symbolic(text)
    return target === null ? oidOf(text) : this.ref(target, depth + 1)
  }

  /** All refs below a prefix that ends with a slash, in byte order of their names. */
  async refs(prefix: string): Promise<StoredRef[]> {
    const found: StoredRef[] = []
    const turn = new Turn()
    const merged = await this.#merged(prefix)
    for (const ref of merged.after(0)) {
      found.push(ref)
      if (turn.over) await turn.end()
    }
    return found
  }

  /** One page of the refs below a prefix, in byte order, and their total. Decodes only the page. */
  async page(prefix: string, skip: number, limit: number): Promise<{ refs: StoredRef[]; total: number }> {
    const merged = await this.#merged(prefix)
    const refs: StoredRef[] = []
    if (limit > 0)
      for (const ref of merged.after(skip)) {
        refs.push(ref)
        if (refs.length >= limit) break
      }
    return { refs, total: merged.total }
  }

  /** All refs below a prefix as lines `oid name` in latin1, because a name need not be UTF-8. */
  async lines(prefix: string): Promise<Iterable<string>> {
    return (await this.#merged(prefix)).lines()
  }

  /**
   * The refs whose names begin with one of the prefixes, in byte order. Null if only git can tell what it would list
   * (symbolic or damaged refs, loose names that are not UTF-8, packed tags without peeled objects), or if reading them
   * would take long (more than `limit` loose refs, or too many prefixes).
   */
  async matching(prefixes: string[], limit: number): Promise<Iterable<RefLine> | null> {
    const below = prefixes.map((prefix) => ('refs/'.startsWith(prefix) ? 'refs/' : prefix))
    const wanted = shortestPrefixes(below).filter((prefix) => isRef(`${prefix}x`))
    if (wanted.length > MAX_PREFIXES) return null
    const turn = new Turn(16)
    const loose: StoredRef[][] = []
    let count = 0
    for (const prefix of wanted) {
      const found: StoredRef[] = []
      const names = await this.#looseNames(prefix)
      count += names.length
      if (count > limit || names.some((name) => name.includes('\ufffd'))) return null
      for (const name of names) {
        // if the file is gone, the ref was packed, and is read with the packed refs
        const text = this.#loose(name)
        const oid = text === null ? null : oidOf(text)
        if (oid) found.push({ name, oid, peeled: null })
        else if (text !== null) return null
        if (turn.over) await turn.end()
      }
      loose.push(found)
    }
    const packed = await this.cache.read(this.directory)
    if (!packed.fullyPeeled && packed.lines.length > 0) return null
    const merged = wanted.map((prefix, i) => new MergedRefs(prefix, loose[i] as StoredRef[], packed))
    return (function* () {
      for (const each of merged) yield* each.refLines()
    })()
  }

  async #merged(prefix: string): Promise<MergedRefs> {
    if (!prefix.endsWith('/') || !isRef(`${prefix}x`)) return new MergedRefs(prefix, [], PackedRefs.none)
    const loose = await this.#below(prefix)
    return new MergedRefs(prefix, loose, await this.cache.read(this.directory))
  }

  /** The full ref name in HEAD; null if HEAD is detached or cannot be read. */
  async head(): Promise<string | null> {
    const text = this.#loose('HEAD')
    return text === null ? null : symbolic(text)
  }

  async #below(prefix: string): Promise<StoredRef[]> {
    const found: StoredRef[] = []
    const turn = new Turn(16)
    for (const name of await this.#looseNames(prefix)) {
      const oid = await this.ref(name)
      if (oid) found.push({ name, oid, peeled: null })
      if (turn.over) await turn.end()
    }
    return found
  }

  /** The names of the files below refs/ that begin with a prefix. */
  async #looseNames(prefix: string): Promise<string[]> {
    const names: string[] = []
    const folders = [prefix.slice(0, prefix.lastIndexOf('/') + 1)]
    const turn = new Turn(16)
    for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
      const entries = await this.#entries(folder)
      for (const entry of entries) {
        const name = folder + entry.name
        if (entry.isDirectory()) {
          if (`${name}/`.startsWith(prefix)) folders.push(`${name}/`)
        } else if (name.startsWith(prefix) && isRef(name)) names.push(name)
        if (turn.over) await turn.end()
      }
    }
    return names
  }

  /** The entries of a directory; a small one is read synchronously, like ref files. */
  async #entries(folder: string): Promise<Dirent[]> {
    const path = join(this.directory, folder)
    try {
      const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0
      return size > LARGE_DIRECTORY_BYTES ? await fs.readdir(path, { withFileTypes: true }) : readdirSync(path, { withFileTypes: true })
    } catch (fault) {
      return ignoreMissing<Dirent[]>([])(fault as NodeJS.ErrnoException)
    }
  }

  /**
   * Reads synchronously: almost every call reads such a one-line file, and four trips through the thread pool cost ten
   * times as much as the read.
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
}

/** The refs below a prefix; loose refs override packed ones of the same name. */
class MergedRefs {
  readonly #loose: { ref: StoredRef; at: number; found: boolean }[]
  readonly #range: { from: number; to: number }

  constructor(
    prefix: string,
    loose: StoredRef[],
    readonly packed: PackedRefs,
  ) {
    this.#range = packed.rangeOf(prefix)
    const sorted = loose.map((ref) => ({ ref, key: Buffer.from(ref.name) })).sort((a, b) => Buffer.compare(a.key, b.key))
    this.#loose = sorted.map(({ ref }) => ({ ref, ...packed.locate(ref.name) }))
  }

  get total() {
    return this.#range.to - this.#range.from + this.#loose.filter(({ found }) => !found).length
  }

  /** The refs after skipping some. */
  *after(skip: number): Generator<StoredRef> {
    for (const position of this.#positions(skip)) {
      const ref = typeof position === 'number' ? this.packed.at(position) : position
      if (ref) yield ref
    }
  }

  *refLines(): Generator<RefLine> {
    for (const position of this.#positions(0)) {
      if (typeof position !== 'number') yield { line: latinLine(position), oid: position.oid, loose: true, peeled: null }
      else {
        const line = this.packed.line(position)
        if (line === null) continue
        const oid = line.slice(0, 40) as Oid
        const peeled = this.packed.peeled(position)
        yield { line, oid, loose: false, peeled: peeled === oid ? null : peeled }
      }
    }
  }

  *lines(): Generator<string> {
    for (const position of this.#positions(0)) {
      const line = typeof position === 'number' ? this.packed.line(position) : latinLine(position)
      if (line) yield line
    }
  }

  /** Yields loose refs, and the indexes of packed ones. */
  *#positions(skip: number): Generator<StoredRef | number> {
    let at = this.#range.from
    let left = skip
    for (const { ref, at: position, found } of this.#loose) {
      const passed = Math.min(left, position - at)
      left -= passed
      yield* numbers(at + passed, position)
      at = found ? position + 1 : position
      if (left > 0) left--
      else yield ref
    }
    yield* numbers(at + left, this.#range.to)
  }
}

const latinLine = ({ oid, name }: StoredRef) => Buffer.from(`${oid} ${name}`).toString('latin1')

/** The texts that do not begin with another one of them, in byte order. */
function shortestPrefixes(texts: string[]): string[] {
  const sorted = [...texts].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)))
  let last: string | undefined
  return sorted.filter((text) => {
    if (last !== undefined && text.startsWith(last)) return false
    last = text
    return true
  })
}

function* numbers(from: number, to: number): Generator<number> {
  for (let n = from; n < to; n++) yield n
}

/** Whether a name may be looked up: a valid name below refs/ cannot escape the directory. */
const isRef = (name: string) => name.startsWith('refs/') && checkRefName(name)

const oidOf = (text: string) => {
  const oid = text.slice(0, 40)
  return isOid(oid) ? oid : null
}

const symbolic = (text: string) => /^ref:\s*(\S+)\s*$/.exec(text)?.[1] ?? null
