import type { SingleFlight } from '../../lib/async/single-flight.js'
import { pathOfBytes } from '../../lib/text/byte-path.js'
import { GitFault } from '../errors.js'
import { literalPath } from '../history/log.js'
import type { ObjectCache } from '../object-cache.js'
import { type CatFile, isOid } from '../objects/cat-file.js'
import type { ProcessPool, RunOptions, ScanEnd } from '../process/pool.js'
import type { GrepChunk, GrepOptions, Oid, SearchDeadline } from '../types.js'

/** The neutral locale with UTF-8, so that case-insensitive matching works in every alphabet, not only in ASCII. */
const UTF8_LOCALE = { LC_ALL: 'C.UTF-8' }
/** Larger files are not searched (SEC-146). */
const MAX_FILE_BYTES = 10 * 1024 * 1024
/** The largest allocation that git may make, enough to hold such a file; git fails at a larger file. */
const ALLOCATION_LIMIT = MAX_FILE_BYTES + 65_536
/**
 * Maximum total length of the arguments that exclude large files; with more of them, git fails at the first one left.
 */
const MAX_EXCLUDED_BYTES = 65_536
/** Longer lines are cut. */
const MAX_LINE_CHARS = 10_000
const MAX_OUTPUT_BYTES = 8 * 1024 * 1024

/** What a search needs: the repository, the process pool for searches and the cache. */
export interface SearchSource {
  pool: ProcessPool
  runningSearches: SingleFlight
  directory: string
  env: NodeJS.ProcessEnv | undefined
  cache: ObjectCache
  objects: CatFile
  root(commit: Oid): Promise<{ tree: Oid } | null>
}

/**
 * The cached result, or one search shared by all concurrent callers. A result cut off by the deadline is not cached, so
 * the next call searches again.
 */
export async function cachedSearch<V extends { timedOut: boolean }>(
  { cache, runningSearches, directory }: SearchSource,
  query: string,
  { signal, deadline }: SearchDeadline,
  size: (found: V) => number,
  search: (signal: AbortSignal) => Promise<V>,
): Promise<V> {
  const known = cache.get<V>(directory, query)
  if (known) return known
  return runningSearches.join(`${directory} ${deadline} ${query}`, signal, async (signal) => {
    const found = await search(signal)
    if (!found.timedOut) cache.set(directory, query, size(found), found)
    return found
  })
}

/** The options and pathspecs of `git grep`; null if nothing can match. */
function grepArguments(text: string, paths: string[] | undefined): { options: string[]; pathspecs: string[] } | null {
  const known = (paths ?? ['']).map(literalPath).filter((path) => path !== null)
  if (text === '' || /[\n\0]/.test(text) || known.length === 0) return null
  return {
    options: ['-z', '-F', '-i', '-I', '--no-color', '--full-name', '--no-textconv', '--no-recurse-submodules', '-e', text],
    pathspecs: known.map((path) => (path === '' ? ':(top)' : `:(top,literal)${path}`)),
  }
}

interface GrepResult {
  chunks: GrepChunk[]
  truncated: boolean
}

/**
 * Case-insensitive literal matches in the text files of a commit, by path. Matches with overlapping context form one
 * chunk (S-24).
 */
export async function grep(source: SearchSource, commit: Oid, text: string, options: GrepOptions): Promise<GrepResult> {
  const query = grepArguments(text, options.paths)
  const root = query && isOid(commit) ? await source.root(commit) : null
  if (!query || !root) return { chunks: [], truncated: false }
  const { tree } = root
  const { context, limit } = options
  const { chunks, truncated } = await cachedSearch<GrepResult & { timedOut: boolean }>(
    source,
    `grep ${tree} ${context} ${limit} ${JSON.stringify(query)}`,
    options,
    ({ chunks }) => chunks.reduce((bytes, chunk) => bytes + 200 + 2 * (chunk.path.length + chunk.text.length), 100),
    async (signal) => {
      let reader = new GrepReader(tree, limit)
      const { end, complete } = await run(source, tree, query, { ...options, signal, output: ['-n', `-C${context}`] }, () => {
        reader = new GrepReader(tree, limit)
        return (chunk) => reader.consume(chunk)
      })
      return { chunks: reader.finish(end === 'complete'), truncated: end !== 'complete' || !complete, timedOut: end === 'timeout' }
    },
  )
  return { chunks, truncated }
}

