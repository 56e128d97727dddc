import type { Diff, DiffLimits, FileDiff } from '../types.js'

/** One line of `--raw -z`. */
interface RawChange {
  oldMode: string
  newMode: string
  status: string
  oldPath: Buffer
  newPath: Buffer
}

interface Section {
  chunks: Buffer[]
  size: number
  lines: number
}

const BETWEEN = Buffer.from('\ndiff --git ')

/**
 * Parses `--raw -z -p` as it streams in, whatever the size of the chunks, and keeps only what is within the limits.
 * Names come from the raw part, texts from the patch, whose sections follow in the same order.
 */
export class DiffParser {
  readonly #changes: RawChange[] = []
  /** Positions in #changes in the order of the answer (C-52), and the reverse. */
  #order: number[] = []
  #rank: number[] = []
  readonly #sections = new Map<number, Section>()
  #state: 'start' | 'raw' | 'header' | 'text' | 'done' = 'start'
  #rest: Buffer[] = []
  /** The change whose section is being read; a change of type has two sections. */
  #change = -1
  #second = false
  #current: Section | null = null
  /** Number of files whose place in the answer is final, with their lines and bytes. */
  #settled = 0
  #lines = 0
  #bytes = 0
  #full = false

  /**
   * `end` is the line that ends the answer; without one it ends with the stream. `pairLine`: the answer starts with a
   * line that repeats the question.
   */
  constructor(
    readonly limits: DiffLimits,
    readonly end: Buffer | null,
    readonly pairLine: boolean,
  ) {}

  /** True when nothing that is still to come can matter. */
  get full() {
    return this.#full
  }

