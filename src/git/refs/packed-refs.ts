import { type BigIntStats, promises as fs, statSync } from 'node:fs'
import { join } from 'node:path'
import { LRUCache } from 'lru-cache'
import { Turn } from '../../lib/async/yield.js'
import { ignoreMissing } from '../../lib/files/missing.js'
import { isOid } from '../objects/cat-file.js'
import type { Oid } from '../types.js'

/** A ref as stored; `peeled` is null unless packed-refs has it. */
export interface StoredRef {
  name: string
  oid: Oid
  peeled: Oid | null
}

const CARET = 0x5e
const HASH = 0x23
const SPACE = 0x20
const NEWLINE = 0x0a
/** The offset of the name in a line, after an object id and a space. */
const NAME_OFFSET = 41

/**
 * A packed-refs file: lines of `oid name` in byte order of the names, each followed by `^oid` for an annotated tag. The
 * file is kept as a buffer and searched in place, because one object per ref would take ten times the memory.
 */
export class PackedRefs {
  static readonly none = new PackedRefs(Buffer.alloc(0), new Uint32Array(0), false)

  private constructor(
    readonly file: Buffer,
    /** The start offset of each ref's line. */
    readonly lines: Uint32Array,
    /** Whether refs without a `^` line are known not to point at annotated tags. */
    readonly fullyPeeled: boolean,
  ) {}

  static async of(file: Buffer): Promise<PackedRefs> {
    const [header = ''] = file[0] === HASH ? file.toString('latin1', 0, 200).split('\n', 1) : []
    const refs = new PackedRefs(file, await linesIn(file), / fully-peeled( |$)/.test(header))
    return / sorted( |$)/.test(header) ? refs : refs.#sorted()
  }

  get bytes() {
    return this.file.length + this.lines.byteLength
  }

  find(name: string): StoredRef | null {
    const { at, found } = this.locate(name)
    return found ? this.at(at) : null
  }

