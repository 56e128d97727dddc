import { isOid } from './cat-file.js'
import { type LogSource, literal } from './log.js'
import type { Commit, GrepChunk, GrepOptions, Oid } from './types.js'

/** Both cases of a letter are one in every alphabet, not only in that of ASCII: the same neutral locale, with its letters in UTF-8. */
const LETTERS = { LC_ALL: 'C.UTF-8' }
/** Milliseconds a search may take; what was found by then is the answer (SEC-143). */
const DEADLINE = 10_000
/** Files above this are not searched (SEC-146). */
const LARGEST = 10 * 1024 * 1024
/** Bytes of arguments that name files too large; beyond, git gives up at the first file it cannot hold. */
const EXCLUDED = 65_536
/** Characters of a line that are shown. */
const LINE = 10_000
/** Bytes of git's output that are read. */
const OUTPUT = 16 * 1024 * 1024

export interface GrepSource extends LogSource {
  root(commit: Oid): Promise<{ tree: Oid } | null>
}

/** Where a text stands in the files of a commit: whatever the case of its letters, literally, in files that are text, by path. Hits whose context meets make one chunk (S-24). */
export async function grep(
  source: GrepSource,
  commit: Oid,
  text: string,
  options: GrepOptions,
): Promise<{ chunks: GrepChunk[]; truncated: boolean }> {
  const root = isOid(commit) ? await source.root(commit) : null
  const paths = (options.paths ?? ['']).map(literal)
  if (!root || text === '' || /[\n\0]/.test(text) || paths.every((path) => path === null)) return { chunks: [], truncated: false }
  const { pool, directory, env } = source
  const { excluded, whole } = await tooLarge(source, root.tree)
  const reader = new GrepReader(root.tree, options.limit)
  const args = [
    ...['grep', '-z', '-n', '-F', '-i', '-I', '--no-color', '--full-name', '--no-textconv', '--no-recurse-submodules'],
    ...[`-C${options.context}`, '-e', text, root.tree, '--'],
    ...paths.filter((path) => path !== null).map((path) => (path === '' ? ':(top)' : `:(top,literal)${path}`)),
    ...excluded.map((path) => `:(top,literal,exclude)${path}`),
  ]
  const end = await pool.scan(directory, args, (chunk) => reader.take(chunk), {
    env: { ...env, ...LETTERS, GIT_LITERAL_PATHSPECS: '0', GIT_ALLOC_LIMIT: `${4 * LARGEST}` },
    deadline: options.deadline ?? DEADLINE,
    signal: options.signal,
    accept: whole ? [1] : [1, 128],
  })
  return { chunks: reader.finish(end === 'whole'), truncated: end !== 'whole' || !whole }
}

/** The files of a tree that are too large to be searched, which Git can only be told by name. */
async function tooLarge(source: GrepSource, tree: Oid): Promise<{ excluded: string[]; whole: boolean }> {
  const found = await source.memory.answer<{ excluded: string[]; whole: boolean }>(
    source.directory,
    `too large to search ${tree}`,
    ({ excluded }) => excluded.reduce((bytes, path) => bytes + path.length * 2 + 50, 50),
    async () => {
      const { pool, directory, env } = source
      const excluded: string[] = []
      let bytes = 0
      let nameable = true
      let rest: Buffer = Buffer.alloc(0)
      const take = (chunk: Buffer) => {
        const data = rest.length > 0 ? Buffer.concat([rest, chunk]) : chunk
        let at = 0
        for (let end = data.indexOf(0, at); end >= 0; end = data.indexOf(0, at)) {
          // mode, type, id and size, which is `-` for a submodule, then TAB and the path
          const tab = data.indexOf(0x09, at)
          if (Number(data.toString('latin1', at + 52, tab)) > LARGEST) {
            const path = data.toString('utf8', tab + 1, end)
            if (data.subarray(tab + 1, end).equals(Buffer.from(path))) excluded.push(path)
            else nameable = false
            bytes += end - tab
          }
          at = end + 1
        }
        rest = data.subarray(at)
        return bytes < EXCLUDED
      }
      const end = await pool.scan(directory, ['ls-tree', '-r', '-l', '-z', tree], take, { ...(env && { env }), deadline: DEADLINE })
      return end === 'late' ? null : { excluded, whole: nameable && end === 'whole' }
    },
  )
  return found ?? { excluded: [], whole: false }
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

  /** False once there is enough. */
  take(chunk: Buffer): boolean {
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
        data.toString('utf8', at + this.tree.length + 1, path),
        Number(data.toString('latin1', path + 1, line)),
        data.subarray(line + 1, end),
      )
      if (this.#chunks.length > this.limit) return false
      at = end + 1
    }
    this.#rest = data.subarray(at)
    return this.#read < OUTPUT
  }

  /** The chunks found; the last one only if it is known to be whole. */
  finish(whole: boolean): GrepChunk[] {
    if (whole) this.#close()
    return this.#chunks.slice(0, this.limit).map(({ path, start, lines }) => ({ path, startLine: start, text: lines.join('\n') }))
  }

  #line(path: string, number: number, content: Buffer) {
    // without context git draws no line between chunks
    if (this.#open && (this.#open.path !== path || this.#open.start + this.#open.lines.length !== number)) this.#close()
    this.#open ??= { path, start: number, lines: [] }
    this.#open.lines.push(content.toString('utf8', 0, LINE * 4).slice(0, LINE))
  }

  #close() {
    if (this.#open) this.#chunks.push(this.#open)
    this.#open = null
  }
}

/** Commits of a history whose message holds a text, whatever the case of its letters, literally; newest first (S-22). */
export async function searchLog(
  source: LogSource,
  from: Oid,
  text: string,
  { limit, deadline = DEADLINE, signal }: { limit: number; deadline?: number; signal?: AbortSignal },
): Promise<{ commits: Commit[]; truncated: boolean }> {
  // git looks at lines; of a text of several the longest is asked for and the rest looked at here
  const line = text.split('\n').reduce((longest, part) => (part.length > longest.length ? part : longest), '')
  if (!isOid(from) || line === '' || text.includes('\0')) return { commits: [], truncated: false }
  if ((await source.objects.info(from))?.type !== 'commit') return { commits: [], truncated: false }
  const { pool, directory, env } = source
  let out = ''
  const lines = () => out.split('\n').filter(isOid)
  const args = ['log', '--no-show-signature', '--no-notes', '--format=%H', '-F', '-i', `--grep=${line}`, `--max-count=${limit + 1}`, from, '--']
  const take = (chunk: Buffer) => {
    out += chunk.toString('latin1')
    return true
  }
  const end = await pool.scan(directory, args, take, { env: { ...env, ...LETTERS }, deadline, signal })
  const found = await Promise.all(lines().map((oid) => source.commit(oid)))
  const wanted = text.toLowerCase()
  const commits = found.filter((commit) => commit !== null && (line === text || commit.message.toLowerCase().includes(wanted))) as Commit[]
  return { commits: commits.slice(0, limit), truncated: end !== 'whole' || lines().length > limit }
}