  /** Consumes output; returns what follows the end, or null while more is to come. */
  take(chunk: Buffer): Buffer | null {
    let data: Buffer | null = this.#rest.length > 0 ? Buffer.concat([...this.#rest, chunk]) : chunk
    this.#rest = []
    while (data !== null && data.length > 0 && !this.#full) {
      const before: Buffer = data
      if (this.#state === 'start') data = this.#takePairLine(before)
      else if (this.#state === 'raw') data = this.#takeRaw(before)
      else if (this.#state === 'header') data = this.#takeHeader(before)
      else if (this.#state === 'text') data = this.#takeText(before)
      if (this.#state === 'done') return data ?? Buffer.alloc(0)
    }
    return null
  }

  /** The diff, once the end was reached or nothing more can matter. */
  finish(): Diff {
    if (this.#state !== 'done') {
      if (this.#state === 'text') this.#keepHunks(Buffer.concat(this.#rest).subarray(1))
      this.#close()
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
      files.push(fileOf(this.#changes[at] as RawChange, diff))
    }
    return { files, truncated: files.length < this.#changes.length }
  }

  #wait(data: Buffer): null {
    this.#rest = [data]
    return null
  }

  #takePairLine(data: Buffer): Buffer | null {
    if (this.pairLine) {
      const end = data.indexOf(0x0a)
      if (end < 0) return this.#wait(data)
      this.#state = 'raw'
      return data.subarray(end + 1)
    }
    this.#state = 'raw'
    return data
  }

  /** `:100644 100755 <oid> <oid> M NUL path NUL`, twice a path for renames; one NUL more before the patch. */
  #takeRaw(data: Buffer): Buffer | null {
    let at = 0
    while (at < data.length) {
      if (data[at] === 0) {
        this.#rankChanges()
        this.#state = 'header'
        return data.subarray(at + 1)
      }
      if (data[at] !== 0x3a) return this.#startsWithEnd(data.subarray(at))
      const header = data.indexOf(0, at)
      const first = header < 0 ? -1 : data.indexOf(0, header + 1)
      if (first < 0) break
      const [oldMode = '', newMode = '', , , status = ''] = data.toString('latin1', at + 1, header).split(' ')
      const renamed = status.startsWith('R') || status.startsWith('C')
      const last = renamed ? data.indexOf(0, first + 1) : first
      if (last < 0) break
      const oldPath = Buffer.from(data.subarray(header + 1, first))
      const newPath = renamed ? Buffer.from(data.subarray(first + 1, last)) : oldPath
      this.#changes.push({ oldMode, newMode, status: status.charAt(0), oldPath, newPath })
      at = last + 1
    }
    return this.#wait(data.subarray(at))
  }

  /** By old path, in byte order. */
  #rankChanges() {
    this.#order = this.#changes.map((_, at) => at)
    this.#order.sort((a, b) => Buffer.compare(this.#changes[a]?.oldPath ?? EMPTY, this.#changes[b]?.oldPath ?? EMPTY) || a - b)
    for (const [rank, at] of this.#order.entries()) this.#rank[at] = rank
    if (this.limits.files === 0) this.#full = true
  }

  #startsWithEnd(data: Buffer): Buffer | null {
    const { end } = this
    if (end) {
      if (data.length < end.length) return this.#wait(data)
      if (data.subarray(0, end.length).equals(end)) {
        this.#close()
        this.#state = 'done'
        return data.subarray(end.length)
      }
    }
    throw new Error('git diff-tree said something unknown')
  }

  /** Lines before the text: the start of a section, and modes and names that are known already. */
  #takeHeader(data: Buffer): Buffer | null {
    let at = 0
    for (;;) {
      const stop = data.indexOf(0x0a, at)
      if (stop < 0) return this.#wait(data.subarray(at))
      const line = data.subarray(at, stop + 1)
      if (startsWith(line, 'diff --git ')) this.#open()
      else if (startsWith(line, '--- ')) {
        const plus = data.indexOf(0x0a, stop + 1)
        if (plus < 0) return this.#wait(data.subarray(at))
        const change = this.#changes[this.#change] as RawChange
        const left = startsWith(line, '--- /dev/null\n') ? DEV_NULL : Buffer.concat([A, change.oldPath])
        const right = startsWith(data.subarray(stop + 1, plus + 1), '+++ /dev/null\n') ? DEV_NULL : Buffer.concat([B, change.newPath])
        this.#keep(Buffer.concat([MINUS, left, PLUS, right, LF]))
        if (this.#current) this.#current.lines += 2
        this.#state = 'text'
        // the newline before the text is read again, because the text may be empty
        return data.subarray(plus)
      } else if (startsWith(line, 'Binary files ')) {
        this.#keep(this.#binaryLine())
        if (this.#current) this.#current.lines++
      } else if (this.end && line.equals(this.end)) return this.#startsWithEnd(data.subarray(at))
      if (this.#full) return null
      at = stop + 1
    }
  }

  /** Hunks, from the newline that ends the header up to the next section or the end. */
  #takeText(data: Buffer): Buffer | null {
    const next = data.indexOf(BETWEEN)
    const end = this.end ? data.indexOf(this.end, 1) : -1
    const closing = end > 0 && data[end - 1] === 0x0a ? end - 1 : -1
    const stop = next >= 0 && (closing < 0 || next < closing) ? next : closing
    if (stop >= 0) {
      this.#keepHunks(data.subarray(1, stop + 1))
      this.#state = 'header'
      return data.subarray(stop + 1)
    }
    const held = Math.max(BETWEEN.length, (this.end?.length ?? 0) + 1)
    if (data.length <= held) return this.#wait(data)
    // keep the last consumed byte in front: it may be the newline before a section
    const until = data.length - held
    this.#keepHunks(data.subarray(1, until + 1))
    return this.#wait(data.subarray(until))
  }

  #binaryLine(): Buffer {
    const { oldMode, newMode, oldPath, newPath, status } = this.#changes[this.#change] as RawChange
    const added = oldMode === '000000' || this.#second
    const deleted = newMode === '000000' || (status === 'T' && !this.#second)
    const left = added ? DEV_NULL : Buffer.concat([A, oldPath])
    const right = deleted ? DEV_NULL : Buffer.concat([B, newPath])
    return Buffer.concat([Buffer.from('Binary files '), left, Buffer.from(' and '), right, Buffer.from(' differ\n')])
  }

  #open() {
    const change = this.#changes[this.#change]
    if (change?.status === 'T' && !this.#second) {
      this.#second = true // removed as one type and added as another: two sections, one text
      return
    }
    this.#close()
    if (this.#full) return
    this.#change++
    this.#second = false
    const rank = this.#rank[this.#change] ?? Number.POSITIVE_INFINITY
    this.#current = rank < this.limits.files ? { chunks: [], size: 0, lines: 0 } : null
  }

  /** Keeps text up to the limit of one file; beyond it only the size is counted. */
  #keep(piece: Buffer) {
    const section = this.#current
    if (!section) return
    if (section.size < this.limits.fileBytes && section.size + piece.length < this.limits.fileBytes) section.chunks.push(Buffer.from(piece))
    else section.chunks = []
    section.size += piece.length
  }

  #keepHunks(piece: Buffer) {
    const section = this.#current
    if (!section) return
    if (section.size < this.limits.fileBytes) for (let at = piece.indexOf(0x0a); at >= 0; at = piece.indexOf(0x0a, at + 1)) section.lines++
    this.#keep(piece)
  }

  /** Ends the open section, and checks whether the final files fill the answer. */
  #close() {
    if (this.#change < 0) return
    if (this.#current) this.#sections.set(this.#change, this.#current)
    this.#current = null
    const done = this.#change
    for (let at = this.#order[this.#settled]; at !== undefined && at <= done; at = this.#order[this.#settled]) {
      if (this.#settled >= this.limits.files) break
      const section = this.#sections.get(at)
      if (section && section.size < this.limits.fileBytes) {
        this.#lines += section.lines
        this.#bytes += section.size
      }
      this.#settled++
      if (this.#lines > this.limits.lines || this.#bytes > this.limits.bytes) this.#full = true
      if (this.#full) return
    }
    if (this.#settled >= this.limits.files && this.#changes.length > this.#settled) this.#full = true
    this.#forgetBeyond()
  }

  /** Drops held-back sections that cannot be in the answer any more; those before a rename that comes late are kept. */
  #forgetBeyond() {
    if (this.#sections.size - this.#settled < 64) return
    let bytes = this.#bytes
    for (let rank = this.#settled; rank < Math.min(this.#order.length, this.limits.files); rank++) {
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

function textOf(section: Section, limits: DiffLimits): string {
  if (section.size >= limits.fileBytes) return ''
  return Buffer.concat(section.chunks).toString('utf8')
}

function fileOf({ oldMode, newMode, status, oldPath, newPath }: RawChange, diff: string): FileDiff {
  return {
    old_path: oldPath.toString('utf8'),
    new_path: newPath.toString('utf8'),
    a_mode: oldMode === '000000' ? '0' : oldMode,
    b_mode: newMode === '000000' ? '0' : newMode,
    new_file: status === 'A',
    renamed_file: status === 'R',
    deleted_file: status === 'D',
    diff,
  }
}