  /** The index of a ref, or of the first one after it if it is not `found`. */
  locate(name: string): { at: number; found: boolean } {
    const wanted = Buffer.from(name)
    const at = this.#firstFrom(wanted)
    return { at, found: at < this.lines.length && this.#compare(at, wanted) === 0 }
  }

  /** The ref at an index; null if its line is damaged. */
  at(index: number): StoredRef | null {
    const start = this.lines[index] as number
    const oid = this.file.toString('latin1', start, start + 40)
    if (!isOid(oid)) return null
    const end = this.#end(start)
    const next = this.file[end + 1] === CARET ? this.file.toString('latin1', end + 2, end + 42) : null
    return { name: this.file.toString('utf8', start + NAME_OFFSET, end), oid, peeled: next ?? (this.fullyPeeled ? oid : null) }
  }

  /** The line `oid name` at an index, in latin1; null if it is damaged. */
  line(index: number): string | null {
    const start = this.lines[index] as number
    const line = this.file.toString('latin1', start, this.#end(start))
    return isOid(line.slice(0, 40)) ? line : null
  }

  /** The peeled object of an annotated tag, if the file has it; does not check whether the ref's line is damaged. */
  peeled(index: number): Oid | null {
    const end = this.#end(this.lines[index] as number)
    return this.file[end + 1] === CARET ? (this.file.toString('latin1', end + 2, end + 42) as Oid) : null
  }

  /** The range of indexes of the refs whose names begin with a prefix. */
  rangeOf(prefix: string): { from: number; to: number } {
    const first = Buffer.from(prefix)
    const beyond = Buffer.from(first)
    beyond[beyond.length - 1] = (beyond.at(-1) ?? 0) + 1
    return { from: this.#firstFrom(first), to: this.#firstFrom(beyond) }
  }

  #firstFrom(name: Buffer): number {
    let [low, high] = [0, this.lines.length]
    while (low < high) {
      const middle = (low + high) >>> 1
      if (this.#compare(middle, name) < 0) low = middle + 1
      else high = middle
    }
    return low
  }

  #compare(index: number, name: Buffer): number {
    const start = this.lines[index] as number
    return this.file.compare(name, 0, name.length, start + NAME_OFFSET, this.#end(start))
  }

  #end(start: number): number {
    const end = this.file.indexOf(NEWLINE, start)
    return end < 0 ? this.file.length : end
  }

  /** Sorts the lines: files written by git before 2.15 or by other programs may be unsorted. */
  #sorted(): PackedRefs {
    const names = Array.from(this.lines, (start) => ({ start, name: this.file.subarray(start + NAME_OFFSET, this.#end(start)) }))
    if (names.every(({ name }, i) => i === 0 || Buffer.compare((names[i - 1] as { name: Buffer }).name, name) < 0)) return this
    names.sort((a, b) => Buffer.compare(a.name, b.name))
    return new PackedRefs(
      this.file,
      Uint32Array.from(names, ({ start }) => start),
      this.fullyPeeled,
    )
  }
}

async function linesIn(file: Buffer): Promise<Uint32Array> {
  // an upper bound for the number of lines
  const starts = new Uint32Array(Math.ceil(file.length / (NAME_OFFSET + 1)))
  const turn = new Turn()
  let count = 0
  for (let at = 0; at < file.length; ) {
    if (turn.over) await turn.end()
    const isRef = file[at] !== HASH && file[at] !== CARET && file[at + 40] === SPACE
    if (isRef) starts[count++] = at
    let end = isRef ? at + NAME_OFFSET : at
    while (end < file.length && file[end] !== NEWLINE) end++
    at = end + 1
  }
  return starts.slice(0, count)
}

/** A younger file may be rewritten within one tick of the clock and then have the same stamp. */
const SETTLE_MS = 100

const isSettled = ({ mtimeMs }: BigIntStats) => Date.now() - Number(mtimeMs) > SETTLE_MS

const stampOf = ({ mtimeNs, ctimeNs, size, ino }: BigIntStats) => `${mtimeNs} ${ctimeNs} ${size} ${ino}`

interface CachedFile {
  stamp: string
  /** Whether the file was old enough when it was read for its stamp to be reliable. */
  settled: boolean
  refs: PackedRefs
}

interface PendingRead {
  done: Promise<PackedRefs>
  next?: Promise<PackedRefs>
}

/** A cache of packed-refs files, limited in bytes. A file is read again when its stamp differs. */
export class PackedRefsCache {
  readonly #files: LRUCache<string, CachedFile>
  readonly #reads = new Map<string, PendingRead>()

  constructor(bytes: number) {
    this.#files = new LRUCache({ maxSize: bytes, sizeCalculation: ({ refs }) => 1_000 + refs.bytes })
  }

  /** The current packed refs of a repository. */
  async read(directory: string): Promise<PackedRefs> {
    const seen = statSync(join(directory, 'packed-refs'), { bigint: true, throwIfNoEntry: false })
    return seen ? (this.#cached(directory, seen) ?? this.#queueRead(directory)) : PackedRefs.none
  }

  /** Like `read`, but stats the opened file, which on a network file system is more recent than a stat of the path. */
  readOpened = (directory: string): Promise<PackedRefs> => this.#queueRead(directory)

  forget(directory: string) {
    this.#files.delete(directory)
  }

  #cached(directory: string, seen: BigIntStats): PackedRefs | null {
    const cached = this.#files.get(directory)
    return cached?.settled && cached.stamp === stampOf(seen) ? cached.refs : null
  }

  /**
   * Reads one at a time per repository; callers that arrive meanwhile share the next read, which starts after they
   * called.
   */
  #queueRead(directory: string): Promise<PackedRefs> {
    const pending = this.#reads.get(directory)
    if (!pending) return this.#startRead(directory)
    const begin = () => this.#startRead(directory)
    pending.next ??= pending.done.then(begin, begin)
    return pending.next
  }

  #startRead(directory: string): Promise<PackedRefs> {
    const pending: PendingRead = { done: this.#read(directory) }
    this.#reads.set(directory, pending)
    const over = () => {
      if (this.#reads.get(directory) === pending) this.#reads.delete(directory)
    }
    pending.done.then(over, over)
    return pending.done
  }

  async #read(directory: string): Promise<PackedRefs> {
    const file = await fs.open(join(directory, 'packed-refs')).catch(ignoreMissing(null))
    if (!file) return PackedRefs.none
    try {
      const stat = await file.stat({ bigint: true })
      const known = this.#cached(directory, stat)
      if (known) return known
      const settled = isSettled(stat)
      const content = await file.readFile()
      const same = this.#files.get(directory)?.refs
      const refs = same?.file.equals(content) ? same : await PackedRefs.of(content)
      this.#files.set(directory, { stamp: stampOf(stat), settled, refs })
      return refs
    } finally {
      await file.close()
    }
  }
}
