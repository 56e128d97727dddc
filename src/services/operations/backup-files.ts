import { createHash } from 'node:crypto'
import { createReadStream, createWriteStream } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { OnProgress } from './progress.js'

/** One file of a backup. */
export interface Part {
  /** Relative to the folder, with `/` between its segments. */
  path: string
  bytes: number
  sha256: string
  /** The number of rows, if the file is the copy of a table. */
  rows?: number
}

interface Entry {
  path: string
  isFile: boolean
}

const bySegments = (a: string, b: string) => {
  const left = a.split('/')
  const right = b.split('/')
  for (let i = 0; i < left.length && i < right.length; i++) {
    const order = Buffer.compare(Buffer.from(left[i] as string), Buffer.from(right[i] as string))
    if (order !== 0) return order
  }
  return left.length - right.length
}

/**
 * Yields everything below `root` that is not a folder, in the order of `bySegments`, so that two listings can be
 * compared without holding them in memory.
 */
async function* walk(root: string, folder = ''): AsyncGenerator<Entry> {
  const entries = await readdir(join(root, folder), { withFileTypes: true })
  for (const entry of entries.sort((a, b) => bySegments(a.name, b.name))) {
    const path = folder === '' ? entry.name : `${folder}/${entry.name}`
    if (entry.isDirectory()) yield* walk(root, path)
    else yield { path, isFile: entry.isFile() }
  }
}

/** Size, digest and number of lines of a file, read as a stream. */
export async function measure(path: string): Promise<Pick<Part, 'bytes' | 'sha256'> & { lines: number }> {
  const hash = createHash('sha256')
  let bytes = 0
  let lines = 0
  for await (const chunk of createReadStream(path, { highWaterMark: 1 << 18 }) as AsyncIterable<Buffer>) {
    hash.update(chunk)
    bytes += chunk.length
    for (let at = chunk.indexOf(10); at !== -1; at = chunk.indexOf(10, at + 1)) lines++
  }
  return { bytes, sha256: hash.digest('hex'), lines }
}

/**
 * Writes the list of all files below `root` into a new file there, as lines of JSON. `rowsOf` has the number of rows of
 * each copy of a table.
 */
export async function listParts(root: string, list: string, rowsOf: Map<string, number>): Promise<void> {
  async function* lines() {
    for await (const { path } of walk(root)) {
      if (path === list) continue
      const { bytes, sha256 } = await measure(join(root, path))
      const rows = rowsOf.get(path)
      const part: Part = { path, bytes, sha256, ...(rows !== undefined && { rows }) }
      // some readers treat these two characters as line ends, and JSON does not escape them
      yield `${JSON.stringify(part).replace(/[\u2028\u2029]/g, (end) => `\\u${end.charCodeAt(0).toString(16)}`)}\n`
    }
  }
  await pipeline(Readable.from(lines()), createWriteStream(join(root, list), { flags: 'wx', mode: 0o600, flush: true }))
}

async function* partsIn(file: string): AsyncGenerator<Part> {
  for await (const line of createInterface({ input: createReadStream(file), crlfDelay: Number.POSITIVE_INFINITY })) yield JSON.parse(line) as Part
}

/** The bytes of the files in each folder of the list, by the first two segments of their paths. */
export async function folderSizes(file: string): Promise<Map<string, number>> {
  const sizes = new Map<string, number>()
  for await (const { path, bytes } of partsIn(file)) {
    const folder = path.split('/', 2).join('/')
    sizes.set(folder, (sizes.get(folder) ?? 0) + bytes)
  }
  return sizes
}

/**
 * Compares the files below `root` with the list, whose own digest must have been checked. Yields one line for each file
 * that is missing, damaged or not in the list. `excluded` are files that the list does not name.
 */
export async function* partFaults(root: string, list: string, excluded: Set<string>, onProgress?: OnProgress): AsyncGenerator<string> {
  let total = 0
  if (onProgress) for await (const _ of partsIn(join(root, list))) total++
  let done = 0
  const listed = partsIn(join(root, list))
  const there = walk(root)
  let part = await listed.next()
  let entry = await there.next()
  while (!part.done || !entry.done) {
    if (!entry.done && excluded.has(entry.value.path)) {
      entry = await there.next()
      continue
    }
    const order = part.done ? 1 : entry.done ? -1 : bySegments(part.value.path, entry.value.path)
    if (order < 0) yield `missing: ${part.value.path}`
    else if (order > 0) yield `not part of the backup: ${entry.value.path}`
    else {
      const fault = await faultOf(root, part.value, entry.value)
      if (fault) yield `damaged: ${part.value.path}: ${fault}`
    }
    if (order <= 0) part = await listed.next()
    if (order <= 0) onProgress?.(++done, total)
    if (order >= 0) entry = await there.next()
  }
}

async function faultOf(root: string, { path, bytes, sha256, rows }: Part, { isFile }: Entry): Promise<string | null> {
  if (!isFile) return 'it is not a regular file'
  const found = await measure(join(root, path)).catch((error: NodeJS.ErrnoException) => error.code ?? error.message)
  if (typeof found === 'string') return `it cannot be read (${found})`
  if (found.bytes !== bytes) return `it has ${found.bytes} bytes instead of ${bytes}`
  // each row is a line: the text format of `copy` escapes line breaks in values
  if (rows !== undefined && found.lines !== rows) return `it has ${found.lines} rows instead of ${rows}`
  return found.sha256 === sha256 ? null : `its SHA-256 is ${found.sha256} instead of ${sha256}`
}
