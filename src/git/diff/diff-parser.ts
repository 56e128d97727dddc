import { isUtf8 } from 'node:buffer'
import { encodePath, pathOfBytes } from '../../lib/text/byte-path.js'
import type { Diff, DiffLimits, FileDiff, Oid } from '../types.js'

/** One line of `--raw -z`. */
interface RawChange {
  oldMode: string
  newMode: string
  oldOid: string
  newOid: string
  status: string
  /** Of a rename, in percent. */
  similarity: number
  oldPath: Buffer
  newPath: Buffer
}

interface Section {
  chunks: Buffer[]
  size: number
  lines: number
}

const SECTION_START = Buffer.from('\ndiff --git ')

/**
 * Parses the output of `--raw -z -p` as a stream and keeps only what is within the limits. Names come from the raw
 * part, texts from the patch, whose sections have the same order.
 */
export class DiffParser {
  readonly #changes: RawChange[] = []
  /** Indexes into #changes in the order of the result (C-52), and the inverse. */
  #order: number[] = []
  #rank: number[] = []
  readonly #sections = new Map<number, Section>()
  #state: 'start' | 'raw' | 'header' | 'text' | 'done' = 'start'
  #rest: Buffer[] = []
  /** The change whose section is being read; a type change has two sections. */
  #change = -1
  #second = false
  #current: Section | null = null
  /** Number of files whose position in the result is final, with their lines and bytes. */
  #finalCount = 0
  #lines = 0
  #bytes = 0
  #full = false

  /**
   * `end` is the line that ends the output, or null if it ends with the stream. With `pairLine`, the output starts with
   * a line that repeats the request.
   */
  constructor(
    readonly limits: DiffLimits,
    readonly end: Buffer | null,
    readonly pairLine: boolean,
  ) {}

  /** Whether the limits are reached, so that the rest of the output is not needed. */
  get full() {
    return this.#full
  }