/** The files below some paths that contain the text, by path. */
export async function filesWith(source: SearchSource, commit: Oid, text: string, options: { paths: string[] } & SearchDeadline): Promise<string[]> {
  const query = grepArguments(text, options.paths)
  const root = query && isOid(commit) ? await source.root(commit) : null
  if (!query || !root) return []
  const { tree } = root
  const { files } = await cachedSearch<{ files: string[]; timedOut: boolean }>(
    source,
    `files with ${tree} ${JSON.stringify(query)}`,
    options,
    ({ files }) => files.reduce((bytes, path) => bytes + 50 + 2 * path.length, 100),
    async (signal) => {
      let out: Buffer[] = []
      const { end } = await run(source, tree, query, { ...options, signal, output: ['-l'] }, () => {
        out = []
        let read = 0
        return (chunk) => {
          out.push(chunk)
          read += chunk.length
          return read < MAX_OUTPUT_BYTES
        }
      })
      const names = pathOfBytes(Buffer.concat(out)).split('\0').slice(0, -1)
      return { files: names.map((name) => name.slice(tree.length + 1)), timedOut: end === 'timeout' }
    },
  )
  return files
}

/**
 * Runs `git grep` on a tree without files that are too large. Few trees have any, so the first attempt excludes none:
 * git fails at a file that exceeds its allocation limit, and only then the large files are listed and excluded. `begin`
 * creates a reader for each attempt.
 */
async function run(
  source: SearchSource,
  tree: Oid,
  { options, pathspecs }: { options: string[]; pathspecs: string[] },
  { deadline, signal, output }: SearchDeadline & { output: string[] },
  begin: () => (chunk: Buffer) => boolean,
): Promise<{ end: ScanEnd; complete: boolean }> {
  const { pool, directory, env, cache } = source
  const scan = (limit: number, excluded: string[], accept: number[]) => {
    const args = ['grep', ...output, ...options, tree, '--', ...pathspecs, ...excluded.map((path) => `:(top,literal,exclude)${path}`)]
    const how = { env: { ...env, ...UTF8_LOCALE, GIT_LITERAL_PATHSPECS: '0', GIT_ALLOC_LIMIT: `${limit}` }, signal, accept }
    return pool.scan(directory, args, begin(), timed(how, deadline))
  }
  if (!cache.get(directory, tooLargeKey(tree))) {
    try {
      return { end: await scan(ALLOCATION_LIMIT, [], [1]), complete: true }
    } catch (fault) {
      if (!(fault instanceof GitFault) || fault.exitCode !== 128) throw fault
    }
  }
  const { excluded, complete } = await tooLarge(source, tree)
  return { end: await scan(complete ? 4 * MAX_FILE_BYTES : ALLOCATION_LIMIT, excluded, complete ? [1] : [1, 128]), complete }
}

const timed = (options: RunOptions, deadline: number | undefined): RunOptions => (deadline === undefined ? options : { ...options, deadline })

const tooLargeKey = (tree: Oid) => `too large to search ${tree}`

/** The files of a tree that are too large to search; git can exclude them by path only. */
async function tooLarge(source: SearchSource, tree: Oid): Promise<{ excluded: string[]; complete: boolean }> {
  const found = await source.cache.getOrCompute<{ excluded: string[]; complete: boolean }>(
    source.directory,
    tooLargeKey(tree),
    ({ excluded }) => excluded.reduce((bytes, path) => bytes + path.length * 2 + 50, 50),
    async () => {
      const { pool, directory, env } = source
      const excluded: string[] = []
      let bytes = 0
      let nameable = true
      let rest: Buffer = Buffer.alloc(0)
      const onChunk = (chunk: Buffer) => {
        const data = rest.length > 0 ? Buffer.concat([rest, chunk]) : chunk
        let at = 0
        for (let end = data.indexOf(0, at); end >= 0; end = data.indexOf(0, at)) {
          // mode, type, id and size, which is `-` for a submodule, then TAB and the path
          const tab = data.indexOf(0x09, at)
          if (Number(data.toString('latin1', at + 52, tab)) > MAX_FILE_BYTES) {
            const path = data.toString('utf8', tab + 1, end)
            if (data.subarray(tab + 1, end).equals(Buffer.from(path))) excluded.push(path)
            else nameable = false
            bytes += end - tab
          }
          at = end + 1
        }
        rest = data.subarray(at)
        return bytes < MAX_EXCLUDED_BYTES
      }
      const end = await pool.scan(directory, ['ls-tree', '-r', '-l', '-z', tree], onChunk, { ...(env && { env }) })
      return end === 'timeout' ? null : { excluded, complete: nameable && end === 'complete' }
    },
  )
  return found ?? { excluded: [], complete: false }
}

/** `<tree>:<path> NUL <line number> NUL <line> LF`, with `--` between chunks. */
class GrepReader {
  readonly #chunks: { path: string; start: number; lines: string[] }[] = []
  #open: { path: string; start: number; lines: string[] } | null = null
  #rest: Buffer = Buffer.alloc(0)
  #read = 0