  /** Consumes output; returns the bytes after the end, or null if more output is needed. */
  consume(chunk: Buffer): Buffer | null {
    let data: Buffer | null = this.#rest.length > 0 ? Buffer.concat([...this.#rest, chunk]) : chunk
    this.#rest = []
    while (data !== null && data.length > 0 && !this.#full) {
      const before: Buffer = data
      if (this.#state === 'start') data = this.#readPairLine(before)
      else if (this.#state === 'raw') data = this.#readRaw(before)
      else if (this.#state === 'header') data = this.#readHeader(before)
      else if (this.#state === 'text') data = this.#readText(before)
      if (this.#state === 'done') return data ?? Buffer.alloc(0)
    }
    return null
  }

  /** Returns the diff, after the end or when the limits are reached. */
  finish(): Diff {
    if (this.#state !== 'done') {
      if (this.#state === 'text') this.#appendHunks(Buffer.concat(this.#rest).subarray(1))
      this.#closeSection()
    }
    if (this.#order.length === 0) this.#rankChanges()
    const files: FileDiff[] = []
    let lines = 0
    let bytes = 0
    for (const at of this.#order.slice(0, this.limits.files)) {
      const section = this.#sections.get(at)
      const diff = section ? textOf(section, this.limits) : ''
      lines += diff === '' ? 0 : (section?.lines ?? 0)
      bytes += Buffer.byteLength(diff)
      if (lines > this.limits.lines || bytes > this.limits.bytes) break
      files.push({ ...fileOf(this.#changes[at] as RawChange, diff), ...(section && isTooLarge(section, this.limits) && TOO_LARGE) })
    }
    const similarity: Record<string, number> = Object.create(null)
    const blobs: Record<string, readonly [Oid | null, Oid | null]> = Object.create(null)
    for (const at of this.#order.slice(0, files.length)) {
      const change = this.#changes[at] as RawChange
      const path = change.newPath.toString('utf8')
      if (change.status === 'R') similarity[path] = change.similarity
      blobs[path] = [oidOf(change.oldOid), oidOf(change.newOid)]
    }
    return { files, truncated: files.length < this.#changes.length, similarity, blobs }
  }

  #waitForMore(data: Buffer): null {
    this.#rest = [data]
    return null
  }

  #readPairLine(data: Buffer): Buffer | null {
    if (this.pairLine) {
      const end = data.indexOf(0x0a)
      if (end < 0) return this.#waitForMore(data)
      this.#state = 'raw'
      return data.subarray(end + 1)
    }
    this.#state = 'raw'
    return data
  }

  /** `:100644 100755 <oid> <oid> M NUL path NUL`, with two paths for renames; another NUL precedes the patch. */
  #readRaw(data: Buffer): Buffer | null {
    let at = 0
    while (at < data.length) {
      if (data[at] === 0) {
        this.#rankChanges()
        this.#state = 'header'
        return data.subarray(at + 1)
      }
      if (data[at] !== 0x3a) return this.#readEnd(data.subarray(at))
      const header = data.indexOf(0, at)
      const first = header < 0 ? -1 : data.indexOf(0, header + 1)
      if (first < 0) break
      const [oldMode = '', newMode = '', oldOid = '', newOid = '', status = ''] = data.toString('latin1', at + 1, header).split(' ')
      const renamed = status.startsWith('R') || status.startsWith('C')
      const last = renamed ? data.indexOf(0, first + 1) : first
      if (last < 0) break
      const oldPath = Buffer.from(data.subarray(header + 1, first))
      const newPath = renamed ? Buffer.from(data.subarray(first + 1, last)) : oldPath
      this.#changes.push({ oldMode, newMode, oldOid, newOid, status: status.charAt(0), similarity: Number(status.slice(1)), oldPath, newPath })
      at = last + 1
    }
    return this.#waitForMore(data.subarray(at))
  }

  /** Orders the changes by old path, in byte order. */
  #rankChanges() {
    this.#order = this.#changes.map((_, at) => at)
    this.#order.sort((a, b) => Buffer.compare(this.#changes[a]?.oldPath ?? EMPTY, this.#changes[b]?.oldPath ?? EMPTY) || a - b)
    for (const [rank, at] of this.#order.entries()) this.#rank[at] = rank
    if (this.limits.files === 0) this.#full = true
  }

  #readEnd(data: Buffer): Buffer | null {
    const { end } = this
    if (end) {
      if (data.length < end.length) return this.#waitForMore(data)
      if (data.subarray(0, end.length).equals(end)) {
        this.#closeSection()
        this.#state = 'done'
        return data.subarray(end.length)
      }
    }
    throw new Error('unexpected output of git diff-tree')
  }

  /** Reads lines before the hunks: the start of a section, modes and names. */
  #readHeader(data: Buffer): Buffer | null {
    let at = 0
    for (;;) {
      const stop = data.indexOf(0x0a, at)
      if (stop < 0) return this.#waitForMore(data.subarray(at))
      const line = data.subarray(at, stop + 1)
      if (startsWith(line, 'diff --git ')) this.#openSection()
      else if (startsWith(line, '--- ')) {
        const plus = data.indexOf(0x0a, stop + 1)
        if (plus < 0) return this.#waitForMore(data.subarray(at))
        const change = this.#changes[this.#change] as RawChange
        const left = startsWith(line, '--- /dev/null\n') ? DEV_NULL : Buffer.concat([A, change.oldPath])
        const right = startsWith(data.subarray(stop + 1, plus + 1), '+++ /dev/null\n') ? DEV_NULL : Buffer.concat([B, change.newPath])
        this.#append(Buffer.concat([MINUS, left, PLUS, right, LF]))
        if (this.#current) this.#current.lines += 2
        this.#state = 'text'
        // keep the newline in front of the text, because the text may be empty
        return data.subarray(plus)
      } else if (startsWith(line, 'Binary files ')) {
        this.#append(this.#binaryLine())
        if (this.#current) this.#current.lines++
      } else if (this.end && line.equals(this.end)) return this.#readEnd(data.subarray(at))
      if (this.#full) return null
      at = stop + 1
    }
  }

  /** Reads hunks, from the newline that ends the header to the next section or the end. */
  #readText(data: Buffer): Buffer | null {
    const next = data.indexOf(SECTION_START)
    const end = this.end ? data.indexOf(this.end, 1) : -1
    const closing = end > 0 && data[end - 1] === 0x0a ? end - 1 : -1
    const stop = next >= 0 && (closing < 0 || next < closing) ? next : closing
    if (stop >= 0) {
      this.#appendHunks(data.subarray(1, stop + 1))
      this.#state = 'header'
      return data.subarray(stop + 1)
    }
    const held = Math.max(SECTION_START.length, (this.end?.length ?? 0) + 1)
    if (data.length <= held) return this.#waitForMore(data)
    // keep the last consumed byte in front: it may be the newline before a section
    const until = data.length - held
    this.#appendHunks(data.subarray(1, until + 1))
    return this.#waitForMore(data.subarray(until))
  }

  #binaryLine(): Buffer {
    const { oldMode, newMode, oldPath, newPath, status } = this.#changes[this.#change] as RawChange
    const added = oldMode === '000000' || this.#second
    const deleted = newMode === '000000' || (status === 'T' && !this.#second)
    const left = added ? DEV_NULL : Buffer.concat([A, oldPath])
    const right = deleted ? DEV_NULL : Buffer.concat([B, newPath])
    return Buffer.concat([Buffer.from('Binary files '), left, Buffer.from(' and '), right, Buffer.from(' differ\n')])
  }

  #openSection() {
    const change = this.#changes[this.#change]
    if (change?.status === 'T' && !this.#second) {
      this.#second = true // a type change has two sections, a removal and an addition, which form one text
      return
    }
    this.#closeSection()
    if (this.#full) return
    this.#change++
    this.#second = false
    const rank = this.#rank[this.#change] ?? Number.POSITIVE_INFINITY
    this.#current = rank < this.limits.files ? { chunks: [], size: 0, lines: 0 } : null
  }

  /** Appends text up to the limit of one file; beyond it only counts the size. */
  #append(piece: Buffer) {
    const section = this.#current
    if (!section) return
    if (section.size < this.limits.fileBytes && section.size + piece.length < this.limits.fileBytes) section.chunks.push(Buffer.from(piece))
    else section.chunks = []
    section.size += piece.length
  }

  #appendHunks(piece: Buffer) {
    const section = this.#current
    if (!section) return
    if (section.size < this.limits.fileBytes) for (let at = piece.indexOf(0x0a); at >= 0; at = piece.indexOf(0x0a, at + 1)) section.lines++
    this.#append(piece)
  }

  /** Ends the current section, and checks whether the final files reach the limits. */
  #closeSection() {
    if (this.#change < 0) return
    if (this.#current) this.#sections.set(this.#change, this.#current)
    this.#current = null
    const done = this.#change
    for (let at = this.#order[this.#finalCount]; at !== undefined && at <= done; at = this.#order[this.#finalCount]) {
      if (this.#finalCount >= this.limits.files) break
      const section = this.#sections.get(at)
      if (section && section.size < this.limits.fileBytes) {
        this.#lines += section.lines
        this.#bytes += section.size
      }
      this.#finalCount++
      if (this.#lines > this.limits.lines || this.#bytes > this.limits.bytes) this.#full = true
      if (this.#full) return
    }
    if (this.#finalCount >= this.limits.files && this.#changes.length > this.#finalCount) this.#full = true
    this.#dropBeyondLimit()
  }

  /**
   * Frees the text of held-back sections that can no longer be in the result. Sections are held back while a rename
   * that precedes them in the result has not been read yet.
   */
  #dropBeyondLimit() {
    if (this.#sections.size - this.#finalCount < 64) return
    let bytes = this.#bytes
    for (let rank = this.#finalCount; rank < Math.min(this.#order.length, this.limits.files); rank++) {
      const section = this.#sections.get(this.#order[rank] as number)
      if (!section || section.size >= this.limits.fileBytes) continue
      bytes += section.size
      if (bytes > this.limits.bytes * 2) section.chunks = []
    }
  }
}

const EMPTY = Buffer.alloc(0)
const A = Buffer.from('a/')
const B = Buffer.from('b/')
const DEV_NULL = Buffer.from('/dev/null')
const MINUS = Buffer.from('--- ')
const PLUS = Buffer.from('\n+++ ')
const LF = Buffer.from('\n')

const startsWith = (line: Buffer, text: string) => line.toString('latin1', 0, text.length) === text

/** What an element says whose text is left out. */
export const TOO_LARGE = { collapsed: false, too_large: true } as const

const isTooLarge = ({ size }: Section, { fileBytes }: DiffLimits) => size >= fileBytes

function textOf(section: Section, limits: DiffLimits): string {
  if (isTooLarge(section, limits)) return ''
  return Buffer.concat(section.chunks).toString('utf8')
}

/** Git writes zeros where there is no file. */
const oidOf = (oid: string): Oid | null => (/^0*$/.test(oid) ? null : oid)

function fileOf({ oldMode, newMode, status, oldPath, newPath }: RawChange, diff: string): FileDiff {
  return {
    old_path: oldPath.toString('utf8'),
    new_path: newPath.toString('utf8'),
    ...(!isUtf8(oldPath) && { encoded_old_path: encodePath(pathOfBytes(oldPath)) }),
    ...(!isUtf8(newPath) && { encoded_new_path: encodePath(pathOfBytes(newPath)) }),
    a_mode: oldMode === '000000' ? '0' : oldMode,
    b_mode: newMode === '000000' ? '0' : newMode,
    new_file: status === 'A',
    renamed_file: status === 'R',
    deleted_file: status === 'D',
    diff,
  }
}