  constructor(
    readonly tree: Oid,
    readonly limit: number,
  ) {}

  /** Returns false when a limit is reached. */
  consume(chunk: Buffer): boolean {
    this.#read += chunk.length
    const data = this.#rest.length > 0 ? Buffer.concat([this.#rest, chunk]) : chunk
    let at = 0
    for (;;) {
      if (data[at] === 0x2d && data[at + 1] === 0x2d && data[at + 2] === 0x0a) {
        this.#close()
        at += 3
        continue
      }
      const path = data.indexOf(0, at)
      const line = path < 0 ? -1 : data.indexOf(0, path + 1)
      const end = line < 0 ? -1 : data.indexOf(0x0a, line + 1)
      if (end < 0) break
      this.#line(
        pathOfBytes(data.subarray(at + this.tree.length + 1, path)),
        Number(data.toString('latin1', path + 1, line)),
        data.subarray(line + 1, end),
      )
      if (this.#chunks.length > this.limit) return false
      at = end + 1
    }
    this.#rest = data.subarray(at)
    return this.#read < MAX_OUTPUT_BYTES
  }

  /** The chunks found; the last one only if it is complete. */
  finish(complete: boolean): GrepChunk[] {
    if (complete) this.#close()
    return this.#chunks.slice(0, this.limit).map(({ path, start, lines }) => ({ path, startLine: start, text: lines.join('\n') }))
  }

  #line(path: string, number: number, content: Buffer) {
    // without context git writes no separator between chunks
    if (this.#open && (this.#open.path !== path || this.#open.start + this.#open.lines.length !== number)) this.#close()
    this.#open ??= { path, start: number, lines: [] }
    this.#open.lines.push(content.toString('utf8', 0, MAX_LINE_CHARS * 4).slice(0, MAX_LINE_CHARS))
  }

  #close() {
    if (this.#open) this.#chunks.push(this.#open)
    this.#open = null
  }
}

/** Commits of a history whose message contains a text, literally and case-insensitively, newest first (S-22). */
export async function searchLog(
  source: SearchSource,
  from: Oid,
  text: string,
  options: { limit: number } & SearchDeadline,
): Promise<{ oids: Oid[]; truncated: boolean }> {
  if (!isOid(from) || text === '' || text.includes('\0')) return { oids: [], truncated: false }
  if ((await source.objects.info(from))?.type !== 'commit') return { oids: [], truncated: false }
  const { limit } = options
  const { oids, truncated } = await cachedSearch<{ oids: Oid[]; truncated: boolean; timedOut: boolean }>(
    source,
    `log of ${from} with ${limit} ${text}`,
    options,
    ({ oids }) => oids.length * 60,
    async (signal) => {
      const { args, oidOf } = logArguments(text)
      const { pool, directory, env } = source
      const found: Oid[] = []
      let rest: Buffer = Buffer.alloc(0)
      const onChunk = (chunk: Buffer) => {
        const data = rest.length > 0 ? Buffer.concat([rest, chunk]) : chunk
        let at = 0
        for (let end = data.indexOf(0, at); end >= 0 && found.length <= limit; end = data.indexOf(0, at)) {
          const oid = oidOf(data.subarray(at, end))
          if (oid) found.push(oid)
          at = end + 1
        }
        rest = data.subarray(at)
        return found.length <= limit
      }
      const end = await pool.scan(
        directory,
        ['log', '-z', '--no-show-signature', '--no-notes', '-F', '-i', ...args, from, '--'],
        onChunk,
        timed({ env: { ...env, ...UTF8_LOCALE }, signal }, options.deadline),
      )
      return { oids: found.slice(0, limit), truncated: end !== 'complete' || found.length > limit, timedOut: end === 'timeout' }
    },
  )
  return { oids, truncated }
}

/**
 * The arguments of `git log` for messages with a text, and the parser of its records. Git matches line by line, so for
 * a multi-line text git searches for the longest line, and the whole text is compared here.
 */
function logArguments(text: string): { args: string[]; oidOf: (record: Buffer) => Oid | null } {
  const line = text.split('\n').reduce((longest, part) => (part.length > longest.length ? part : longest), '')
  if (line === text) return { args: ['--format=tformat:%H', `--grep=${line}`], oidOf: (record) => record.toString('latin1') }
  const wanted = text.toLowerCase()
  return {
    args: ['--format=tformat:%H%B', ...(line === '' ? [] : [`--grep=${line}`])],
    oidOf: (record) => (record.toString('utf8', 40).toLowerCase().includes(wanted) ? record.toString('latin1', 0, 40) : null),
  }
}
